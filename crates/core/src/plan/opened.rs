//! What an opened target of known size leaves to test (`io-semantics.md` §3, §7, §11).

use std::sync::Arc;

use crate::access::{EffectiveDistribution, Pace, RangeError, RangeSpec, UsableRange};
use crate::fault::{Failure, FailureKind};
use crate::profile::{Target, TimeSpan};

/// Where and how fast the threads of a target may go.
#[derive(Debug, Clone)]
pub struct TargetRanges {
    /// Part of the target in use.
    pub range: UsableRange,
    /// Ranges of a distribution on a target of this size.
    pub distribution: Option<Arc<EffectiveDistribution>>,
    /// Rate limit or pauses of each thread.
    pub pace: Pace,
}

/// Works out the ranges, or says why some thread could not start. The message begins with the
/// phrase that DiskSpd's users look for.
///
/// # Errors
/// It names the target.
pub fn ranges_of(span: &TimeSpan, target: &Target, size_bytes: u64) -> Result<TargetRanges, Failure> {
    let path = &target.path;
    let failed = |message: String| Failure::new(FailureKind::Open, message).on(path);
    let say = |error: RangeError| match error {
        RangeError::SizeUnknown | RangeError::TooLarge { .. } => {
            failed(format!("Error getting file size: '{path}'")).because(error)
        }
        _ => failed(format!("The file is too small. File: '{path}'")).because(error),
    };
    let unfit = |why: &dyn std::fmt::Display| failed(format!("'{path}'")).because(why);
    let range = UsableRange::new(RangeSpec::of(target, size_bytes)).map_err(say)?;
    // Positions depend on the thread's number: the global one with -F, whoever serves the target.
    let threads = if span.thread_count > 0 { span.thread_count } else { target.threads_per_file };
    range.start_of(threads.saturating_sub(1)).map_err(say)?;
    let distribution = match &target.distribution {
        Some(asked) => {
            let effective = EffectiveDistribution::new(asked, &range).map_err(|e| unfit(&e))?;
            Some(Arc::new(effective))
        }
        None => None,
    };
    let pace = Pace::of(target, span.threads_on(target)).map_err(|e| unfit(&e))?;
    Ok(TargetRanges { range, distribution, pace })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    #[test]
    fn the_last_thread_must_fit_too() {
        let mut span = TimeSpan { targets: vec![Target::default()], ..TimeSpan::default() };
        span.targets[0].threads_per_file = 3;
        span.targets[0].thread_stride_bytes = 64 * KIB;
        let check = |span: &TimeSpan, size| ranges_of(span, &span.targets[0], size).map(|_| ());
        assert_eq!(check(&span, 192 * KIB), Ok(()));
        let message = check(&span, 192 * KIB - 1).unwrap_err().to_string();
        assert!(message.starts_with("The file is too small. File: "), "{message}");
        span.targets[0].base_bytes = 1;
        assert!(check(&span, 192 * KIB).is_err());
        assert!(check(&span, 0).unwrap_err().message.starts_with("Error getting file size"));
        span.targets[0].base_bytes = 0;
        span.targets[0].threads_per_file = 1;
        span.thread_count = 4;
        assert!(check(&span, 192 * KIB).is_err(), "-F counts threads globally");
    }
}
