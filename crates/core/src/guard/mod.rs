//! The write guard: no file and no device is written unless this room lets it.
//!
//! Read it in this order:
//!
//! 1. **Facts.** `devices` tells who uses a device: an exclusive open asks the kernel whether it is in use; mounts,
//!    swap, holders, and programs that have it open (`openers`), are named. `files` tells the same of a regular file.
//!    `contents` tells what lies there: known `signatures` (with libblkid, or by a small table) and samples, or as much
//!    as there is time to read (`sample`). [`mark`] tells whose data a file holds. `facts` holds what the others share:
//!    what procfs and sysfs do not tell is a [`facts::Missing`].
//! 2. **Decision.** [`Guard::check`] weighs facts and the person's options (`decision`), and by which
//!    names the path leads to the target (`path`). `make` decides what `-c` means for a file that is there.
//! 3. **Permit.** [`Guard::permit`] holds a target, decides on the very descriptor, and gives a [`Permit`];
//!    [`Guard::permit_to_make`] does so for a file of `-c`. Only a permit opens a target for writing
//!    (`tests/all/house.rs`).
//! 4. **Hold.** [`Custody`] reserves devices for the time of a run (`hold`) and knows what the run made
//!    itself. By their locks (`locks`) runs recognise what is being tested, and name each other.
//! 5. **Mark.** [`mark::Marks`] notes on a file that TrueSpd made it and when it wrote last.
//!
//! A file of somebody else is not written, unless its name is in the consent:
//!
//! ```
//! use truespd_core::guard::mark::Marks;
//! use truespd_core::guard::{Consent, Guard, Range};
//! use truespd_platform::machine::roots::Roots;
//! use truespd_platform::machine::storage::facts_of;
//!
//! let path = std::env::temp_dir().join(format!("truespd-guard-{}", std::process::id()));
//! std::fs::write(&path, "dear diary")?;
//! let (file, roots, marks) = (std::fs::File::open(&path)?, Roots::default(), Marks::of_this_user());
//! let typed = path.to_str().expect("UTF-8");
//! let facts = facts_of(&file, &path, &roots).expect("a regular file");
//! let all = Range { start_bytes: 0, length_bytes: 10 };
//!
//! let guard = Guard { consent: Consent::default(), marks: &marks, roots: &roots };
//! let refused = guard.check(typed, &path, &file, &facts, all);
//! let overwrite = [typed.to_string()];
//! let guard = Guard { consent: Consent { overwrite: &overwrite, ..Consent::default() }, ..guard };
//! let passed = guard.check(typed, &path, &file, &facts, all);
//! std::fs::remove_file(&path)?;
//!
//! assert!(refused.unwrap_err().to_string().contains("--overwrite") && passed.is_ok());
//! # Ok::<(), std::io::Error>(())
//! ```

mod adopt;
mod contents;
mod decision;
mod devices;
mod facts;
mod files;
mod hold;
mod locks;
mod make;
pub mod mark;
mod openers;
mod path;
mod permit;
pub mod sample;
mod signatures;

pub use adopt::{Adoptable, Adoption, Purpose};

pub use decision::{Consent, Guard, refuse_listed};

pub use devices::{Use, claim, users};
pub(crate) use facts::Unseen;
pub use facts::{Fact, Missing};
pub(crate) use files::writers_of_file;

pub use locks::RunLocks;
pub(crate) use make::{MadeFile, NewFile, PermitToMake};
pub use make::{Reuse, Wish, Wished, reuse_decision};

pub use openers::programs_with;
pub use path::check_directory;
pub use permit::{Custody, Permit};
pub(crate) use permit::{OtherRun, PermitError};
pub use sample::{Depth, Looked};
pub use signatures::{Range, signatures};

#[cfg(test)]
mod tests;
