use super::*;
use crate::made;
use std::time::{Duration, Instant};
use truespd_platform::machine::drive::{WRITE_BACK, WRITE_THROUGH};
use truespd_platform::machine::thing::Thing;
use truespd_platform::sys::directory::Directory;
use truespd_platform::sys::system::user;

const CACHE_TYPE: &str = "sys/block/sda/device/scsi_disk/0:0:0:0/cache_type";
const QUEUE: &str = "sys/block/sda/queue/write_cache";

/// A user's journals, and a kernel with a SCSI disk.
struct Lab {
    dir: tempfile::TempDir,
    undo: PathBuf,
}

const TOKEN: &str = "a token";

/// Not made yet.
fn planned(path: &Path, files: &[&str]) -> Undo {
    let files = files.iter().map(ToString::to_string).collect();
    Undo::Folder { path: path.to_path_buf(), made: MadeFolder { thing: None, token: TOKEN.into(), files } }
}

impl Lab {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let lab = Lab { undo: dir.path().join("undo"), dir };
        lab.put("proc/sys/kernel/random/boot_id", "first\n");
        lab.plug("sda", "naa.5000c500a1b2c3d4", 1);
        lab
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn plug(&self, name: &str, id: &str, sequence: u64) {
        for (file, text) in [
            ("dev", "8:0"),
            ("size", "2048"),
            ("diskseq", sequence.to_string().as_str()),
            ("device/wwid", id),
            ("device/scsi_disk/0:0:0:0/cache_type", WRITE_BACK),
            ("queue/write_cache", WRITE_BACK),
        ] {
            self.put(&format!("sys/block/{name}/{file}"), &format!("{text}\n"));
        }
    }

    fn boot_again(&self) {
        self.put("proc/sys/kernel/random/boot_id", "second\n");
        fs::remove_dir_all(self.at("sys")).unwrap();
    }

    fn roots(&self) -> Roots {
        Roots { sys: self.at("sys"), proc: self.at("proc"), dev: self.at("dev") }
    }

    fn begin(&self) -> Journal {
        Journal::begin(&self.undo, self.roots()).unwrap()
    }

    fn sweep(&self) -> Vec<Undone> {
        sweep(&self.undo, &self.roots())
    }

    fn journals(&self) -> usize {
        fs::read_dir(&self.undo).unwrap().count()
    }

    /// Made as a suite makes it.
    fn folder(&self, name: &str, files: &[&str]) -> Undo {
        let path = self.at(name);
        file::make_private_directory(&path).unwrap();
        let folder = Directory::open(&path).unwrap();
        put_token(&folder, TOKEN).unwrap();
        let thing = Some(Thing::of(folder.as_file(), &self.roots()).unwrap());
        let files = files.iter().map(ToString::to_string).collect();
        Undo::Folder { path, made: MadeFolder { thing, token: TOKEN.into(), files } }
    }

    /// Switched off, and noted.
    fn switched(&self, path: &str, journal: &mut Journal) -> Undo {
        let undo = Undo::Setting {
            path: self.at(path),
            before: WRITE_BACK.into(),
            during: WRITE_THROUGH.into(),
            disk: Disk::named("sda", &self.roots()).unwrap(),
        };
        journal.add(undo.clone()).unwrap();
        self.put(path, "write through\n");
        undo
    }

    fn says(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap().trim().to_string()
    }
}

#[test]
fn everything_is_undone_and_the_journal_goes() {
    let lab = Lab::new();
    let made = lab.at("truespd-made");
    let mut journal = lab.begin();
    journal.add(planned(&made, &[])).unwrap();
    journal.add(lab.folder("truespd-made", &["a", "never-made"])).unwrap();
    fs::write(made.join("a"), "x").unwrap();
    lab.switched(CACHE_TYPE, &mut journal);
    lab.switched(QUEUE, &mut journal);
    let undone = journal.undo();
    assert!(undone.iter().all(|one| one.fate == Fate::Undone), "{undone:?}");
    assert_eq!(undone.len(), 3, "the folder is told of once");
    assert!(!made.exists());
    assert_eq!(fs::read_to_string(lab.at(CACHE_TYPE)).unwrap(), "write back\n", "with a line end");
    assert_eq!(lab.says(QUEUE), WRITE_BACK);
    assert_eq!(lab.journals(), 0);
}

#[test]
fn what_somebody_else_did_stays() {
    let lab = Lab::new();
    let made = lab.at("truespd-made");
    let mut journal = lab.begin();
    journal.add(lab.folder("truespd-made", &["a"])).unwrap();
    fs::write(made.join("theirs"), "data").unwrap();
    lab.switched(QUEUE, &mut journal);
    lab.put(QUEUE, "third\n");
    let undone = journal.undo();
    assert!(undone.iter().all(|one| one.fate != Fate::Undone), "{undone:?}");
    assert!(undone[0].words.contains("somebody else set it to 'third'"), "{undone:?}");
    assert_eq!(lab.journals(), 0, "nobody would be told of it for ever");
    assert_eq!(fs::read_to_string(made.join("theirs")).unwrap(), "data");
    assert_eq!(lab.says(QUEUE), "third");

    // A folder of the same name that is not ours.
    let other = lab.at("truespd-other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("a"), "data").unwrap();
    let Undo::Folder { made, .. } = lab.folder("truespd-ours", &["a"]) else { unreachable!() };
    let undo = Undo::Folder { path: other.clone(), made: made.clone() };
    assert!(outcome(&undo, true, &lab.roots(), Action::Undo).unwrap().fate != Fate::Undone);
    // Nor one that has the name and all numbers of ours, as a file system may give them again.
    let thing = Some(Thing::of(Directory::open(&other).unwrap().as_file(), &lab.roots()).unwrap());
    let undo = Undo::Folder { path: other.clone(), made: MadeFolder { thing, ..made } };
    for token in ["", "another token"] {
        fs::write(other.join(TOKEN_NAME), token).unwrap();
        assert!(outcome(&undo, true, &lab.roots(), Action::Undo).unwrap().fate != Fate::Undone);
        assert!(other.join("a").exists() && other.join(TOKEN_NAME).exists());
    }
}

#[test]
fn nothing_is_touched_that_this_program_never_makes() {
    let lab = Lab::new();
    let folder = lab.folder("documents", &["thesis"]);
    let path = folder.path().to_path_buf();
    fs::write(path.join("thesis"), "data").unwrap();
    let words = outcome(&folder, true, &lab.roots(), Action::Undo).unwrap().words;
    assert!(
        words.contains("TrueSpd makes no folder of this name") && path.join("thesis").exists(),
        "{words}"
    );
    let disk = Disk::named("sda", &lab.roots()).unwrap();
    lab.put("etc/cache_type", WRITE_THROUGH);
    lab.put("sys/block/sda/queue/scheduler", WRITE_THROUGH);
    for name in ["etc/cache_type", "sys/block/../../etc/cache_type", "sys/block/sda/queue/scheduler"] {
        let (before, during) = (WRITE_BACK.to_string(), WRITE_THROUGH.to_string());
        let undo = Undo::Setting { path: lab.at(name), before, during, disk: disk.clone() };
        let undone = outcome(&undo, true, &lab.roots(), Action::Undo).unwrap();
        assert!(
            undone.fate != Fate::Undone && undone.words.contains("TrueSpd does not change this setting"),
            "{undone:?}"
        );
        assert_eq!(lab.says(name), WRITE_THROUGH, "{name}");
    }
}

#[test]
fn only_abandoned_journals_are_swept() {
    let lab = Lab::new();
    let mut journal = lab.begin();
    journal.add(lab.folder("truespd-made", &[])).unwrap();
    assert_eq!(lab.sweep(), vec![], "its owner lives");
    assert!(lab.at("truespd-made").exists());
    // A write that was torn by the kill.
    fs::OpenOptions::new().append(true).open(journal.path()).unwrap().write_all(b"{\"fol").unwrap();
    drop(journal);
    assert_eq!(lab.sweep().len(), 1);
    assert!(!lab.at("truespd-made").exists());
    assert_eq!(lab.sweep(), vec![]);
    assert_eq!(sweep(&lab.at("none"), &lab.roots()), vec![]);
}

#[test]
fn the_caretaker_waits_for_the_end_of_the_owner() {
    let lab = Lab::new();
    let mut journal = lab.begin();
    journal.add(lab.folder("truespd-made", &[])).unwrap();
    let path = journal.path().to_path_buf();
    let caretaker = std::thread::spawn(move || undo_abandoned(&path));
    assert!(lab.at("truespd-made").exists());
    drop(journal);
    assert_eq!(caretaker.join().unwrap().len(), 1);
    assert!(!lab.at("truespd-made").exists());
}

#[test]
fn a_journal_begins_while_others_sweep() {
    let lab = Lab::new();
    let _kept = lab.begin();
    let end = Instant::now() + Duration::from_millis(500);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while Instant::now() < end {
                    lab.sweep();
                }
            });
        }
        while Instant::now() < end {
            let journal = lab.begin();
            assert!(journal.path().exists(), "nobody would find it");
            journal.undo();
        }
    });
}

#[test]
fn only_this_users_journals_count() {
    let lab = Lab::new();
    let mut journal = lab.begin();
    journal.add(lab.folder("truespd-made", &[])).unwrap();
    let path = journal.path().to_path_buf();
    drop(journal);
    let mode = |path: &Path, mode| made::set_mode(path, mode).unwrap();
    mode(&path, 0o666);
    assert_eq!(lab.sweep(), vec![], "anybody may have written it");
    mode(&path, 0o600);
    mode(&lab.undo, 0o777);
    let told = lab.sweep();
    assert!(told.len() == 1 && told[0].words.contains("other users may write to the folder"), "{told:?}");
    assert_eq!(undo_abandoned(&path), vec![], "nor the caretaker");
    if user() == 0 {
        mode(&lab.undo, 0o700);
        made::give_to(&lab.undo, 1).unwrap();
        let told = lab.sweep();
        assert!(told.len() == 1 && told[0].words.contains("belongs to another user"), "{told:?}");
        let refused = Journal::begin(&lab.undo, lab.roots()).unwrap_err().to_string();
        assert!(refused.contains("set XDG_STATE_HOME"), "{refused}");
        made::give_to(&lab.undo, 0).unwrap();
        made::give_to(&path, 1).unwrap();
        assert_eq!(lab.sweep(), vec![], "somebody else's");
        made::give_to(&path, 0).unwrap();
    }
    assert!(lab.at("truespd-made").exists());
    // This user's own folder is put right.
    mode(&lab.undo, 0o775);
    drop(lab.begin());
    assert_eq!(lab.sweep().len(), 1);
    assert!(!lab.at("truespd-made").exists());
}

#[test]
fn a_setting_belongs_to_one_series_at_a_time() {
    let lab = Lab::new();
    let (mut first, mut second) = (lab.begin(), lab.begin());
    assert_eq!(first.claim(&lab.at(QUEUE)), Ok(vec![]));
    assert!(second.claim(&lab.at(QUEUE)).unwrap_err().to_string().contains("another series"));
    assert_eq!(second.claim(&lab.at(CACHE_TYPE)), Ok(vec![]), "another one");
    lab.switched(QUEUE, &mut first);
    // Killed, and its caretaker is at it: only the journal tells.
    first.claims.clear();
    assert!(second.claim(&lab.at(QUEUE)).unwrap_err().to_string().contains("another series"));
    // Killed with its caretaker: set back before anybody reads what it was.
    drop(first);
    assert_eq!(second.claim(&lab.at(QUEUE)).unwrap().len(), 1);
    assert_eq!(lab.says(QUEUE), WRITE_BACK);
}

/// As a process has it that another thread is just starting.
#[test]
fn a_copy_of_its_descriptor_does_not_keep_a_journal_or_a_setting() {
    let lab = Lab::new();
    let (mut first, mut second) = (lab.begin(), lab.begin());
    assert_eq!(first.claim(&lab.at(QUEUE)), Ok(vec![]));
    lab.switched(QUEUE, &mut first);
    let copies = [&first.file, &first.claims[0]].map(|locked| locked.0.try_clone().unwrap());
    drop(first);
    assert_eq!(second.claim(&lab.at(QUEUE)).unwrap().len(), 1);
    assert_eq!(lab.says(QUEUE), WRITE_BACK);
    drop(copies);
}

#[test]
fn the_kernels_settings_end_with_the_boot_and_the_disk() {
    let lab = Lab::new();
    lab.switched(QUEUE, &mut lab.begin());
    lab.boot_again();
    lab.plug("sda", "naa.5000c500a1b2c3d4", 1);
    lab.put(QUEUE, "write through\n");
    assert_eq!(lab.sweep(), vec![]);
    assert_eq!((lab.says(QUEUE).as_str(), lab.journals()), (WRITE_THROUGH, 0), "set by somebody since");
    // Another disk was plugged in and has the name.
    lab.switched(QUEUE, &mut lab.begin());
    lab.put("sys/block/sda/diskseq", "2\n");
    assert_eq!(lab.sweep(), vec![]);
    assert_eq!((lab.says(QUEUE).as_str(), lab.journals()), (WRITE_THROUGH, 0));
}

#[test]
fn a_disks_own_setting_is_set_back_on_that_disk_only() {
    let lab = Lab::new();
    lab.switched(CACHE_TYPE, &mut lab.begin());
    lab.boot_again();
    // The names have changed places.
    lab.plug("sda", "naa.5000c500ffffffff", 1);
    lab.plug("sdb", "naa.5000c500a1b2c3d4", 2);
    let of_b = CACHE_TYPE.replace("sda", "sdb");
    lab.put(CACHE_TYPE, "write through\n");
    lab.put(&of_b, "write through\n");
    let undone = lab.sweep();
    assert!(
        undone.len() == 1 && undone[0].fate == Fate::Undone && undone[0].words.contains("sdb"),
        "{undone:?}"
    );
    assert_eq!((lab.says(CACHE_TYPE).as_str(), lab.says(&of_b).as_str()), (WRITE_THROUGH, WRITE_BACK));
    // It is gone, or there is nothing to know it by.
    for id in ["naa.5000c500ffffffff", "naa.0000000000000000"] {
        let lab = Lab::new();
        if id.ends_with("0000") {
            lab.plug("sda", id, 1);
        }
        lab.switched(CACHE_TYPE, &mut lab.begin());
        lab.boot_again();
        lab.plug("sda", id, 1);
        lab.put(CACHE_TYPE, "write through\n");
        let undone = lab.sweep();
        assert!(undone[0].words.contains("its write cache was 'write back'"), "{undone:?}");
        assert_eq!((lab.says(CACHE_TYPE).as_str(), lab.journals()), (WRITE_THROUGH, 0), "{id}");
    }
}

#[test]
fn a_setting_that_does_not_take_is_told() {
    let lab = Lab::new();
    let mut journal = lab.begin();
    lab.switched(QUEUE, &mut journal);
    let Err(Undone { words, fate: Fate::Stuck }) =
        settle::set_back(&lab.at(QUEUE), WRITE_BACK, |_, _| Ok(()))
    else {
        panic!("it still says write through");
    };
    assert!(words.contains("it is still 'write through'"), "{words}");
}

#[test]
fn after_a_boot_the_number_of_a_file_system_counts_no_more() {
    let lab = Lab::new();
    let mut journal = lab.begin();
    let mut made = serde_json::to_value(lab.folder("truespd-made", &["data"])).unwrap();
    let device = &mut made["folder"]["thing"]["identity"][0];
    *device = (device.as_u64().unwrap() + 1).into();
    let moved: Undo = serde_json::from_value(made).unwrap();
    let path = moved.path().to_path_buf();
    fs::write(path.join("data"), "x").unwrap();
    assert!(
        outcome(&moved, true, &lab.roots(), Action::Undo).unwrap().fate != Fate::Undone,
        "in the same boot it does"
    );
    journal.add(moved.clone()).unwrap();
    drop(journal);
    lab.put("proc/sys/kernel/random/boot_id", "second\n");
    assert_eq!(lab.sweep().len(), 1);
    assert!(!path.exists());
}

#[test]
fn only_what_was_made_is_remembered() {
    let lab = Lab::new();
    let never = lab.at("truespd-never");
    let mut journal = lab.begin();
    journal.add(planned(&never, &["a"])).unwrap();
    journal.withdraw(&never).unwrap();
    drop(journal);
    // Somebody else made a folder of that name since.
    fs::create_dir(&never).unwrap();
    assert_eq!(lab.sweep(), vec![]);
    assert!(never.exists());
    assert_eq!(lab.journals(), 0);
}

/// A folder that cannot be removed: something stands where a file is to be removed.
fn stuck(lab: &Lab, name: &str, journal: &mut Journal) -> PathBuf {
    let path = lab.at(name);
    journal.add(planned(&path, &["data"])).unwrap();
    journal.add(lab.folder(name, &["data"])).unwrap();
    fs::create_dir(path.join("data")).unwrap();
    path
}

#[test]
fn each_leftover_is_told_once() {
    let lab = Lab::new();
    let mut journal = lab.begin();
    let stays = stuck(&lab, "truespd-stuck", &mut journal);
    let Undo::Folder { path: theirs, .. } = lab.folder("truespd-theirs", &[]) else { unreachable!() };
    fs::write(theirs.join("data"), "x").unwrap();
    journal.add(planned(&theirs, &[])).unwrap();
    drop(journal);
    let first = lab.sweep();
    assert_eq!(first.len(), 2, "{first:?}");
    assert!(first.iter().any(|one| one.fate == Fate::Stuck), "{first:?}");
    // What is settled is not told again with what is not.
    let again = lab.sweep();
    assert_eq!(again.len(), 1, "{again:?}");
    assert!(again[0].words.contains("truespd-stuck"), "{again:?}");
    fs::remove_dir(stays.join("data")).unwrap();
    assert!(lab.sweep()[0].fate == Fate::Undone);
    assert_eq!((lab.journals(), stays.exists(), theirs.exists()), (0, false, true));
}

#[test]
fn what_is_left_is_shown_before_it_is_settled() {
    let lab = Lab::new();
    let running = lab.begin();
    let mut journal = lab.begin();
    let folder = lab.folder("truespd-ours", &["a"]);
    let Undo::Folder { path: ours, made } = folder.clone() else { unreachable!() };
    fs::write(ours.join("a"), "x").unwrap();
    journal.add(folder).unwrap();
    journal.add(Undo::Folder { path: lab.at("truespd-gone"), made: made.clone() }).unwrap();
    let theirs = lab.at("truespd-theirs");
    fs::create_dir(&theirs).unwrap();
    journal.add(Undo::Folder { path: theirs.clone(), made }).unwrap();
    lab.switched(QUEUE, &mut journal);
    stuck(&lab, "truespd-stuck", &mut journal);
    drop(journal);
    let find = || Abandoned::find(&lab.undo, &lab.roots()).unwrap();
    let found = find();
    let fate = |name: &str| {
        let mut all = found.list().into_iter().filter(|one| one.words.contains(name));
        let first = all.next().map(|one| one.fate);
        assert!(all.next().is_none(), "{name} is told once");
        first
    };
    assert_eq!(fate("truespd-ours"), Some(Fate::Undone));
    assert_eq!(fate("write_cache"), Some(Fate::Undone));
    assert_eq!(fate("truespd-theirs"), Some(Fate::Forgotten));
    assert_eq!(fate("truespd-gone"), None);
    assert_eq!(found.others(), 1, "one series runs");
    assert!(ours.exists() && lab.says(QUEUE) == WRITE_THROUGH, "nothing was changed");
    let undone = found.settle(false);
    assert_eq!(undone.iter().filter(|one| one.fate == Fate::Stuck).count(), 1, "{undone:?}");
    assert!(!ours.exists() && theirs.exists() && lab.says(QUEUE) == WRITE_BACK);
    assert_eq!(find().list().len(), 1, "the stuck one");
    find().settle(true);
    assert_eq!((find().list().len(), lab.journals()), (0, 1), "forgotten; the running one stays");
    drop(running);
}
