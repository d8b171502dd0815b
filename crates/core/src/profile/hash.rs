//! Which profiles ask for the same test.

use sha2::{Digest, Sha256};

use super::{Profile, ResultFormat, xml};

/// Hexadecimal digits of a profile's hash: 64 bits.
const HASH_DIGITS: usize = 16;

/// The hash of what a profile asks for: the same for runs that may be compared.
///
/// Seeds, paths and the form of the output do not count, so that the same test on another disk has the same
/// hash; sizes, times, caching and threads do. It is made from the XML of the profile, whose form DiskSpd
/// decides and which therefore stays the same from version to version.
pub fn hash(profile: &Profile) -> String {
    let mut plain = profile.clone();
    plain.result_format = ResultFormat::Text;
    plain.progress_ios = 0;
    (plain.verbose, plain.verbose_stats) = (false, false);
    plain.etw = None;
    for span in &mut plain.time_spans {
        span.rand_seed = 0;
        for (place, target) in span.targets.iter_mut().enumerate() {
            target.path = place.to_string();
        }
    }
    let hash = Sha256::digest(xml::write(&plain, 0).as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>()[..HASH_DIGITS].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Target, TimeSpan};

    fn profile(path: &str, seed: u32, block_bytes: u64) -> Profile {
        let targets = vec![Target { path: path.into(), block_bytes, ..Target::default() }];
        let time_spans = vec![TimeSpan { rand_seed: seed, targets, ..TimeSpan::default() }];
        Profile { time_spans, ..Profile::default() }
    }

    #[test]
    fn the_same_test_has_the_same_hash_elsewhere() {
        let of = hash(&profile("/dev/a", 1, 4096));
        assert_eq!(of.len(), HASH_DIGITS);
        assert_eq!(hash(&profile("/srv/b.dat", 7, 4096)), of);
        let verbose = Profile { verbose: true, ..profile("/dev/a", 1, 4096) };
        assert_eq!(hash(&verbose), of);
        assert_ne!(hash(&profile("/dev/a", 1, 8192)), of);
        // Two targets are another test than one.
        let mut two = profile("/dev/a", 1, 4096);
        two.time_spans[0].targets.extend(profile("/dev/b", 1, 4096).time_spans[0].targets.clone());
        assert_ne!(hash(&two), of);
    }
}
