//! What rank 0 decides from what all ranks say: who stands where, whether anybody refuses, who makes a file
//! that several would make. Pure.

use std::collections::BTreeMap;

use super::message::{Checked, Hello, Left, RefusalNote, Standing};
use truespd_core::load::ranks::Place;
use truespd_platform::fault::{Refusal, RefusalKind};
use truespd_platform::text::{printable, shell_word};

/// Refusals of other ranks that are told one by one.
const REFUSALS_TOLD: usize = 8;

/// The names of some ranks in a sentence: `host b`, `hosts b and c`.
pub fn hosts_in_words(hellos: &BTreeMap<u32, Hello>, ranks: &[u32]) -> String {
    let mut names: Vec<String> = Vec::new();
    for rank in ranks {
        let host = hellos.get(rank).map_or("", |hello| hello.host.as_str());
        let is_alone = hellos.values().filter(|hello| hello.host == host).count() <= 1;
        names.push(match host {
            "" => format!("rank {rank}"),
            _ if is_alone => format!("host {}", printable(host)),
            _ => format!("host {} (rank {rank})", printable(host)),
        });
    }
    names.dedup();
    let told = names.len().min(REFUSALS_TOLD);
    let more = names.len() - told;
    match (more, &names[..told]) {
        (0, [one]) => one.clone(),
        (0, [first @ .., last]) => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {more} more", names[..told].join(", ")),
    }
}

/// The ranks of each host, which is told from others by its name and its boot.
pub fn by_host(hellos: &BTreeMap<u32, Hello>) -> BTreeMap<(&str, &str), Vec<u32>> {
    let mut hosts: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
    for (rank, hello) in hellos {
        hosts.entry((&hello.host, &hello.boot)).or_default().push(*rank);
    }
    hosts
}

/// Where each rank stands.
///
/// # Errors
/// The ranks do not fit together.
pub fn standings(
    hellos: &BTreeMap<u32, Hello>,
    ranks_per_host: Option<u32>,
) -> Result<BTreeMap<u32, Standing>, Vec<Refusal>> {
    let mut refusals = Vec::new();
    refusals.extend(other_versions(hellos));
    if refusals.is_empty() {
        refusals.extend(other_words(hellos));
    }
    let hosts = by_host(hellos);
    if let Some(wanted) = ranks_per_host {
        let other = hosts.iter().find(|(_, ranks)| ranks.len() != wanted as usize);
        refusals.extend(other.map(|((host, _), ranks)| {
            let has = if ranks.len() == 1 { "1 rank".to_string() } else { format!("{} ranks", ranks.len()) };
            let message = format!("host {} has {has}, not {wanted} (--ranks-per-host)", printable(host));
            Refusal::command_line(message).hint(
                "mpirun places them: --map-by ppr:N:node with Open MPI, -ppn N with MPICH; srun: \
                    --ntasks-per-node N",
            )
        }));
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut standings = BTreeMap::new();
    for ranks in hosts.values() {
        for (local, rank) in ranks.iter().enumerate() {
            let others = ranks.iter().filter(|other| *other != rank);
            let standing = Standing {
                local: u32::try_from(local).unwrap_or(u32::MAX),
                local_ranks: u32::try_from(ranks.len()).unwrap_or(u32::MAX),
                processors: own_processors(hellos, ranks, local),
                processes: others.map(|other| hellos[other].process).collect(),
            };
            standings.insert(*rank, standing);
        }
    }
    Ok(standings)
}

/// The part of the processors for one of several ranks that may all use the same ones: otherwise the first
/// thread of each would run on the first processor.
fn own_processors(hellos: &BTreeMap<u32, Hello>, ranks: &[u32], local: usize) -> Option<Vec<u32>> {
    let all = &hellos[&ranks[0]].processors;
    let is_same = ranks.iter().all(|rank| hellos[rank].processors == *all);
    if ranks.len() < 2 || all.is_empty() || !is_same {
        return None;
    }
    if all.len() < ranks.len() {
        return Some(vec![all[local % all.len()]]);
    }
    let (first, end) = (all.len() * local / ranks.len(), all.len() * (local + 1) / ranks.len());
    Some(all[first..end].to_vec())
}

fn other_versions(hellos: &BTreeMap<u32, Hello>) -> Option<Refusal> {
    let own = &hellos.get(&0)?.version;
    let others: Vec<u32> = hellos.iter().filter(|(_, h)| h.version != *own).map(|(rank, _)| *rank).collect();
    let (first, where_) = (others.first()?, hosts_in_words(hellos, &others));
    let theirs = printable(&hellos[first].version);
    let message =
        format!("the ranks run different versions of truespd: {own} on rank 0, {theirs} on {where_}");
    Some(Refusal::new(RefusalKind::Machine, message).hint("install the same version on every host"))
}

fn other_words(hellos: &BTreeMap<u32, Hello>) -> Option<Refusal> {
    let own = &hellos.get(&0)?.words;
    let (rank, hello) = hellos.iter().find(|(_, hello)| hello.words != *own)?;
    let at = (0..).find(|&at| own.get(at) != hello.words.get(at))?;
    let message = format!(
        "{} was started with another command line than rank 0: word {} is {} there, and {} on rank 0",
        hosts_in_words(hellos, &[*rank]),
        at + 1,
        shown_word(hello.words.get(at)),
        shown_word(own.get(at))
    );
    let hint = "give all ranks the same words; {host}, {rank}, {local} and {n} stand for what differs";
    Some(Refusal::command_line(message).hint(hint))
}

fn shown_word(word: Option<&String>) -> String {
    word.map_or("nothing".into(), |word| shell_word(word).to_string())
}

/// What comes of the checks of all ranks.
#[derive(Debug, Default)]
pub struct Decision {
    /// Why the run does not begin, but for what rank 0 itself refuses.
    pub refusals: Vec<Refusal>,
    /// For each rank the files of `-c` that another one makes.
    pub left: BTreeMap<u32, Vec<Left>>,
    /// Facts to know, a sentence each.
    pub notes: Vec<String>,
}

/// Decides. `is_sharing_meant`: several ranks of a host may have one and the same file (`--shared`, `--shard`).
pub fn decide(
    hellos: &BTreeMap<u32, Hello>,
    checked: &BTreeMap<u32, Checked>,
    is_sharing_meant: bool,
) -> Decision {
    let mut decision = Decision { refusals: refusals_of_others(hellos, checked), ..Decision::default() };
    decision.refusals.extend(other_profile(hellos, checked));
    let mut places: BTreeMap<Key, Vec<(u32, &Place)>> = BTreeMap::new();
    for (rank, checked) in checked {
        for place in &checked.places {
            places.entry(Key::of(&hellos[rank], place)).or_default().push((*rank, place));
        }
    }
    for users in places.values() {
        let (maker, by_maker) = users[0];
        let Some((other, _)) = users.iter().find(|(rank, _)| *rank != maker) else { continue };
        let (one, two) = (&hellos[&maker], &hellos[other]);
        if !is_sharing_meant && (&one.host, &one.boot) == (&two.host, &two.boot) {
            decision.refusals.push(not_meant(hellos, maker, *other, by_maker));
            continue;
        }
        let mut ranks: Vec<u32> = users.iter().map(|(rank, _)| *rank).collect();
        ranks.dedup();
        decision.notes.push(format!(
            "'{}' is one and the same on {}",
            printable(&by_maker.typed),
            hosts_in_words(hellos, &ranks)
        ));
        if by_maker.is_made {
            for (rank, place) in users.iter().filter(|(rank, place)| *rank != maker && place.is_made) {
                decision.left.entry(*rank).or_default().push(Left {
                    typed: place.typed.clone(),
                    maker,
                    typed_by_maker: by_maker.typed.clone(),
                });
            }
        }
    }
    decision
}

/// Refusals of other ranks, equal ones once, without those that rank 0 has as well.
fn refusals_of_others(hellos: &BTreeMap<u32, Hello>, checked: &BTreeMap<u32, Checked>) -> Vec<Refusal> {
    let own = checked.get(&0).map_or(&[][..], |checked| &checked.refusals);
    let mut groups: Vec<(&RefusalNote, Vec<u32>)> = Vec::new();
    for (rank, checked) in checked.iter().filter(|(rank, _)| **rank != 0) {
        for note in checked.refusals.iter().filter(|note| !own.contains(note)) {
            match groups.iter_mut().find(|(known, _)| *known == note) {
                Some((_, ranks)) => ranks.push(*rank),
                None => groups.push((note, vec![*rank])),
            }
        }
    }
    let more = groups.len().saturating_sub(REFUSALS_TOLD);
    let kind = groups.get(REFUSALS_TOLD).map(|(note, _)| note.kind);
    let told = groups.into_iter().take(REFUSALS_TOLD);
    let told = told.map(|(note, ranks)| note.clone().of(&hosts_in_words(hellos, &ranks)));
    let rest =
        kind.map(|kind| Refusal::new(kind, format!("{more} more refusals of other ranks are not shown")));
    told.chain(rest).collect()
}

fn other_profile(hellos: &BTreeMap<u32, Hello>, checked: &BTreeMap<u32, Checked>) -> Option<Refusal> {
    let own = checked.get(&0)?.profile.as_ref()?;
    let mut others: Vec<u32> = Vec::new();
    for (rank, checked) in checked {
        if checked.profile.as_ref().is_some_and(|hash| hash != own) {
            others.push(*rank);
        }
    }
    let theirs = checked[others.first()?].profile.clone().unwrap_or_default();
    let message = format!(
        "the profile of {} is another than that of rank 0 (hash {theirs} there, {own} here)",
        hosts_in_words(hellos, &others)
    );
    let hint = "only paths and seeds may differ between ranks; copy the file of -X to every host";
    Some(Refusal::new(RefusalKind::Input, message).hint(hint))
}

fn not_meant(hellos: &BTreeMap<u32, Hello>, one: u32, other: u32, place: &Place) -> Refusal {
    let message = format!(
        "ranks {one} and {other} on host {} would both test '{}'",
        printable(&hellos[&one].host),
        printable(&place.typed)
    );
    Refusal::command_line(message)
        .hint("give each rank a file of its own: put {rank} or {local} into its name")
        .hint("or say that it is meant: --shard (each rank tests a stretch of its own) or --shared (each tests all \
            of it)")
}

/// Two ranks with equal keys have one and the same file or device.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// On one machine, by the numbers that its kernel gives.
    Here { boot: String, device: u64, inode: u64, name: Option<String> },
    /// On a file server: what is mounted, and the number that the server gives.
    Served { filesystem: String, inode: u64, name: Option<String> },
    /// A disk that several hosts have.
    Disk(String),
    /// Nothing is known but its path on that host.
    Path { host: String, boot: String, path: String },
}

impl Key {
    fn of(hello: &Hello, place: &Place) -> Self {
        if let Some(disk) = &place.disk {
            return Key::Disk(disk.clone());
        }
        let (identity, name) = match (place.identity, place.folder) {
            (Some(identity), _) => (identity, None),
            (None, Some(folder)) => (folder, place.path.rsplit('/').next().map(str::to_string)),
            (None, None) => {
                let (host, boot) = (hello.host.clone(), hello.boot.clone());
                return Key::Path { host, boot, path: place.path.clone() };
            }
        };
        match &place.remote {
            Some(filesystem) => Key::Served { filesystem: filesystem.clone(), inode: identity.inode(), name },
            None => Key::Here {
                boot: hello.boot.clone(),
                device: identity.device(),
                inode: identity.inode(),
                name,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_platform::sys::identity::Identity;

    fn hello(host: &str, boot: &str) -> Hello {
        Hello {
            host: host.into(),
            boot: boot.into(),
            version: "1".into(),
            processors: vec![0, 1, 2, 3, 4],
            ..Hello::default()
        }
    }

    /// Ranks 0 and 1 on host a, 2 on b, which is the same machine, 3 on c.
    fn hellos() -> BTreeMap<u32, Hello> {
        [hello("a", "1"), hello("a", "1"), hello("b", "1"), hello("c", "2")]
            .into_iter()
            .enumerate()
            .map(|(n, h)| (n as u32, h))
            .collect()
    }

    fn place(typed: &str) -> Place {
        Place {
            typed: typed.into(),
            path: format!("/d/{typed}"),
            identity: None,
            folder: Some(Identity::from((1, 2))),
            disk: None,
            remote: None,
            is_made: true,
            is_written: true,
        }
    }

    fn decided(places: [Place; 4], is_meant: bool) -> Decision {
        let checked =
            |place: Place| Checked { refusals: Vec::new(), places: vec![place], profile: Some("p".into()) };
        let checked =
            places.into_iter().enumerate().map(|(rank, place)| (rank as u32, checked(place))).collect();
        decide(&hellos(), &checked, is_meant)
    }

    fn makers(decision: &Decision) -> Vec<(u32, u32)> {
        decision.left.iter().flat_map(|(rank, left)| left.iter().map(|left| (*rank, left.maker))).collect()
    }

    #[test]
    fn each_rank_knows_its_place_on_its_host() {
        let standings = standings(&hellos(), None).expect("they fit");
        let of = |rank: u32| (standings[&rank].local, standings[&rank].local_ranks);
        assert_eq!([0, 1, 2, 3].map(of), [(0, 2), (1, 2), (0, 1), (0, 1)]);
        assert_eq!(standings[&0].processors, Some(vec![0, 1]));
        assert_eq!(standings[&1].processors, Some(vec![2, 3, 4]), "all processors have a rank");
        assert_eq!(standings[&2].processors, None, "it is alone there");
    }

    #[test]
    fn a_file_of_two_ranks_of_a_host_must_be_meant() {
        let same = || [place("f"), place("f"), place("g"), place("h")];
        let refused = decided(same(), false);
        assert!(
            refused.refusals[0].message.contains("ranks 0 and 1 on host a would both test 'f'"),
            "{refused:?}"
        );
        let meant = decided(same(), true);
        assert!(meant.refusals.is_empty());
        assert_eq!(makers(&meant), [(1, 0)]);
    }

    #[test]
    fn hosts_of_one_machine_share_what_the_kernel_says_is_one() {
        let decision = decided([place("e"), place("g"), place("f"), place("f")], false);
        assert_eq!(makers(&decision), [], "c is another machine");
        let decision = decided([place("f"), place("g"), place("f"), place("f")], false);
        assert_eq!(makers(&decision), [(2, 0)]);
        assert!(
            decision.notes[0].contains("'f' is one and the same on host a (rank 0) and host b"),
            "{decision:?}"
        );
    }

    #[test]
    fn hosts_share_files_of_a_server_and_disks_of_a_storage_network() {
        let served = |typed: &str| Place {
            remote: Some("nas:/x".into()),
            identity: Some(Identity::from((typed.len() as u64, 7))),
            ..place(typed)
        };
        let other = |typed: &str| Place { remote: Some("nas:/y".into()), ..served(typed) };
        // Each host numbers its mounts itself, and may mount it elsewhere.
        let decision = decided([served("f"), other("ff"), place("x"), served("mnt/f")], false);
        assert_eq!(makers(&decision), [(3, 0)]);
        let disk =
            |typed: &str| Place { disk: Some("naa.1 4096 0 ab".into()), is_made: false, ..place(typed) };
        let decision = decided([disk("/dev/sda"), place("x"), place("y"), disk("/dev/sdb")], false);
        assert!(decision.notes[0].contains("'/dev/sda' is one and the same on"), "{decision:?}");
        assert_eq!(makers(&decision), [], "nobody makes a disk");
    }

    #[test]
    fn equal_refusals_of_many_are_told_once_and_few_at_all() {
        let note = |message: String| RefusalNote {
            kind: RefusalKind::Guard,
            message,
            reasons: vec![],
            legal: vec![],
            hints: vec![],
        };
        let hellos: BTreeMap<u32, Hello> =
            (0..100).map(|rank| (rank, hello(&format!("h{rank}"), "1"))).collect();
        let checked = |message: &dyn Fn(u32) -> String| {
            let of = |rank| Checked { refusals: vec![note(message(rank))], places: vec![], profile: None };
            (0..100).map(|rank| (rank, of(rank))).collect::<BTreeMap<_, _>>()
        };
        let same = decide(&hellos, &checked(&|_| "no".into()), false);
        assert!(same.refusals.is_empty(), "rank 0 says it itself");
        let same =
            decide(&hellos, &checked(&|rank| if rank == 0 { "mine".into() } else { "no".into() }), false);
        assert_eq!(same.refusals.len(), 1);
        assert!(same.refusals[0].message.contains("and 91 more: no"), "{}", same.refusals[0]);
        let each = decide(&hellos, &checked(&|rank| format!("no {rank}")), false);
        assert_eq!(each.refusals.len(), REFUSALS_TOLD + 1);
        assert_eq!(each.refusals[REFUSALS_TOLD].kind, RefusalKind::Guard);
    }
}
