//! Which files are created before the first time span (`io-semantics.md` §15, "Precreation").

use crate::profile::{Precreate, Profile};

/// A file to create once for the whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrecreateFile {
    pub path: String,
    pub size_bytes: u64,
    /// Filled with zeros instead of the pattern.
    pub zero: bool,
}

/// Files to create up front, in order of first appearance.
pub fn precreate_sizes(profile: &Profile) -> Vec<PrecreateFile> {
    if profile.precreate == Precreate::None {
        return Vec::new();
    }
    let targets: Vec<_> = profile.time_spans.iter().flat_map(|s| &s.targets).collect();
    let mut files: Vec<PrecreateFile> = Vec::new();
    for first in &targets {
        if files.iter().any(|f| f.path == first.path) {
            continue;
        }
        let same: Vec<_> = targets.iter().filter(|t| t.path == first.path).collect();
        let sizes: Vec<u64> = same.iter().map(|t| t.create_bytes.unwrap_or(0)).collect();
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let zero_agrees = same.iter().all(|t| t.zero_write_buffers == first.zero_write_buffers);
        let constant = match profile.precreate {
            Precreate::None => false,
            Precreate::UseMaxSize => true,
            Precreate::OnlyConstantSizes => sizes.iter().all(|&s| s == largest),
            Precreate::OnlyConstantOrZeroSizes => sizes.iter().all(|&s| s == largest || s == 0),
        };
        if zero_agrees && constant && largest > 0 {
            files.push(PrecreateFile {
                path: first.path.clone(),
                size_bytes: largest,
                zero: first.zero_write_buffers,
            });
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Target, TimeSpan};

    fn profile(precreate: Precreate) -> Profile {
        let target = |path: &str, size: Option<u64>, zero| Target {
            path: path.into(),
            create_bytes: size,
            zero_write_buffers: zero,
            ..Target::default()
        };
        let span = |targets| TimeSpan { targets, ..TimeSpan::default() };
        let first = vec![
            target("file1", Some(100), false),
            target("file2", None, false),
            target("file3", None, false),
            target("file4", Some(300), false),
            target("file5", Some(300), false),
        ];
        let second = vec![
            target("file1", Some(150), false),
            target("file2", Some(200), false),
            target("file4", Some(300), false),
            target("file5", Some(300), true),
        ];
        Profile { precreate, time_spans: vec![span(first), span(second)], ..Profile::default() }
    }

    fn created(precreate: Precreate) -> Vec<(String, u64)> {
        precreate_sizes(&profile(precreate)).into_iter().map(|f| (f.path, f.size_bytes)).collect()
    }

    #[test]
    fn upstream_vectors() {
        let file = |name: &str, size| (name.to_string(), size);
        assert_eq!(created(Precreate::None), []);
        assert_eq!(
            created(Precreate::UseMaxSize),
            [file("file1", 150), file("file2", 200), file("file4", 300)]
        );
        assert_eq!(created(Precreate::OnlyConstantSizes), [file("file4", 300)]);
        assert_eq!(created(Precreate::OnlyConstantOrZeroSizes), [file("file2", 200), file("file4", 300)]);
    }
}
