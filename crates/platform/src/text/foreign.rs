//! Names as Windows has them: no paths here, unless a file has just that name or something is put in their place.

use std::str::FromStr;

/// What a name is on Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// A whole disk: `\\.\PhysicalDrive1`.
    Disk(u32),
    /// A path: `C:\dir\x.dat`, `\\server\share\x.dat`, `..\x.dat`, `%TEMP%\x.dat`.
    Path,
    /// A path without its backslashes, as a shell leaves it that was given no quotes: `C:dirx.dat`.
    Eaten,
}

impl Foreign {
    /// What a name is, if it is one of Windows. `./C:\x.dat` is a path here.
    pub fn of(name: &str) -> Option<Self> {
        if let Some(number) = disk_number(name) {
            return Some(Foreign::Disk(number));
        }
        if name.starts_with(['/', '#', '*']) || name.starts_with("./") || name.starts_with("../") {
            return None;
        }
        let rest = behind_drive(name).or_else(|| behind_variable(name));
        if name.contains('\\') || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            return Some(Foreign::Path);
        }
        rest.map(|_| Foreign::Eaten)
    }

    /// The part of a name that says where it is on Windows: `C:\`, `\\server\share`, `%TEMP%`; nothing where
    /// it is beside the current folder.
    pub fn root(name: &str) -> Option<&str> {
        if let Some(rest) = behind_drive(name) {
            let slash = usize::from(rest.starts_with(['\\', '/']));
            return Some(&name[..2 + slash]);
        }
        if let Some(rest) = behind_variable(name) {
            return Some(&name[..name.len() - rest.len()]);
        }
        let share = name.strip_prefix("\\\\")?;
        let mut ends = share.match_indices('\\').map(|(at, _)| at);
        let end = ends.nth(1).unwrap_or(share.len());
        Some(&name[..2 + end])
    }
}

/// The number of `\\.\PhysicalDrive1`, however many of its strokes a shell has left.
fn disk_number(name: &str) -> Option<u32> {
    const DISK: &str = "physicaldrive";
    let is_path = name.starts_with("./") || (name.starts_with('/') && !name.starts_with("//"));
    let bare = name.trim_start_matches(['\\', '/', '.', '?']);
    let is_disk = bare.get(..DISK.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(DISK));
    if is_path || !is_disk {
        return None;
    }
    bare[DISK.len()..].parse().ok()
}

/// What follows a drive letter and its colon.
fn behind_drive(name: &str) -> Option<&str> {
    let (letter, rest) = name.split_once(':')?;
    (letter.len() == 1 && letter.as_bytes()[0].is_ascii_alphabetic()).then_some(rest)
}

/// What follows `%TEMP%` or the like.
fn behind_variable(name: &str) -> Option<&str> {
    let (variable, rest) = name.strip_prefix('%')?.split_once('%')?;
    let is_name = variable.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '(' | ')'));
    (!variable.is_empty() && is_name).then_some(rest)
}

/// `C:\=/mnt/c`: what begins like a path of Windows is in a folder of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathMap {
    /// How the paths begin; `/` and `\` are the same, and so are letters of either case.
    pub prefix: String,
    /// What stands for that.
    pub folder: String,
}

/// Why a text is no [`PathMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPathMap {
    /// There is no `=`, or nothing before or behind it.
    #[error("a path of Windows and a folder of this machine are wanted, with = between them")]
    Form,
    /// What stands before `=` is of this machine.
    #[error("what stands before = is no path of Windows")]
    Prefix,
}

impl FromStr for PathMap {
    type Err = BadPathMap;

    fn from_str(text: &str) -> Result<Self, BadPathMap> {
        let (prefix, folder) = text.split_once('=').ok_or(BadPathMap::Form)?;
        if prefix.is_empty() || folder.is_empty() {
            return Err(BadPathMap::Form);
        }
        if Foreign::of(prefix).is_none() {
            return Err(BadPathMap::Prefix);
        }
        Ok(PathMap { prefix: prefix.to_string(), folder: folder.to_string() })
    }
}

impl PathMap {
    /// The path here of one that begins so; none of others.
    fn path_of(&self, path: &str) -> Option<String> {
        let prefix = self.prefix.trim_end_matches(['\\', '/']);
        let mut rest = path.chars();
        for wanted in prefix.chars() {
            let found = rest.next()?;
            let is_stroke = matches!((wanted, found), ('\\' | '/', '\\' | '/'));
            if !is_stroke && !wanted.to_lowercase().eq(found.to_lowercase()) {
                return None;
            }
        }
        let rest = rest.as_str();
        if rest.is_empty() {
            return Some(self.folder.clone());
        }
        // `C:\dir` is no part of `C:\directory`.
        let inside = rest.strip_prefix(['\\', '/'])?.replace('\\', "/");
        Some(format!("{}/{}", self.folder.trim_end_matches('/'), inside.trim_start_matches('/')))
    }
}

/// The path here by the longest prefix that fits, and which of the maps that is.
pub fn mapped(maps: &[PathMap], path: &str) -> Option<(usize, String)> {
    let fitting = maps.iter().enumerate().filter_map(|(at, map)| Some((at, map.path_of(path)?)));
    fitting.max_by_key(|(at, _)| maps[*at].prefix.trim_end_matches(['\\', '/']).len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_windows_are_known() {
        for (name, foreign) in [
            (r"C:\x.dat", Some(Foreign::Path)),
            ("c:/x.dat", Some(Foreign::Path)),
            ("D:", Some(Foreign::Path)),
            (r"D:\dir/x", Some(Foreign::Path)),
            (r"\\server\share\x", Some(Foreign::Path)),
            (r"\servershare", Some(Foreign::Path)),
            (r"..\x.dat", Some(Foreign::Path)),
            (r"dir\x.dat", Some(Foreign::Path)),
            (r"%TEMP%\x.dat", Some(Foreign::Path)),
            ("%ProgramFiles(x86)%/x.dat", Some(Foreign::Path)),
            (r"\\.\C:", Some(Foreign::Path)),
            ("C:ClusterStoragetest01.dat", Some(Foreign::Eaten)),
            ("%TEMP%x.dat", Some(Foreign::Eaten)),
            (r"\\.\PhysicalDrive1", Some(Foreign::Disk(1))),
            (r"\.PhysicalDrive12", Some(Foreign::Disk(12))),
            (r"\\?\PHYSICALDRIVE0", Some(Foreign::Disk(0))),
            ("//./PhysicalDrive3", Some(Foreign::Disk(3))),
            (".PhysicalDrive1", Some(Foreign::Disk(1))),
            ("x.dat", None),
            ("/mnt/c/x.dat", None),
            (r"/mnt/a\b", None),
            (r"./C:\x.dat", None),
            ("./PhysicalDrive1", None),
            ("/PhysicalDrive1", None),
            ("PhysicalDriveX", None),
            ("CC:x", None),
            ("host:/export", None),
            ("100%", None),
            ("50%%", None),
            ("#1", None),
            ("*1", None),
            ("", None),
        ] {
            assert_eq!(Foreign::of(name), foreign, "{name}");
        }
        for (name, root) in [
            (r"C:\a\b", Some(r"C:\")),
            ("C:ab", Some("C:")),
            (r"\\server\share\a\b", Some(r"\\server\share")),
            (r"\\server\share", Some(r"\\server\share")),
            (r"\\server", Some(r"\\server")),
            (r"%TEMP%\x", Some("%TEMP%")),
            (r"..\x", None),
        ] {
            assert_eq!(Foreign::root(name), root, "{name}");
        }
    }

    #[test]
    fn a_prefix_becomes_a_folder() {
        let maps: Vec<PathMap> = [
            r"C:\=/mnt/c",
            r"D:\Data=/mnt/d/",
            r"D:=/",
            r"\\Server\share=/srv",
            r"\\.\PhysicalDrive1=/dev/sdz",
        ]
        .iter()
        .map(|text| text.parse().expect(text))
        .collect();
        for (path, found) in [
            (r"C:\x.dat", Some((0, "/mnt/c/x.dat"))),
            (r"c:\Dir\sub\x.dat", Some((0, "/mnt/c/Dir/sub/x.dat"))),
            ("C:/x.dat", Some((0, "/mnt/c/x.dat"))),
            (r"C:\", Some((0, "/mnt/c/"))),
            ("C:", Some((0, "/mnt/c"))),
            (r"d:\data\x", Some((1, "/mnt/d/x"))),
            (r"D:\Database\x", Some((2, "/Database/x"))),
            (r"\\SERVER\SHARE\x", Some((3, "/srv/x"))),
            (r"\\server\shared\x", None),
            (r"\\.\physicaldrive1", Some((4, "/dev/sdz"))),
            (r"\\.\PhysicalDrive10", None),
            // What the shell has taken away cannot be put back.
            ("C:ClusterStoragetest01.dat", None),
            ("x.dat", None),
            ("/c/x", None),
        ] {
            let found = found.map(|(at, path)| (at, path.to_string()));
            assert_eq!(mapped(&maps, path), found, "{path}");
        }
        for (text, why) in [
            ("C:\\", BadPathMap::Form),
            ("=/mnt", BadPathMap::Form),
            ("C:\\=", BadPathMap::Form),
            ("/a=/b", BadPathMap::Prefix),
            ("a=/b", BadPathMap::Prefix),
        ] {
            assert_eq!(text.parse::<PathMap>(), Err(why), "{text}");
        }
    }
}
