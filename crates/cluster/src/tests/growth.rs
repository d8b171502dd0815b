//! How what rank 0 does grows with the ranks. The others are played by its transport, which answers at once, so that no
//! other rank takes processor time from rank 0.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::super::Joining;
use super::super::message::{Checked, Hello, Letter, Message};
use super::super::post::wall_ns;
use super::super::transport::{Transport, TransportError};
use super::super::{Cluster, Finished};
use truespd_core::load::ranks::Ranks;
use truespd_core::result::merge::Merger;
use truespd_core::result::{Completed, Document, Rank, json};
use truespd_platform::fault::ExitCode;
use truespd_platform::sys::events::Latch;
use truespd_verdict::ranks::DoneOnDisks;

const RANKS_PER_HOST: u32 = 8;
const PROFILE: &str = "the profile";
const WORDS: &str = "f";
const VERSION: &str = "1";

/// All ranks but rank 0.
#[derive(Debug)]
struct Crowd {
    ranks: u32,
    document: Document,
    /// What they have said, and rank 0 has not heard yet.
    said: VecDeque<(u32, Vec<u8>)>,
}

fn host(rank: u32) -> String {
    format!("node-{:04}", rank / RANKS_PER_HOST)
}

/// A document as that of a rank.
fn of_rank(mut document: Document, rank: u32, ranks: u32) -> Document {
    document.system.computer_name = host(rank);
    document.rank =
        Some(Rank { run: "growth".into(), rank, ranks, local: rank % RANKS_PER_HOST, ..Rank::default() });
    document
}

impl Crowd {
    fn new(ranks: u32, document: &Document) -> Self {
        let mut crowd = Crowd { ranks, document: document.clone(), said: VecDeque::new() };
        for rank in 1..ranks {
            let hello = Hello {
                version: VERSION.into(),
                host: host(rank),
                boot: host(rank),
                words: vec![WORDS.into()],
                process: rank,
                processors: vec![rank % RANKS_PER_HOST],
            };
            crowd.say(rank, Message::Hello(hello));
        }
        crowd
    }

    fn say(&mut self, rank: u32, message: Message) {
        self.said.push_back((rank, Letter::from(message).bytes()));
    }
}

impl Transport for Crowd {
    fn rank(&self) -> u32 {
        0
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn send(&mut self, to: u32, letter: Vec<u8>) -> Result<(), TransportError> {
        let now_ns = wall_ns();
        match Letter::read(&letter).expect("rank 0 says what is a letter").message {
            Message::Welcome(_) => {
                let checked =
                    Checked { refusals: Vec::new(), places: Vec::new(), profile: Some(PROFILE.into()) };
                self.say(to, Message::Checked(checked));
            }
            Message::Go { .. } => self.say(to, Message::Ready { time_span: 0 }),
            Message::Ping { sent_unix_ns } => {
                let pong = Message::Pong { sent_unix_ns, received_unix_ns: now_ns, answered_unix_ns: now_ns };
                self.say(to, pong);
            }
            // A load that is over at once.
            Message::Start { .. } => {
                self.say(to, Message::LoadIsOver);
                let done = DoneOnDisks::from([("nvme0n1".to_string(), Completed::default())]);
                self.say(to, Message::Done(vec![done]));
            }
            Message::OthersDone(_) => {
                let message = Message::Ended { has_measured: true, failures: Vec::new() };
                let document = of_rank(self.document.clone(), to, self.ranks);
                let letter = Letter { message, tail: json::write(&document).into_bytes() };
                self.said.push_back((to, letter.bytes()));
            }
            Message::Bye { .. } => self.say(to, Message::Gone),
            _ => {}
        }
        Ok(())
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, Vec<u8>)>, TransportError> {
        let letter = self.said.pop_front();
        if letter.is_none() {
            std::thread::sleep(wait);
        }
        Ok(letter)
    }

    fn is_sent(&mut self) -> bool {
        true
    }

    fn give_up(&mut self, _: u32) {}

    fn abort(self: Box<Self>, _: u8) {}

    fn leave(self: Box<Self>) -> Result<(), TransportError> {
        Ok(())
    }
}

fn merged(own: Document, finished: &Finished) -> Document {
    let mut merger = Merger::new(true);
    merger.add("rank 0", own).expect("a result");
    for (rank, one) in &finished.handed_in {
        let document = json::read(one.document.as_ref().expect("it handed one in")).expect("a result");
        merger.add(&format!("rank {rank}"), document).expect("of the same run");
    }
    merger.finish().expect("a sum").document
}

/// The most memory that this process had so far, in MiB.
fn most_memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") >> 10
}

#[test]
#[ignore = "a table: cargo test --release -p truespd-cluster --lib -- growth --ignored --nocapture"]
fn the_growth_with_ranks_is_seen() {
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/documents/v1/real-paced-reads.json");
    let document = json::read(&std::fs::read(stored).expect("a document")).expect("a document");
    println!(
        "{:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>12} {:>10}",
        "ranks", "join", "agree", "start", "gather", "merge", "documents", "memory"
    );
    for ranks in [10, 100, 1000, 10_000] {
        let crowd = Crowd::new(ranks, &document);
        let mut since = Instant::now();
        let mut took = || std::mem::replace(&mut since, Instant::now()).elapsed();
        let joining = Joining {
            open: Box::new(move || Ok(Box::new(crowd) as Box<dyn Transport>)),
            words: vec![WORDS.into()],
            version: VERSION.into(),
            patience: Duration::from_secs(60),
            ranks_per_host: None,
            is_sharing_meant: true,
            stop: Latch::new().expect("a descriptor"),
        };
        let Ok(cluster) = Cluster::join(joining) else { panic!("{ranks} ranks do not join") };
        let join = took();
        cluster.has_profile(PROFILE.into());
        cluster.agree(&[], &[]).expect("nobody refuses");
        let agree = took();
        cluster.start(0).expect("all are there");
        let start = took();
        let mut own = of_rank(document.clone(), 0, ranks);
        cluster.sign(&mut own);
        let finished = cluster.collect();
        let gather = took();
        assert_eq!((finished.handed_in.len() as u32 + 1, finished.lost.len()), (ranks, 0));
        let sum = merged(of_rank(own, 0, ranks), &finished);
        let merge = took();
        cluster.dismiss(ExitCode::Done);
        assert_eq!(sum.sources.len() as u32, ranks);
        let bytes: usize =
            finished.handed_in.values().filter_map(|one| Some(one.document.as_ref()?.len())).sum();
        println!(
            "{ranks:>6} {join:>9.2?} {agree:>9.2?} {start:>9.2?} {gather:>9.2?} {merge:>9.2?} {:>8} MiB {:>6} MiB",
            bytes >> 20,
            most_memory_mib()
        );
    }
}
