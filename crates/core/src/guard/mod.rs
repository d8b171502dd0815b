//! The write guard: no file and no device is written unless this room lets it.
//!
//! Read it in this order:
//!
//! 1. **Facts.** [`claim`](claim()) tells who uses a device: an exclusive open asks the kernel whether it is
//!    in use; mounts, swap and holders (`uses`) and programs that have it open (`openers`) are named. `files`
//!    tells the same of a regular file. What procfs and sysfs would tell and do not is `missing`. `contents`
//!    tells what lies there: known signatures (`scan`, with libblkid or the small table in `magic`) and
//!    samples (`sample`), or as much as there is time to read (`look`). [`mark`] tells whose data a file
//!    holds. `claimant`, `subject` and `signature` are the types.
//! 2. **Decision.** [`Guard::check`] weighs the facts (`findings`, with every `reason`), `--overwrite`
//!    (`overrides`) and where the target is (`no_storage`), and by which names its path leads to it (`way`).
//!    [`reuse`] decides what `-c` means for a file that is there.
//! 3. **Permit.** [`Guard::permit`] holds a target, decides on the very descriptor, and gives a [`Permit`];
//!    [`Guard::permit_to_make`] does so for a file of `-c`. Only a permit opens a target for writing
//!    (`tests/all/house.rs`).
//! 4. **Hold.** [`Custody`] reserves devices for the time of a run (`hold`) and knows what the run made
//!    itself. By its locks (`told`) other runs recognise what is being tested, and name each other (`runs`).
//! 5. **Mark.** [`mark::Marks`] notes on a file that TrueSpd made it and when it wrote last.

mod adopt;
mod contents;
mod decision;
mod devices;
mod facts;
mod files;
mod findings;
mod hold;
mod locks;
mod make;
pub mod mark;
mod openers;
mod path;
mod permit;
mod runs;
pub mod sample;
mod signatures;

pub use adopt::{Adoptable, Adoption, Purpose};
pub use contents::{Holding, PartitionHeld, PartitionType};
pub use decision::{Guard, Passed, Word};
pub use devices::{Claim, How, Use, claim, users};
pub use facts::{Fact, GuardError, Missing, Subject, Unseen};
pub use files::{FileLock, FileUse, writers_of_file};
pub use findings::Reason;
pub use locks::Told;
pub use make::{NewFile, PermitToMake, Reuse, Wish, Wished, reuse_decision};
pub use openers::{Opener, of as programs_with};
pub use path::check_directory;
pub use permit::{Custody, Permit, PermitError};
pub use runs::OtherRun;
pub use sample::{Look, Looked};
pub use signatures::{Range, Scan, ScannedBy, Signature, SignatureKind, signatures};

#[cfg(test)]
mod tests;
