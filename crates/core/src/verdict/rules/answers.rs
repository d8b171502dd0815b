//! What can have answered in the place of disks or a file server: cause and advice, each in one place.

use crate::verdict::view::Way;

/// Why less came to the storage than completed.
#[derive(Debug)]
pub struct Cause {
    /// What is so, as a part of a sentence.
    pub words: String,
    /// What to do about it.
    pub advice: &'static str,
    /// Something other than the target answered.
    pub is_not_the_target: bool,
    /// It was the page cache.
    pub is_page_cache: bool,
    /// The least part of the bytes that compression and the like leave, where some layer does that.
    pub least: Option<f64>,
}

/// What should have been asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Disks of this machine.
    Disks,
    /// A file server, to which this machine is a client with a page cache of its own.
    Server,
}

impl Asked {
    fn page_cache(self) -> &'static str {
        match self {
            Asked::Disks => "the page cache",
            Asked::Server => "the page cache of this machine",
        }
    }
}

impl Cause {
    /// Something other than the target.
    pub fn of(words: &str, advice: &'static str) -> Self {
        Cause { words: words.to_string(), advice, is_not_the_target: true, is_page_cache: false, least: None }
    }

    /// The page cache, in these words.
    pub fn page_cache(words: &str, advice: &'static str) -> Self {
        Cause { is_page_cache: true, ..Cause::of(words, advice) }
    }

    /// The page cache behind a memory-mapped target.
    pub fn mapped(asked: Asked) -> Self {
        let words = format!("the target is memory mapped (-Sm), so {} answered", asked.page_cache());
        let advice = match asked {
            Asked::Disks => {
                "use -Su or -Sh to measure the disk; this result is the speed of memory and page cache"
            }
            Asked::Server => {
                "use -Su or -Sh to measure the server; this result is the speed of memory and page cache"
            }
        };
        Cause::page_cache(&words, advice)
    }

    /// The page cache that the test did not bypass.
    pub fn not_bypassed(way: Way, asked: Asked) -> Self {
        let did = if way == Way::Read { "answered" } else { "took them" };
        let words = format!("{} {did}, because neither -Su nor -Sh bypassed it", asked.page_cache());
        let advice = match (way, asked) {
            (Way::Read, Asked::Disks) => {
                "add -Su or -Sh to measure the disk; this result is what programs that use the page cache get"
            }
            (Way::Read, Asked::Server) => {
                "add -Su or -Sh (-Sr for the client's cache alone) to measure the server; this result is what programs get \
                 that read the same files again"
            }
            (Way::Write, Asked::Disks) => {
                "add -Sh to measure durable writes, or -Su to measure writes to the disk's cache; or run until the page cache is full"
            }
            (Way::Write, Asked::Server) => {
                "add -Sh to measure writes that the server has made durable, or run until the page cache is full"
            }
        };
        Cause::page_cache(&words, advice)
    }

    /// A loop device below the target ([`crate::verdict::view::is_cached_loop`]).
    pub fn cached_loop() -> Self {
        Cause::of(
            "a loop device below the target uses the page cache for its file",
            "set the loop device up with losetup --direct-io=on",
        )
    }

    /// Nothing that is known.
    pub fn something(between: Asked) -> Self {
        let advice = match between {
            Asked::Disks => {
                "look for a cache between the test and the disk (truespd inspect shows the layers)"
            }
            Asked::Server => {
                "look for a cache between the test and the server (truespd inspect shows the layers)"
            }
        };
        let end = if between == Asked::Disks { "disk" } else { "server" };
        Cause::of(&format!("something between the test and the {end} answered"), advice)
    }
}
