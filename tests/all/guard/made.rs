//! The situations of the table: each makes something real to name as a target.

use super::makers::Made;
use super::{made_devices, made_files, made_stacked};
use crate::support::program::Lab;

/// One row of the table.
pub struct Situation {
    pub name: &'static str,
    /// Words that the refusal says.
    pub says: &'static [&'static str],
    /// `None` where it cannot be made here; the maker has counted what is missing.
    pub make: fn(&Lab) -> Option<Made>,
}

pub const fn row(
    name: &'static str,
    says: &'static [&'static str],
    make: fn(&Lab) -> Option<Made>,
) -> Situation {
    Situation { name, says, make }
}

/// All of them, in the order of the table.
pub fn situations() -> Vec<&'static Situation> {
    made_devices::SITUATIONS.iter().chain(made_files::SITUATIONS).chain(made_stacked::SITUATIONS).collect()
}

pub const NOBODY: u32 = 65534;

/// Programs that start another one elsewhere.
pub const WITHOUT_ROOT: &[&str] = &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
pub const BLIND: &[&str] =
    &["unshare", "--mount", "sh", "-c", "umount -l /sys && umount -l /proc && exec \"$@\"", "sh"];
pub const ELSEWHERE: &str = "who else uses its data is not known";
