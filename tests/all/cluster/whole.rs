//! Real loads on real files by ranks that are threads of one process: what the sum says is what all of them did.

use std::sync::Arc;
use std::time::Duration;

use diskspd::request::Request;
use diskspd::run::Ready;
use truespd_cluster::transport::{Threads, Transport};
use truespd_cluster::{Cluster, Joining};
use truespd_core::load::ranks::Ranks;
use truespd_core::measure::Histogram;
use truespd_core::profile::{Profile, Target, TimeSpan};
use truespd_core::result::merge::Merger;
use truespd_core::result::{Document, TimeSpanResult, json};
use truespd_platform::fault::ExitCode;
use truespd_platform::sys::events::Latch;
use truespd_verdict::judge;

const RANKS: u32 = 3;

/// Two time spans of a second, each rank on a file of its own, which it makes.
fn profile(folder: &std::path::Path, rank: u32) -> Profile {
    let path = folder.join(format!("f{rank}")).to_string_lossy().into_owned();
    let target = Target { path, block_bytes: 4096, create_bytes: Some(1 << 20), ..Target::default() };
    let span = TimeSpan {
        duration_s: 1,
        warmup_s: 0,
        measure_latency: true,
        disable_affinity: true,
        targets: vec![target],
        ..TimeSpan::default()
    };
    Profile { time_spans: vec![span.clone(), span], ..Profile::default() }
}

/// The document of a rank, and on rank 0 those of the others.
fn life(transport: Threads, folder: &std::path::Path) -> (Document, Vec<Document>) {
    let stop = Latch::new().expect("a descriptor");
    let joining = Joining {
        open: Box::new(move || Ok(Box::new(transport) as Box<dyn Transport>)),
        words: vec!["the same".into()],
        version: "1".into(),
        patience: Duration::from_secs(60),
        ranks_per_host: Some(RANKS),
        is_sharing_meant: false,
        stop: stop.clone(),
    };
    let cluster = Arc::new(Cluster::join(joining).expect("joined"));
    let request = Request { profile: profile(folder, cluster.me().rank), ..Request::default() };
    let companions = Arc::clone(&cluster) as Arc<dyn Ranks>;
    let ready = Ready::of(&request, vec!["truespd".into()]).expect("an engine").with_ranks(companions);
    let mut report = ready.run(&|_| {}, &stop).expect("nobody refuses");
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    cluster.sign(&mut report.document);
    report.document.verdict = Some(judge(&report.document));
    if !cluster.me().is_hub() {
        cluster.hand_in(&report.document, Vec::new());
        assert_eq!(cluster.await_end(), Some(ExitCode::Done as u8));
        return (report.document, Vec::new());
    }
    let finished = cluster.collect();
    assert!(finished.lost.is_empty(), "{:?}", finished.lost);
    cluster.dismiss(ExitCode::Done);
    let handed_in = finished.handed_in.into_values().map(|of_rank| of_rank.document.expect("a document"));
    (report.document, handed_in.map(|bytes| json::read(&bytes).expect("readable")).collect())
}

fn ios(document: &Document) -> u64 {
    let targets =
        document.measured().flat_map(|measured| &measured.threads).flat_map(|thread| &thread.targets);
    targets.map(|target| target.read.ios + target.write.ios).sum()
}

fn latencies(documents: &[Document]) -> Histogram {
    let mut all = Histogram::new();
    let measured = documents.iter().flat_map(Document::measured);
    for target in measured.flat_map(|measured| &measured.threads).flat_map(|thread| &thread.targets) {
        all.merge(target.read.latency.as_ref().expect("-L"));
    }
    all
}

#[test]
fn ranks_measure_the_same_time_and_their_sum_has_all_ios() {
    let folder = tempfile::tempdir().expect("a folder");
    let lives: Vec<(Document, Vec<Document>)> = std::thread::scope(|scope| {
        let rank = |transport| scope.spawn(|| life(transport, folder.path()));
        let ranks: Vec<_> = Threads::all(RANKS).into_iter().map(rank).collect();
        ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect()
    });
    let own: Vec<Document> = lives.iter().map(|(document, _)| document.clone()).collect();
    assert_eq!(lives[0].1.len(), RANKS as usize - 1);
    for span in 0..2 {
        let of = |document: &Document| match &document.time_spans[span] {
            TimeSpanResult::Measured(measured) => measured.evidence.clone(),
            TimeSpanResult::NotMeasured => panic!("time span {span} was not measured"),
        };
        let all: Vec<_> = own.iter().map(of).collect();
        let starts: Vec<_> = all.iter().map(|evidence| evidence.common_start.expect("agreed")).collect();
        assert!(starts.iter().all(|start| start.agreed_unix_ns == starts[0].agreed_unix_ns));
        assert!(starts.iter().all(|start| start.clock_after.is_some()));
        // On one machine all clocks are one: who started in time measured exactly the agreed second.
        for (evidence, start) in all.iter().zip(&starts).filter(|(_, start)| start.late_ns < 5_000_000) {
            let window = evidence.window.expect("a window");
            let from = window.start_unix_ns.abs_diff(start.agreed_unix_ns);
            // Clocks that are compared on a busy machine are right within their uncertainty, which may be milliseconds.
            assert!(from < 50_000_000, "{from} ns from the agreed start: {window:?}, {start:?}");
        }
    }
    let mut merger = Merger::new(false);
    let names = (0..).map(|rank| format!("rank {rank}"));
    for (document, name) in std::iter::once(&lives[0].0).chain(&lives[0].1).zip(names) {
        merger.add(&name, document.clone()).expect("they belong together");
    }
    let sum = merger.finish().expect("a sum").document;
    assert_eq!(ios(&sum), own.iter().map(ios).sum::<u64>());
    assert_eq!(
        latencies(std::slice::from_ref(&sum)),
        latencies(&own),
        "percentiles of all I/Os, not means of percentiles"
    );
    assert!(sum.missing.is_empty());
}
