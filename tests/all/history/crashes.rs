//! Many processes at once, and processes that are killed.

use std::fs;
use std::io::Read;
use std::process::Child;
use std::time::Duration;

use super::tools::{Place, Said, assert_whole};

const PROCESSES: usize = 20;
/// Kills that are made; the variable KILLS sets another number.
const KILLS: u32 = 100;
/// A process has at most this time before it is killed, more than an import takes.
const STEPS: u32 = 100;

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
    let mut told = 0;
    for number in 0..kills {
        // Each a document of its own: the name of the target decides.
        place.write("next.json", document.replace("t.dat", &format!("t{number}.dat")));
        let mut child = place.start("history import next.json");
        std::thread::sleep(Duration::from_micros(u64::from(number % STEPS) * 400));
        child.kill().expect("it can be killed");
        let mut said = String::new();
        child.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
        child.wait().expect("it ends");
        let is_told = said.starts_with("1 result imported");
        told += u32::from(is_told);
        let found = match place.store().exists() {
            true => place.ids(&format!("--target t{number}.dat")).len(),
            false => 0,
        };
        assert!(found == 1 || (!is_told && found == 0), "{number}: told {is_told}, found {found}");
    }
    // The last one of all is not killed.
    place.out("history import run.json");
    assert_whole(&place.store());
    let kept = place.ids("").len();
    println!("{kills} kills: {told} imports were told before their kill, {} are kept", kept - 1);
    assert!(kept > told as usize, "{told} were told, {kept} are kept");
    for id in place.ids("--limit 3") {
        place.out(&format!("history show {id}"));
    }
}
