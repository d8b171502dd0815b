//! Ranks as threads of one process, with what may happen to them.

mod growth;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::post::Shared;
use super::transport::{Threads, Transport, TransportError};
use super::{Cluster, Finished, JoinError, Joining, start_post};
use truespd_core::load::ranks::{CalledOff, Maker, Place, Ranks};
use truespd_core::result::{Completed, Document, LostHow, json};
use truespd_platform::fault::{ExitCode, Refusal, RefusalKind};
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::identity::Identity;
use truespd_verdict::ranks::DoneOnDisks;

/// Silence after which a rank is lost here: far more than the pause between two signs of life, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(8);
/// No test waits longer.
const LIMIT: Duration = Duration::from_secs(120);

/// A rank that can be cut off: from then on it neither hears nor is heard.
#[derive(Debug)]
struct Fragile {
    inner: Threads,
    is_cut: Arc<AtomicBool>,
}

impl Transport for Fragile {
    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    fn ranks(&self) -> u32 {
        self.inner.ranks()
    }

    fn send(&mut self, to: u32, letter: Vec<u8>) -> Result<(), TransportError> {
        if self.is_cut.load(Ordering::Relaxed) { Ok(()) } else { self.inner.send(to, letter) }
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<(u32, Vec<u8>)>, TransportError> {
        let letter = self.inner.receive(wait)?;
        Ok(letter.filter(|_| !self.is_cut.load(Ordering::Relaxed)))
    }

    fn is_sent(&mut self) -> bool {
        true
    }

    fn give_up(&mut self, rank: u32) {
        self.inner.give_up(rank);
    }

    fn abort(self: Box<Self>, _: u8) {}

    fn leave(self: Box<Self>) -> Result<(), TransportError> {
        Ok(())
    }
}

/// A rank of a test.
struct Lab {
    joining: Joining,
    stop: Latch,
    is_cut: Arc<AtomicBool>,
}

impl Lab {
    fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
    }

    fn join(self) -> Result<(Cluster, Latch, Arc<AtomicBool>), JoinError> {
        Ok((Cluster::join(self.joining)?, self.stop, self.is_cut))
    }
}

fn labs(ranks: u32) -> Vec<Lab> {
    let lab = |threads: Threads| {
        let (stop, is_cut) = (Latch::new().expect("a descriptor"), Arc::new(AtomicBool::new(false)));
        let fragile = Fragile { inner: threads, is_cut: Arc::clone(&is_cut) };
        let joining = Joining {
            open: Box::new(move || Ok(Box::new(fragile) as Box<dyn Transport>)),
            words: vec!["-b4K".into(), "f{rank}".into()],
            version: "1.2.3".into(),
            patience: PATIENCE,
            ranks_per_host: None,
            is_sharing_meant: true,
            stop: stop.clone(),
        };
        Lab { joining, stop, is_cut }
    };
    Threads::all(ranks).into_iter().map(lab).collect()
}

/// Runs `life` on all ranks at once; what came of each, in order. Fails when that takes too long.
fn all<T: Send>(labs: Vec<Lab>, life: impl Fn(Lab) -> T + Sync) -> Vec<T> {
    let began = Instant::now();
    let results = std::thread::scope(|scope| {
        let life = &life;
        let threads: Vec<_> = labs.into_iter().map(|lab| scope.spawn(move || life(lab))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(began.elapsed() < LIMIT, "it took {:?}", began.elapsed());
    results
}

/// A rank's ways after its run: its exit code, and on rank 0 what was handed in.
fn end(cluster: &Cluster, code: ExitCode) -> (Option<u8>, Finished) {
    if !cluster.me().is_hub() {
        let mut document = Document::default();
        cluster.sign(&mut document);
        cluster.hand_in(&document, Vec::new());
        return (cluster.await_end(), Finished::default());
    }
    let finished = cluster.collect();
    cluster.dismiss(code);
    (Some(code as u8), finished)
}

#[test]
fn all_start_at_one_instant_and_end_with_one_code() {
    let ranks = all(labs(5), |lab| {
        let (cluster, ..) = lab.join().expect("joined");
        cluster.has_profile("same".into());
        cluster.agree(&[], &[]).expect("nobody refuses");
        let starts = [0, 1].map(|span| cluster.start(span).expect("nobody failed"));
        let (code, finished) = end(&cluster, ExitCode::NotTrusted);
        (cluster.me().clone(), starts, code, finished)
    });
    let first = &ranks[0];
    for (number, (me, starts, code, _)) in ranks.iter().enumerate() {
        assert_eq!(
            (me.rank, me.ranks, me.standing.local, me.standing.local_ranks),
            (number as u32, 5, number as u32, 5)
        );
        assert_eq!(me.run, first.0.run);
        assert_eq!(*code, Some(ExitCode::NotTrusted as u8));
        for (start, of_first) in starts.iter().zip(&first.1) {
            assert_eq!(start.common.agreed_unix_ns, of_first.common.agreed_unix_ns);
            // All clocks here are one.
            let clock = start.common.clock_before;
            assert!(clock.ahead_ns.unsigned_abs() <= clock.uncertainty_ns + 1_000, "{clock:?}");
            assert!(clock.uncertainty_ns < 50_000_000, "{clock:?}");
        }
    }
    let finished = &first.3;
    assert_eq!(finished.lost, []);
    assert_eq!(finished.handed_in.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4]);
    for (rank, handed_in) in &finished.handed_in {
        let document = json::read(handed_in.document.as_deref().expect("a document")).expect("readable");
        let signed = document.rank.expect("signed");
        assert_eq!((signed.rank, signed.ranks, &signed.run), (*rank, 5, &first.0.run));
    }
}

#[test]
fn ranks_of_a_host_learn_what_the_others_did_on_its_disks() {
    let done = |reads: u64| {
        let of_disk = Completed { reads, read_bytes: 4096 * reads, ..Completed::default() };
        vec![DoneOnDisks::from([("vda".to_string(), of_disk)])]
    };
    let others = all(labs(4), |lab| {
        let (cluster, ..) = lab.join().expect("joined");
        let rank = cluster.me().rank;
        // The last one has nothing to say: it failed, and nobody waits for it.
        if rank == 3 {
            cluster.hand_in_nothing(vec!["no".into()]);
            return (cluster.await_end(), Vec::new());
        }
        let others = cluster.exchange(done(10u64.pow(rank)));
        if !cluster.me().is_hub() {
            cluster.hand_in_nothing(Vec::new());
            return (cluster.await_end(), others);
        }
        (end(&cluster, ExitCode::Done).0, others)
    });
    let of_others: Vec<_> = others.into_iter().map(|(_, others)| others).collect();
    assert_eq!(of_others[..3], [done(110), done(101), done(11)]);
}

#[test]
fn one_refusal_stops_all_and_rank_0_has_it() {
    let ranks = all(labs(3), |lab| {
        let (cluster, ..) = lab.join().expect("joined");
        let refusal = Refusal::guard("/x", "'/x' is mounted".into());
        let own = if cluster.me().rank == 2 { vec![refusal] } else { Vec::new() };
        assert_eq!(cluster.agree(&[], &own), Err(CalledOff));
        let others = cluster.refusals_of_others();
        let code = if cluster.me().is_hub() {
            cluster.dismiss(ExitCode::Guarded);
            None
        } else {
            cluster.await_end()
        };
        (others, code)
    });
    let [refusal] = &ranks[0].0[..] else { panic!("one refusal: {:?}", ranks[0].0) };
    assert_eq!(refusal.kind, RefusalKind::Guard);
    assert!(refusal.message.contains("(rank 2): '/x' is mounted"), "{refusal}");
    assert_eq!([ranks[1].1, ranks[2].1], [Some(ExitCode::Guarded as u8); 2]);
}

#[test]
fn ranks_that_do_not_fit_together_do_not_join() {
    type Change = fn(&mut Joining);
    let words: Change = |joining| joining.words[0] = "-b8K".into();
    let version: Change = |joining| joining.version = "1.2.4".into();
    let per_host: Change = |joining| joining.ranks_per_host = Some(2);
    for (changed, change, says) in [
        (1, words, "another command line than rank 0: word 1 is -b8K there, and -b4K on rank 0"),
        (2, version, "1.2.4"),
        (0, per_host, "has 3 ranks, not 2"),
    ] {
        let mut labs = labs(3);
        change(&mut labs[changed].joining);
        let ranks = all(labs, |lab| lab.join().expect_err("refused"));
        let JoinError::Refused(refusals) = &ranks[0] else { panic!("{:?}", ranks[0]) };
        assert!(refusals[0].message.contains(says), "{}", refusals[0]);
        for rank in &ranks[1..] {
            assert!(matches!(rank, JoinError::Dismissed(Some(3))), "{rank:?}");
        }
    }
}

#[test]
fn a_rank_that_falls_silent_is_lost_and_the_others_go_on() {
    let ranks = all(labs(3), |lab| {
        let (cluster, _, is_cut) = lab.join().expect("joined");
        cluster.agree(&[], &[]).expect("nobody refuses");
        cluster.start(0).expect("nobody failed");
        if cluster.me().rank == 1 {
            is_cut.store(true, Ordering::Relaxed);
        }
        let began = Instant::now();
        let ended = end(&cluster, ExitCode::Failed);
        (ended, began.elapsed())
    });
    let ((_, finished), took) = &ranks[0];
    let [lost] = &finished.lost[..] else { panic!("one is lost: {:?}", finished.lost) };
    assert_eq!((lost.rank, lost.how), (1, LostHow::Silent));
    assert!(lost.last_heard_unix_ns > 0);
    assert_eq!(finished.handed_in.keys().copied().collect::<Vec<_>>(), [2]);
    assert!(*took < LIMIT, "{took:?}");
    assert_eq!(ranks[1].0.0, None, "it hears nothing of the end");
    assert_eq!(ranks[2].0.0, Some(ExitCode::Failed as u8));
}

#[test]
fn without_rank_0_the_others_stop() {
    let ranks = all(labs(3), |lab| {
        let (cluster, stop, is_cut) = lab.join().expect("joined");
        cluster.agree(&[], &[]).expect("nobody refuses");
        cluster.start(0).expect("nobody failed");
        if cluster.me().is_hub() {
            // The others have heard of the start by then.
            std::thread::sleep(Duration::from_millis(200));
            is_cut.store(true, Ordering::Relaxed);
            return None;
        }
        // What a load would wait for.
        assert!(Latch::wait_any(&[&stop], Some(LIMIT)), "nobody stopped it");
        cluster.hand_in_nothing(Vec::new());
        Some(cluster.await_end())
    });
    assert_eq!(ranks[1..], [Some(None), Some(None)]);
}

#[test]
fn a_rank_that_is_lost_before_the_start_calls_it_off() {
    let ranks = all(labs(3), |lab| {
        let (cluster, _, is_cut) = lab.join().expect("joined");
        cluster.agree(&[], &[]).expect("nobody refuses");
        if cluster.me().rank == 2 {
            is_cut.store(true, Ordering::Relaxed);
        }
        let start = cluster.start(0).map(|_| ());
        (start, end(&cluster, ExitCode::Failed))
    });
    assert!(ranks.iter().all(|(start, _)| *start == Err(CalledOff)));
    assert_eq!(ranks[0].1.1.lost.iter().map(|lost| lost.rank).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_rank_that_fails_before_the_start_calls_it_off_and_says_why() {
    let ranks = all(labs(3), |lab| {
        let (cluster, ..) = lab.join().expect("joined");
        cluster.agree(&[], &[]).expect("nobody refuses");
        if cluster.me().rank == 1 {
            cluster.hand_in_nothing(vec!["the disk is full".into()]);
            return (Err(CalledOff), cluster.await_end(), Finished::default());
        }
        let start = cluster.start(0).map(|_| ());
        let (code, finished) = end(&cluster, ExitCode::Failed);
        (start, code, finished)
    });
    for (start, code, _) in &ranks {
        assert_eq!((*start, *code), (Err(CalledOff), Some(ExitCode::Failed as u8)));
    }
    let lost = &ranks[0].2.lost[0];
    assert_eq!(
        (lost.rank, lost.how, &lost.failures[..]),
        (1, LostHow::Failed, &["the disk is full".to_string()][..])
    );
}

#[test]
fn a_later_time_span_goes_on_without_a_rank_that_ended() {
    let ranks = all(labs(3), |lab| {
        let (cluster, ..) = lab.join().expect("joined");
        cluster.agree(&[], &[]).expect("nobody refuses");
        cluster.start(0).expect("nobody failed");
        if cluster.me().rank != 1 {
            cluster.start(1).expect("the others go on");
        }
        end(&cluster, ExitCode::Done).1.handed_in.len()
    });
    assert_eq!(ranks[0], 2);
}

#[test]
fn a_stop_of_rank_0_stops_all() {
    let ranks = all(labs(3), |lab| {
        let (cluster, stop, _) = lab.join().expect("joined");
        cluster.agree(&[], &[]).expect("nobody refuses");
        cluster.start(0).expect("nobody failed");
        if cluster.me().is_hub() {
            stop.set();
        }
        let is_stopped = Latch::wait_any(&[&stop], Some(LIMIT));
        (is_stopped, end(&cluster, ExitCode::Done).0)
    });
    assert!(ranks.iter().all(|(is_stopped, code)| *is_stopped && *code == Some(0)), "{ranks:?}");
}

#[test]
fn a_file_that_ranks_share_is_made_by_the_first_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place {
        typed: "f".into(),
        path: folder.path().join("f").to_string_lossy().into_owned(),
        identity: None,
        folder: Identity::at(folder.path()).ok(),
        disk: None,
        is_made: true,
        is_written: true,
        remote: None,
    };
    let is_made = AtomicBool::new(false);
    let makers = all(labs(3), |lab| {
        let (cluster, ..) = lab.join().expect("joined");
        // Rank 0 has another target.
        let places = if cluster.me().is_hub() { Vec::new() } else { vec![place.clone()] };
        cluster.agree(&places, &[]).expect("nobody refuses");
        let maker = if cluster.me().is_hub() {
            Maker::This
        } else {
            cluster.turn_to_make("f").expect("nobody failed")
        };
        match maker {
            Maker::This if !cluster.me().is_hub() => {
                std::thread::sleep(Duration::from_millis(50));
                is_made.store(true, Ordering::Relaxed);
                cluster.has_made("f");
            }
            Maker::This => {}
            Maker::Another => assert!(is_made.load(Ordering::Relaxed), "it comes after the making"),
        }
        cluster.start(0).expect("nobody failed");
        end(&cluster, ExitCode::Done);
        maker
    });
    assert_eq!(makers, [Maker::This, Maker::This, Maker::Another]);
}

#[test]
fn a_rank_that_is_not_there_is_named() {
    let labs = labs(3);
    labs[2].cut();
    let ranks = all(labs, |lab| lab.join().err());
    let Some(JoinError::Refused(refusals)) = &ranks[0] else { panic!("{:?}", ranks[0]) };
    assert!(refusals[0].message.ends_with("do not answer: 2"), "{}", refusals[0]);
    assert!(matches!(ranks[1], Some(JoinError::Dismissed(Some(3)))), "{:?}", ranks[1]);
    assert!(matches!(ranks[2], Some(JoinError::Dismissed(None))), "{:?}", ranks[2]);
}

#[test]
fn a_series_goes_on_with_the_sum_of_each_run_on_all_ranks() {
    let ranks = all(labs(3), |lab| {
        let (cluster, ..) = lab.join().expect("joined");
        let mut sums = Vec::new();
        for run in 0..3u8 {
            cluster.agree(&[], &[]).expect("nobody refuses");
            cluster.start(0).expect("nobody failed");
            if cluster.me().is_hub() {
                assert_eq!(cluster.collect().handed_in.len(), 2);
                let sum = [run; 5];
                cluster.tell_sum((run != 2).then_some(&sum[..]));
                sums.push((run != 2).then_some(sum.to_vec()));
            } else {
                cluster.hand_in(&Document::default(), Vec::new());
                sums.push(cluster.await_sum());
            }
        }
        let code = if cluster.me().is_hub() {
            cluster.dismiss(ExitCode::NotTrusted);
            Some(ExitCode::NotTrusted as u8)
        } else {
            cluster.await_end()
        };
        (sums, code)
    });
    for rank in &ranks {
        assert_eq!(*rank, (vec![Some(vec![0; 5]), Some(vec![1; 5]), None], Some(ExitCode::NotTrusted as u8)));
    }
}

#[test]
fn a_rank_that_left_a_series_is_told_at_the_next_run() {
    let ranks = all(labs(3), |lab| {
        let (cluster, ..) = lab.join().expect("joined");
        if cluster.me().rank == 1 {
            cluster.hand_in_nothing(vec!["the folder is gone".into()]);
            cluster.await_end();
            return Vec::new();
        }
        assert_eq!(cluster.agree(&[], &[]), Err(CalledOff));
        let others = cluster.refusals_of_others();
        if cluster.me().is_hub() {
            cluster.dismiss(ExitCode::Failed);
        } else {
            cluster.await_end();
        }
        others
    });
    assert!(ranks[0][0].message.contains("(rank 1): the folder is gone"), "{:?}", ranks[0]);
}

/// With MPICH a rank that ended before it joined leaves the others in MPI's start for ever.
#[test]
fn a_transport_that_never_opens_is_given_up() {
    let ((_commands, to_post), (to_rank, _arrivals)) = (channel(), channel());
    let shared = Arc::new(Shared::new(Latch::new().expect("a descriptor")));
    let (_let_go, held) = channel::<()>();
    let open = Box::new(move || {
        let _ = held.recv();
        Err(TransportError("let go".into()))
    });
    let opened = start_post(open, to_post, to_rank, shared, PATIENCE, Duration::from_millis(20));
    let error = opened.expect_err("it does not open");
    assert!(error.to_string().contains("some have not"), "{error}");
}
