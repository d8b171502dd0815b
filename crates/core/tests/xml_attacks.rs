//! Profiles made to hurt: each is refused at once and takes little memory. Memory and time are those of a
//! whole process, so this file has a single test.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use truespd_core::profile::xml::{FILE_BYTES_MAX, read_bytes, read_from};

/// Processor time, so that a busy machine does not count.
const TIME_MAX: Duration = Duration::from_secs(10);
/// What the parser may ask for on top of the file itself. Counted when asked for, touched or not.
const MEMORY_MAX: usize = 100 << 20;

/// Counts what is allocated now and at most.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every request is passed on unchanged to the system's allocator, which keeps the promises of the
// trait; the counters touch no memory but their own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promise about the layout is the one that is asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the block came from `alloc` above, so from the system's allocator, with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What this thread has spent.
fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// What `work` returns, how long it took, and how much memory it had at most. Where a host takes time away, that
/// may count as ours: too long is what is too long three times.
fn measured<T>(work: impl Fn() -> T) -> (T, Duration, usize) {
    let mut last = measured_once(&work);
    for _ in 1..3 {
        if last.1 < TIME_MAX {
            break;
        }
        // Gone before the next, which counts memory.
        drop(last);
        last = measured_once(&work);
    }
    last
}

fn measured_once<T>(work: impl FnOnce() -> T) -> (T, Duration, usize) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let start = processor_time();
    let result = work();
    (result, processor_time() - start, PEAK.load(Relaxed) - before)
}

fn around(inside: &str) -> String {
    format!(
        "<Profile><TimeSpans><TimeSpan>{inside}<Targets><Target><Path>a</Path></Target></Targets></TimeSpan></TimeSpans></Profile>"
    )
}

fn billion_laughs() -> String {
    let mut entities = String::from("<!ENTITY l0 \"ha\">");
    for i in 1..10 {
        entities.push_str(&format!("<!ENTITY l{i} \"{}\">", format!("&l{};", i - 1).repeat(10)));
    }
    format!("<?xml version=\"1.0\"?><!DOCTYPE Profile [{entities}]><Profile>&l9;</Profile>")
}

/// Room for content in the largest file.
const LARGE: usize = FILE_BYTES_MAX - 4096;

/// A name and how to make the file: one at a time, so that they are not all in memory.
type Attack = (&'static str, fn() -> Vec<u8>);

const ATTACKS: &[Attack] = &[
    ("billion laughs", || billion_laughs().into()),
    ("external entity", || {
        b"<!DOCTYPE Profile [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><Profile>&x;</Profile>".to_vec()
    }),
    ("external subset", || b"<!DOCTYPE Profile SYSTEM \"http://127.0.0.1/x.dtd\"><Profile/>".to_vec()),
    ("hidden declaration", || format!("<!-- -->{}<?a?><!DOCTYPE a><Profile/>", " ".repeat(1 << 20)).into()),
    ("10 MB attribute", || format!("<Profile a=\"{}\"/>", "x".repeat(10_000_000)).into()),
    ("many attributes", || {
        format!("<Profile {}/>", (0..200_000).map(|i| format!("a{i}='' ")).collect::<String>()).into()
    }),
    ("100k levels", || "<a>".repeat(100_000).into()),
    ("100k levels, closed", || format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000)).into()),
    ("millions of elements", || around(&"<a/>".repeat(LARGE / 4)).into()),
    ("as many elements as are parsed", || around(&"<Duration/>".repeat(499_900)).into()),
    ("as many flags as are parsed", || around(&"<Verbose>1</Verbose>".repeat(249_000)).into()),
    ("millions of comments", || around(&"<!---->".repeat(LARGE / 7)).into()),
    ("a large number", || around(&format!("<Duration>{}</Duration>", "9".repeat(LARGE - 1000))).into()),
    ("a large name", || format!("<{}/>", "a".repeat(LARGE)).into()),
    ("a large path", || around("").replace(">a<", &format!(">{}<", "a".repeat(LARGE - 1000))).into()),
    ("character references", || {
        around(&format!("<Duration>{}</Duration>", "&#49;".repeat(1_000_000))).into()
    }),
    ("namespaces", || around(&"<a xmlns:b='c'/>".repeat(400_000)).into()),
    ("a file of less-than signs", || "<".repeat(LARGE).into()),
    ("a comment of less-than signs", || around(&format!("<!--{}-->", "<".repeat(LARGE - 1000))).into()),
    ("an open comment", || format!("<Profile><!--{}", " -".repeat(LARGE / 2 - 100)).into()),
    ("many ranges", || {
        let range = "<Range IO='1'>1</Range>".repeat(160_000);
        let list = format!("<Random>1</Random><Distribution><Percent>{range}</Percent></Distribution><x/>");
        around("").replace("</Target>", &format!("{list}</Target>")).into()
    }),
    ("too large", || vec![b' '; FILE_BYTES_MAX + 1]),
    ("zeros", || vec![0; LARGE]),
    ("UTF-16", || [&[0xff, 0xfe][..], &b"<\0".repeat(LARGE / 2 - 1)].concat()),
    ("not UTF-8", || vec![0x80; LARGE]),
];

#[test]
fn attacks_are_refused_fast_and_small() {
    for (name, make) in ATTACKS {
        let bytes = make();
        let (outcome, taken, memory) = measured(|| read_bytes(&bytes));
        let text = outcome.expect_err(name).to_string();
        assert!(taken < TIME_MAX, "{name}: {taken:?}");
        assert!(memory < MEMORY_MAX, "{name}: {memory} bytes");
        assert!(text.starts_with("ERROR: failed to load profile, line "), "{name}: {text:.200}");
        assert!(text.len() < 4000, "{name}: the message has {} bytes", text.len());
        assert!(!text.contains("root:"), "{name}: {text}");
    }
    let (outcome, taken, memory) = measured(|| read_from(std::io::repeat(b'<')));
    outcome.expect("is readable").expect_err("a file without end");
    assert!(taken < TIME_MAX && memory < MEMORY_MAX, "{taken:?}, {memory} bytes");
    // The readings see something: a large profile takes memory while it is read.
    let span = "<TimeSpan><Targets><Target><Path>a</Path></Target></Targets></TimeSpan>".repeat(50_000);
    let profile = format!("<Profile><TimeSpans>{span}</TimeSpans></Profile>");
    let (outcome, taken, memory) = measured(|| read_bytes(profile.as_bytes()));
    assert_eq!(outcome.expect("is a profile").time_spans.len(), 50_000);
    assert!(memory > profile.len() && taken < TIME_MAX, "{taken:?}, {memory} bytes");
}
