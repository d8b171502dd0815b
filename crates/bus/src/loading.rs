//! Which object is loaded, and how. An object stays loaded as long as the process lives.

use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::interface::{TABLE, Table, VERSION};
use crate::{BusError, Object};

/// An object with its MPI library, in this process for good: MPI libraries do not bear to be unloaded.
#[derive(Debug)]
pub struct Loaded {
    pub(crate) object: Object,
    pub(crate) table: &'static Table,
}

impl Loaded {
    /// The first of these objects whose MPI library is on this host. One that cannot be loaded for another reason is
    /// not passed over: the ranks of other hosts would have loaded it.
    ///
    /// # Errors
    /// No MPI library is there; or the object cannot be loaded, or is of another version of truespd.
    pub fn first_of(objects: &[Object]) -> Result<Loaded, BusError> {
        let mut absent = Vec::new();
        for object in objects {
            match load(&object.path) {
                Ok(table) => return Ok(Loaded { object: object.clone(), table }),
                Err(Unloaded::NoLibrary(library)) => {
                    let (shown, way) = (object.path.display(), object.kind.way_to_install());
                    absent.push(format!(
                        "'{shown}' needs {library}, which is not found: {way}, or name its folder in LD_LIBRARY_PATH"
                    ));
                }
                Err(Unloaded::Refused(text)) => return Err(text.into()),
            }
        }
        if absent.is_empty() {
            return Err("there is nothing to load for an MPI library".to_string().into());
        }
        Err(absent.join("; ").into())
    }
}

/// Why an object was not loaded.
#[derive(Debug)]
enum Unloaded {
    /// A library that it needs, by its name, is not on this host.
    NoLibrary(String),
    Refused(String),
}

impl From<String> for Unloaded {
    fn from(text: String) -> Self {
        Unloaded::Refused(text)
    }
}

/// Loads an object for good.
fn load(object: &Path) -> Result<&'static Table, Unloaded> {
    let shown = object.display();
    // It holds a C library of its own, and one that loads the system's beside it may crash.
    if cfg!(target_feature = "crt-static") {
        return Err(format!("'{shown}' is not loaded: a static program loads no libraries").into());
    }
    if is_cut_off(object) {
        return Err(
            format!("'{shown}' cannot be loaded: its end is missing; install its package again").into()
        );
    }
    let library = open(object).map_err(|error| {
        let text = told(&error);
        match absent_library(&text) {
            Some(name) => Unloaded::NoLibrary(name.to_string()),
            None => format!("'{shown}' cannot be loaded: {text}").into(),
        }
    })?;
    // SAFETY: an object of this name has this table; it stays loaded for ever.
    let table: &'static Table = unsafe {
        let symbol = library.get::<*const Table>(TABLE);
        let table = symbol.map_err(|error| format!("'{shown}' is not of truespd: {}", told(&error)))?;
        &**table
    };
    std::mem::forget(library);
    if table.version != VERSION {
        return Err(format!(
            "'{shown}' is of another version of truespd (its interface is {}, {VERSION} is needed)",
            table.version
        )
        .into());
    }
    Ok(table)
}

/// What the loader of the system says: the error itself says only which call failed.
fn told(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| source.to_string())
}

/// The name of the library that was looked for in vain, in what the loader of the system says of an object that is
/// there.
fn absent_library(text: &str) -> Option<&str> {
    text.split_once(": cannot open shared object file: No such file").map(|(name, _)| name)
}

/// Whether the end of an object of 64 bits is missing: the loader of the system maps what is not there, and the process
/// dies by SIGBUS. The table of sections stands at the end (elf(5)). What cannot be read is left to the loader.
fn is_cut_off(object: &Path) -> bool {
    let mut header = [0; 64];
    let Ok(mut file) = File::open(object) else { return false };
    let (Ok(()), Ok(facts)) = (file.read_exact(&mut header), file.metadata()) else { return false };
    const IS_64_BITS: u8 = 2;
    if !header.starts_with(b"\x7fELF") || header[4] != IS_64_BITS {
        return false;
    }
    let place = header[0x28..0x30].try_into().map_or(0, u64::from_ne_bytes);
    let [size, count] = [0x3a, 0x3c].map(|at| u64::from(u16::from_ne_bytes([header[at], header[at + 1]])));
    place.saturating_add(size * count) > facts.len()
}

/// With all names visible to what MPI itself loads: Open MPI's components look for the library's names there.
#[cfg(unix)]
fn open(object: &Path) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: an object of ours and an MPI library, whose initialisers only set up their own state.
    unsafe { Library::open(Some(object), RTLD_NOW | RTLD_GLOBAL) }.map(Into::into)
}

#[cfg(not(unix))]
fn open(object: &Path) -> Result<libloading::Library, libloading::Error> {
    // SAFETY: an object of ours and an MPI library, whose initialisers only set up their own state.
    unsafe { libloading::Library::new(object) }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{Kind, OF_PACKAGES};

    /// An installation of the test's own, removed at its end.
    struct Installed(PathBuf);

    impl Installed {
        fn new(name: &str) -> Installed {
            let root = std::env::temp_dir().join(format!("truespd-bus-{name}-{}", std::process::id()));
            for folder in ["bin", "lib/truespd"] {
                std::fs::create_dir_all(root.join(folder)).expect("made");
            }
            Installed(root)
        }

        fn programs(&self) -> PathBuf {
            self.0.join("bin")
        }

        fn objects(&self, families: &[Kind]) -> Vec<Object> {
            Object::of(families, &self.programs())
        }

        /// An object with these bytes, in a folder that is named from that of the programs.
        fn put(&self, kind: Kind, folder: &str, bytes: &[u8]) -> Object {
            let path = self.programs().join(folder).join(format!("libtruespd-mpi-{}.so", kind.word()));
            std::fs::write(&path, bytes).expect("written");
            Object { kind, path }
        }
    }

    impl Drop for Installed {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Why none of these objects, which are not of truespd, was loaded.
    fn refusal(objects: &[Object]) -> String {
        Loaded::first_of(objects).expect_err("none is of truespd").text
    }

    /// A shared object that needs the library `libM.so.6`, which no system has.
    fn needs_what_is_absent() -> Vec<u8> {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("readable");
        let libgcc =
            maps.lines().find_map(|line| line.split_once("/").filter(|(_, path)| path.contains("libgcc_s")));
        let (_, path) = libgcc.expect("programs of Rust are linked with libgcc");
        let mut bytes = std::fs::read(format!("/{path}")).expect("readable");
        let needed = b"libc.so.6";
        let at =
            bytes.windows(needed.len()).position(|window| window == needed).expect("it needs the C library");
        bytes[at..at + needed.len()].copy_from_slice(b"libM.so.6");
        bytes
    }

    #[test]
    fn objects_come_in_the_order_of_the_families() {
        let installed = Installed::new("order");
        let (abi, mpich) = (installed.put(Kind::Abi, OF_PACKAGES, b""), installed.put(Kind::Mpich, "", b""));
        assert_eq!(installed.objects(&[Kind::Mpich, Kind::Abi]), [mpich.clone(), abi.clone()]);
        assert_eq!(installed.objects(&[Kind::OpenMpi, Kind::Abi]), std::slice::from_ref(&abi));
        assert_eq!(installed.objects(&Kind::ALL), [mpich, abi]);
        assert_eq!(installed.objects(&[Kind::OpenMpi]), []);
        let beside = installed.put(Kind::Abi, "", b"");
        assert_eq!(
            installed.objects(&[Kind::Abi]),
            [beside],
            "a person's own comes before that of a package"
        );
    }

    #[test]
    fn only_objects_without_their_library_are_passed_over() {
        let installed = Installed::new("choice");
        let without = installed.put(Kind::Mpich, "", &needs_what_is_absent());
        let damaged = installed.put(Kind::Abi, "", b"no object");
        let first = refusal(std::slice::from_ref(&without));
        assert!(first.contains("mpich.so' needs libM.so.6, which is not found: install MPICH"), "{first}");
        let passed = refusal(&[without.clone(), damaged.clone()]);
        assert!(passed.contains("abi.so' cannot be loaded: ") && !passed.contains("libM"), "{passed}");
        let held = refusal(&[damaged, without.clone()]);
        assert!(held.contains("abi.so' cannot be loaded: ") && !held.contains("libM"), "{held}");
        let none = refusal(&[without.clone(), Object { kind: Kind::Abi, path: without.path }]);
        assert!(none.contains("apt install mpich") && none.contains("pip install mpich"), "{none}");
        assert!(!refusal(&[]).is_empty());
    }

    #[test]
    fn objects_without_their_end_are_seen() {
        let whole = std::env::current_exe().expect("a program");
        assert!(!is_cut_off(&whole), "a program is an object, too");
        let bytes = std::fs::read(&whole).expect("readable");
        let cut = std::env::temp_dir().join(format!("truespd-bus-{}", std::process::id()));
        for (length, is_cut) in [(0, false), (30, false), (5000, true), (bytes.len() - 1, true)] {
            std::fs::write(&cut, &bytes[..length]).expect("written");
            let seen = is_cut_off(&cut);
            std::fs::remove_file(&cut).expect("removed");
            assert_eq!(seen, is_cut, "{length}");
        }
    }
}
