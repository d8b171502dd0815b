//! The kinds of loops that a worker goes round in (docs/design/hot-path.md "Kinds of loops").

/// What kind of loop it is. That is known where the loop starts, so no I/O asks for it.
pub trait Mode {
    /// Some target has a rate limit or pauses (`-g`, `-i`, `-j`).
    const PACED: bool;
    /// The engine finishes I/Os in the call that hands them over: they go one at a time.
    const INLINE: bool;
    /// Each completion reissues its own request (`-x`).
    const ROUTINES: bool;
    /// Each I/O goes to a target that is drawn for it (`-F` with `-O`).
    const POOL: bool;
    /// Waits are counted by what they find (`-vs`).
    const WAITS: bool;
}

/// I/Os are in flight after they were handed over.
pub struct Queued<const PACED: bool, const POOL: bool, const WAITS: bool>;

impl<const PACED: bool, const POOL: bool, const WAITS: bool> Mode for Queued<PACED, POOL, WAITS> {
    const PACED: bool = PACED;
    const INLINE: bool = false;
    const ROUTINES: bool = false;
    const POOL: bool = POOL;
    const WAITS: bool = WAITS;
}

/// I/Os are finished when they are handed over.
pub struct Inline<const PACED: bool, const POOL: bool>;

impl<const PACED: bool, const POOL: bool> Mode for Inline<PACED, POOL> {
    const PACED: bool = PACED;
    const INLINE: bool = true;
    const ROUTINES: bool = false;
    const POOL: bool = POOL;
    const WAITS: bool = false;
}

/// Completion routines. They ignore rate limits and pauses, as in DiskSpd 2.2.
pub struct Routines<const POOL: bool, const WAITS: bool>;

impl<const POOL: bool, const WAITS: bool> Mode for Routines<POOL, WAITS> {
    const PACED: bool = false;
    const INLINE: bool = false;
    const ROUTINES: bool = true;
    const POOL: bool = POOL;
    const WAITS: bool = WAITS;
}
