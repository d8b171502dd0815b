//! Many processes at once, and processes that are killed.

use std::fs;
use std::io::Read;
use std::process::Child;
use std::time::{Duration, Instant};

use super::tools::{Place, Said, assert_whole};

const PROCESSES: usize = 20;
/// Kills that are made; the variable KILLS sets another number.
const KILLS: u32 = 100;
/// Where imports take long, fewer kills do, when some of them came too early and some too late.
const ENOUGH: Duration = Duration::from_secs(120);
/// What is killed.
const IMPORT: &str = "history import a b";

/// When a process is killed: at any time until a little after it is done. How long it takes is not known, and
/// changes with what else the machine does, so it is learnt from whether the kills came too early or too
/// late.
struct Moments {
    /// What an import is thought to take.
    takes: Duration,
    /// The part of that after which the last one was killed.
    part: f64,
}

impl Moments {
    /// However slow the disk is.
    const LONGEST: Duration = Duration::from_secs(60);

    fn new() -> Self {
        Moments { takes: Duration::from_millis(20), part: 0.0 }
    }

    /// Spread evenly over 1.3 times the import, in no order.
    fn next(&mut self) -> Duration {
        self.part = (self.part / 1.3 + 0.618).fract() * 1.3;
        self.takes.mul_f64(self.part)
    }

    fn learn(&mut self, is_told: bool) {
        match is_told {
            false if self.part > 1.0 => self.takes = self.takes.mul_f64(1.5).min(Self::LONGEST),
            true if self.part < 0.7 => self.takes = self.takes.mul_f64(0.8),
            _ => {}
        }
    }
}

#[test]
fn twenty_processes_at_once_lose_nothing() {
    let place = Place::new();
    // They also make the file, all at the same time.
    let line = |number: usize| Place::line("").replace("t.dat", &format!("t{number}.dat"));
    let started: Vec<Child> = (0..PROCESSES).map(|number| place.start(&line(number))).collect();
    let ended = started.into_iter().map(|child| Said::of(child.wait_with_output().expect("it ends")));
    let mut ids: Vec<String> = ended.map(|said| said.done().id()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), PROCESSES);
    let mut kept = place.ids("");
    kept.sort();
    assert_eq!(kept, ids);
    assert_whole(&place.store());
}

#[test]
fn kills_lose_nothing_that_was_kept_and_damage_nothing() {
    let place = Place::new();
    place.run("--no-history --json run.json");
    let document = fs::read_to_string(place.path("run.json")).expect("written");
    let kills = std::env::var("KILLS").map_or(KILLS, |text| text.parse().expect("KILLS is a number"));
    // Each time two documents of their own: the name of the target decides.
    let next = |place: &Place, number: u32| {
        for name in ["a", "b"] {
            place.write(name, document.replace("t.dat", &format!("t{number}-{name}.dat")));
        }
    };
    let (mut moments, since) = (Moments::new(), Instant::now());
    let (mut made, mut told, mut kept) = (0, 0, 0);
    for number in 0..kills {
        if since.elapsed() > ENOUGH && told > 0 && told < made {
            break;
        }
        made += 1;
        next(&place, number);
        let mut child = place.start(IMPORT);
        std::thread::sleep(moments.next());
        child.kill().expect("it can be killed");
        let mut said = String::new();
        child.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
        child.wait().expect("it ends");
        let is_told = said.starts_with("2 results imported");
        told += u32::from(is_told);
        moments.learn(is_told);
        let found = if place.store().exists() { place.ids(&format!("--target t{number}-")).len() } else { 0 };
        kept += found;
        assert!(found == 2 || (!is_told && found == 0), "{number}: told {is_told}, found {found}");
    }
    println!(
        "{made} kills of imports that take {} ms: {told} had told that their two results are imported, of {} both are kept, of none \
         only one",
        moments.takes.as_millis(),
        kept / 2
    );
    // Otherwise all came too early, or too late, and show nothing.
    assert!(told > 0 && told < made, "{told} of {made} were told");
    // The last one of all is not killed.
    place.out("history import run.json");
    assert_whole(&place.store());
    assert_eq!(place.ids("--limit 0").len(), kept + 1);
    for id in place.ids("--limit 3") {
        place.out(&format!("history show {id}"));
    }
}
