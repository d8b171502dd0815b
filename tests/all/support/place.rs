//! What a test program is started with, before its first test. Variables by which a person sets language, colours and widths are taken
//! away: what programs print would hang on them. So are an umask that hides files from other users of a test, and a low limit of open
//! files where it can be raised. The folder of temporary files is checked: where it is of no use, one sentence says so,
//! instead of a failure of each test.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit};

/// What the tests of one program take at a time, but for those that ask for more.
const ROOM_BYTES: u64 = 2 << 30;
/// Open files that tests of limits start from.
pub const OPEN_FILES: u64 = 4096;
/// Longer paths do not fit into what some tests print, or into the name of a socket.
const PATH_BYTES_MAX: usize = 64;

/// Runs before `main`, which is the test harness's own.
#[used]
#[unsafe(link_section = ".init_array")]
static CHECKED: extern "C" fn() = check;

/// A test that is about one of them sets it.
const OF_A_PERSON: [&str; 15] = [
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LINES",
    "MANPAGER",
    "MANWIDTH",
    "NO_COLOR",
    "PAGER",
];

extern "C" fn check() {
    for name in OF_A_PERSON {
        // SAFETY: no thread has been started yet.
        unsafe { std::env::remove_var(name) };
    }
    rustix::process::umask(Mode::from_raw_mode(0o022));
    // A person cannot raise the limit that is set for good.
    let files = Rlimit { current: Some(OPEN_FILES), maximum: Some(OPEN_FILES) };
    if rustix::process::getrlimit(Resource::Nofile).maximum.is_some_and(|most| most < OPEN_FILES) {
        let _ = rustix::process::setrlimit(Resource::Nofile, files);
    }
    let folder = std::env::temp_dir();
    if let Err(why) = usable(&folder) {
        eprintln!(
            "The tests cannot use the folder of temporary files, {folder:?}: {why}. Set TMPDIR to another folder."
        );
        // What a failed test program returns.
        std::process::exit(101);
    }
}

fn usable(folder: &Path) -> Result<(), String> {
    let bytes = folder.as_os_str().as_bytes();
    match folder.to_str() {
        None => return Err("its name is not UTF-8".into()),
        Some(name) if name.contains(char::is_whitespace) => return Err("its name has a blank".into()),
        Some(_) if bytes.len() > PATH_BYTES_MAX => {
            return Err(format!("its name has {} bytes, and {PATH_BYTES_MAX} are the most", bytes.len()));
        }
        Some(_) => {}
    }
    // A name that another run of the tests does not take at the same time.
    let probe = folder.join(format!("truespd-tests-{}", std::process::id()));
    fs::create_dir(&probe).map_err(|error| format!("nothing can be made there ({error})"))?;
    let room = free_bytes(&probe);
    fs::remove_dir(&probe).map_err(|error| format!("nothing can be removed there ({error})"))?;
    match room {
        Some(free) if free < ROOM_BYTES => {
            Err(format!("it has {} MiB free, and the tests need {}", free >> 20, ROOM_BYTES >> 20))
        }
        _ => Ok(()),
    }
}

fn free_bytes(folder: &Path) -> Option<u64> {
    rustix::fs::statvfs(folder).ok().map(|stat| stat.f_bavail * stat.f_frsize)
}

#[test]
fn unusable_folders_are_named_in_a_sentence() {
    let place = std::env::temp_dir();
    assert_eq!(usable(&place), Ok(()));
    let long = place.join("n".repeat(250));
    for (folder, why) in [
        (Path::new("/proc"), "nothing can be made there"),
        (Path::new("/none/at/all"), "nothing can be made there"),
        (Path::new("/tmp/a folder"), "its name has a blank"),
        (long.as_path(), "64 are the most"),
        (Path::new(std::ffi::OsStr::from_bytes(b"/tmp/\xff")), "its name is not UTF-8"),
    ] {
        let said = usable(folder).expect_err("it is of no use");
        assert!(said.contains(why), "{folder:?}: {said}");
    }
}
