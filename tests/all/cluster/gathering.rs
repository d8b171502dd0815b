//! The progress of many ranks on rank 0. The ranks are threads of this process, with everything that a rank
//! has but a load.

use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use truespd_cluster::transport::{Threads, Transport, TransportError};
use truespd_cluster::{Cluster, Joining};
use truespd_core::load::live::{Counted, Phase, Progress, Rates};
use truespd_core::load::ranks::Ranks;
use truespd_platform::fault::ExitCode;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::thread::running_ns_of_this_thread;

const EVERY: Duration = Duration::from_secs(1);

/// Waits as the transport of MPI does: it looks, sleeps and looks again, because MPI's own waits keep a
/// processor busy. The waits of a channel would do so too, for a while.
#[derive(Debug)]
struct Polled(Threads);

impl Transport for Polled {
    fn rank(&self) -> u32 {
        self.0.rank()
    }

    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn send(&mut self, to: u32, letter: Vec<u8>) -> Result<(), TransportError> {
        self.0.send(to, letter)
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, Vec<u8>)>, TransportError> {
        let letter = self.0.receive(Duration::ZERO)?;
        if letter.is_some() || wait.is_zero() {
            return Ok(letter);
        }
        std::thread::sleep(wait);
        self.0.receive(Duration::ZERO)
    }

    fn is_sent(&mut self) -> bool {
        self.0.is_sent()
    }

    fn give_up(&mut self, rank: u32) {
        self.0.give_up(rank);
    }

    fn abort(self: Box<Self>, exit_code: u8) {
        Box::new(self.0).abort(exit_code);
    }

    fn leave(self: Box<Self>) -> Result<(), TransportError> {
        Box::new(self.0).leave()
    }
}

fn joining(open: impl FnOnce() -> Box<dyn Transport> + Send + 'static) -> Joining {
    Joining {
        open: Box::new(move || Ok(open())),
        words: vec!["-d1".into(), "f".into()],
        version: "0".into(),
        patience: Duration::from_secs(60),
        ranks_per_host: None,
        is_sharing_meant: false,
        stop: Latch::new().expect("a latch"),
    }
}

/// Where a rank is after so many seconds: it does 1000 I/Os of 4 KiB in each.
fn progress(second: u64) -> Progress {
    let ios = 1000 * second;
    Progress {
        phase: Phase::Measurement,
        span: 1,
        spans: 1,
        elapsed_ns: second * 1_000_000_000,
        planned_ns: 60_000_000_000,
        left_ns: 60_000_000_000 - second * 1_000_000_000,
        counted: Counted { ios, bytes: ios * 4096, in_flight_ns: ios * 1_000_000, ..Counted::default() },
        rates: Some(Rates {
            iops: 1000.0,
            bytes_per_s: 4_096_000.0,
            latency_mean_ns: Some(1e6),
            ..Rates::default()
        }),
        machine: None,
        hosts: None,
    }
}

/// A rank that is not rank 0, until rank 0 ends the run.
fn other_rank(transport: Threads, seconds: u64) {
    let cluster =
        Cluster::join(joining(move || Box::new(Polled(transport)))).expect("all ranks fit together");
    cluster.agree(&[], &[]).expect("nobody refuses");
    cluster.start(0).expect("all are there");
    let since = Instant::now();
    for second in 1..=seconds {
        std::thread::sleep(
            (since + EVERY * u32::try_from(second).expect("few")).saturating_duration_since(Instant::now()),
        );
        cluster.progress(&progress(second));
    }
    cluster.counted(progress(seconds).counted);
    cluster.hand_in_nothing(Vec::new());
    assert_eq!(cluster.await_end(), Some(ExitCode::Done as u8));
}

/// What gathering took on rank 0.
struct Cost {
    /// Processor time of the thread that has the transport.
    post: Duration,
    /// Processor time for the sums.
    sums: Duration,
    /// Of this time.
    passed: Duration,
    /// The sums at the end.
    last: Progress,
    /// All I/Os when the time span is over.
    counted: Counted,
}

/// Rank 0 of so many ranks, for so many seconds.
fn gathered(ranks: u32, seconds: u64) -> Cost {
    let mut transports = Threads::all(ranks).into_iter();
    let first = transports.next().expect("rank 0");
    std::thread::scope(|scope| {
        for transport in transports {
            scope.spawn(move || other_rank(transport, seconds));
        }
        let (tell, post) = channel::<PathBuf>();
        let open = move || {
            let link = fs::read_link("/proc/thread-self").expect("its own folder in /proc");
            tell.send(PathBuf::from("/proc").join(link).join("schedstat")).expect("somebody waits for it");
            Box::new(Polled(first)) as Box<dyn Transport>
        };
        let cluster = Cluster::join(joining(open)).expect("all ranks fit together");
        let post = post.recv().expect("the post has begun");
        let post_time = || {
            let text = fs::read_to_string(&post).expect("the post runs");
            Duration::from_nanos(
                text.split_whitespace().next().and_then(|ns| ns.parse().ok()).expect("nanoseconds"),
            )
        };
        cluster.agree(&[], &[]).expect("nobody refuses");
        cluster.start(0).expect("all are there");
        // As from the first progress on: from here it is a run.
        cluster.progress(&progress(0));
        let (since, post_before) = (Instant::now(), post_time());
        let mut sums = Duration::ZERO;
        for second in 1..=seconds {
            let due = since + EVERY * u32::try_from(second).expect("few");
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let before_ns = running_ns_of_this_thread();
            cluster.progress(&progress(second));
            sums += Duration::from_nanos(running_ns_of_this_thread() - before_ns);
        }
        // The others tell the last second just now.
        std::thread::sleep(EVERY / 2);
        let (post, passed) = (post_time() - post_before, since.elapsed());
        let last = loop {
            let last = cluster.progress(&progress(seconds));
            if last.counted.ios == u64::from(ranks) * 1000 * seconds || since.elapsed() > EVERY * 60 {
                break last;
            }
            std::thread::sleep(EVERY / 20);
        };
        let counted = cluster.counted(progress(seconds).counted);
        cluster.collect();
        cluster.dismiss(ExitCode::Done);
        Cost { post, sums, passed, last, counted }
    })
}

#[test]
fn rank_0_has_the_sums_of_all() {
    const RANKS: u32 = 5;
    let Cost { last, counted, .. } = gathered(RANKS, 2);
    let rates = last.rates.expect("they run");
    assert_eq!(rates.iops, 1000.0 * f64::from(RANKS), "{last:?}");
    assert_eq!(rates.latency_mean_ns, Some(1e6));
    let all = Counted { ios: 10_000, bytes: 40_960_000, in_flight_ns: 10_000_000_000, ..Counted::default() };
    assert_eq!((last.counted, counted), (all, all));
    assert_eq!(last.hosts, None, "all ranks are on this host");
}

/// Gathering must not take processor time from the load: less than a thousandth of a processor on rank 0 of 100 ranks.
#[test]
#[ignore = "holds processor time to 0.1 %: cargo test --release --test all cluster::gathering -- --ignored --nocapture"]
fn gathering_costs_rank_0_next_to_nothing() {
    for ranks in [1, 10, 100] {
        let Cost { post, sums, passed, .. } = gathered(ranks, 10);
        let part = (post + sums).as_secs_f64() / passed.as_secs_f64() * 100.0;
        println!(
            "{ranks} ranks: {part:.3} % of a processor on rank 0 ({post:?} the post, {sums:?} the sums, of {passed:?})"
        );
        assert!(ranks < 100 || part < 0.1, "{part:.3} %");
    }
}
