//! Where something is kept about a target in the user's state folder.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::by_id;
use truespd_platform::sys::system::state_folder;

/// What a target is called also after a restart of the machine: the lasting name of a device, the path of a file.
pub fn lasting_name(path: &Path) -> PathBuf {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    by_id(&path, &Roots::default()).unwrap_or(path)
}

/// The file about a target in a folder of the state folder, with this extension. None where the user has no state
/// folder.
pub fn entry_of(target: &Path, folder: &str, extension: &str) -> Option<PathBuf> {
    let hash = Sha256::digest(lasting_name(target).as_os_str().as_encoded_bytes());
    let name: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Some(state_folder()?.join(folder).join(format!("{name}.{extension}")))
}
