//! What others did to a target while it was tested.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::{bytes, printable};

/// A target at the end of a time span is not what it was at its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Loss {
    /// The file has no name any more: it is gone when the test closes it.
    Removed,
    /// Its path leads to another file or device now.
    Replaced,
    /// Its path leads nowhere now.
    Moved,
    /// The file is shorter than it was.
    Cut {
        /// Size at the beginning, in bytes.
        from_bytes: u64,
        /// Size at the end, in bytes.
        to_bytes: u64,
    },
    /// Parts of the file are not stored any more: it was cut and written again, or holes were punched into it.
    Emptied {
        /// Bytes that were stored at the beginning.
        from_bytes: u64,
        /// Bytes that are stored at the end.
        to_bytes: u64,
    },
    /// Its file system is mounted nowhere any more (`umount -l`).
    Unmounted,
    /// Its file system became read-only.
    ReadOnly,
    /// Something that a later version tells.
    #[serde(rename = "", other)]
    Untold,
}

impl Loss {
    /// What happened to the target `path`, in a sentence without its end.
    pub fn sentence(&self, path: &str) -> String {
        let path = printable(path);
        match *self {
            Loss::Removed => format!(
                "'{path}' was removed while it was tested: the test went on with a file without a name, which is gone now"
            ),
            Loss::Replaced => format!(
                "'{path}' leads to another file or device than the one that was tested: somebody replaced it meanwhile"
            ),
            Loss::Moved => {
                format!(
                    "'{path}' is not there any more: it was renamed, or something hides it, since the test began"
                )
            }
            Loss::Cut { from_bytes, to_bytes } => format!(
                "'{path}' was cut from {} to {} while it was tested",
                bytes(from_bytes as f64),
                bytes(to_bytes as f64)
            ),
            Loss::Emptied { from_bytes, to_bytes } => format!(
                "'{path}' was cut, or holes were punched into it, while it was tested: of {} that were stored {} are left",
                bytes(from_bytes as f64),
                bytes(to_bytes as f64)
            ),
            Loss::Unmounted => format!(
                "the file system of '{path}' was unmounted while it was tested (umount -l): only the test still kept it"
            ),
            Loss::Untold => format!("'{path}' was changed by others while it was tested"),
            Loss::ReadOnly => format!(
                "the file system of '{path}' became read-only while it was tested, as after an error; see the kernel log \
                 (dmesg)"
            ),
        }
    }
}
