//! Drives that answer from pages as the specifications lay them out.

use std::cell::RefCell;
use std::fs;

use super::*;
use crate::sys::made::symlink;

/// A drive with these pages, and what it was asked.
struct Recorded {
    pages: Vec<(Question, Vec<u8>)>,
    asked: RefCell<Vec<Question>>,
}

impl Recorded {
    fn new(pages: Vec<(Question, Vec<u8>)>) -> Self {
        Recorded { pages, asked: RefCell::default() }
    }

    fn state(&self, interface: Interface) -> Result<DriveState, DriveUntold> {
        state(interface, 4096, &|question| {
            self.asked.borrow_mut().push(question);
            let known = self.pages.iter().find(|(of, _)| *of == question);
            known.map(|(_, page)| page.clone()).ok_or(Unanswered::Refused)
        })
    }
}

/// A page of zeros with these bytes in it.
fn page(bytes: usize, fields: &[(usize, &[u8])]) -> Vec<u8> {
    let mut page = vec![0; bytes];
    for (at, field) in fields {
        page[*at..at + field.len()].copy_from_slice(field);
    }
    page
}

const SMART: Question = Question::NvmeLog { page: 2, uuid_index: 0, bytes: 512 };
const CONTROLLER: Question = Question::NvmeIdentify(1);
const GUID: [u8; 16] =
    [0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf];

fn ocp(uuid_index: u8) -> Question {
    Question::NvmeLog { page: 0xc0, uuid_index, bytes: 512 }
}

fn smart() -> Vec<u8> {
    page(
        512,
        &[
            (0, &[0b1_0110]),
            (1, &(273u16 + 54).to_le_bytes()),
            (3, &[97, 10, 4]),
            (32, &7u64.to_le_bytes()),
            (48, &1_000_000u64.to_le_bytes()),
            (144, &3u64.to_le_bytes()),
            (160, &2u64.to_le_bytes()),
            (176, &40u64.to_le_bytes()),
            (192, &5u32.to_le_bytes()),
            (196, &1u32.to_le_bytes()),
            (216, &6u32.to_le_bytes()),
            (220, &7u32.to_le_bytes()),
            (224, &80u32.to_le_bytes()),
            (228, &90u32.to_le_bytes()),
        ],
    )
}

/// Version 1.4 without a list of UUIDs; with limits of temperature, and one that the host sets.
fn controller() -> Vec<u8> {
    page(
        4096,
        &[(80, &[0, 4, 1, 0]), (266, &343u16.to_le_bytes()), (268, &353u16.to_le_bytes()), (322, &[1])],
    )
}

fn ocp_log() -> Vec<u8> {
    let media: &[u8] = &600_000_000_000u64.to_le_bytes();
    page(512, &[(0, media), (96, &[9, 2]), (104, &11u64.to_le_bytes()), (496, &GUID)])
}

#[test]
fn nvme_health_is_read_from_its_places() {
    let drive = Recorded::new(vec![(SMART, smart()), (CONTROLLER, controller())]);
    let expected = DriveState {
        temperature_c: Some(54),
        warm_from_c: Some(70),
        critical_from_c: Some(80),
        read_bytes: Some(3_584_000),
        written_bytes: Some(512_000_000_000),
        throttled_light_s: Some(80),
        throttled_heavy_s: Some(90),
        throttled_light_times: Some(6),
        throttled_heavy_times: Some(7),
        warm_minutes: Some(5),
        critical_minutes: Some(1),
        media_errors: Some(2),
        error_log_entries: Some(40),
        unsafe_shutdowns: Some(3),
        spare_percent: Some(97),
        spare_percent_min: Some(10),
        used_percent: Some(4),
        warnings: vec![DriveWarning::Temperature, DriveWarning::Unreliable, DriveWarning::BackupFailed],
        ..DriveState::default()
    };
    assert_eq!(drive.state(Interface::Nvme), Ok(expected));
    // A drive that does not list OCP's page is not asked for it: that would be an error in its log.
    assert_eq!(*drive.asked.borrow(), [SMART, CONTROLLER]);
}

#[test]
fn what_an_nvme_drive_cannot_count_is_not_zero() {
    let drive = Recorded::new(vec![(SMART, smart()), (CONTROLLER, page(4096, &[]))]);
    let found = drive.state(Interface::Nvme).unwrap();
    assert_eq!(
        (found.throttled_light_s, found.throttled_heavy_times, found.warm_minutes),
        (None, None, None)
    );
    assert_eq!((found.warm_from_c, found.temperature_c), (None, Some(54)));
    // The same where Identify is refused.
    assert_eq!(Recorded::new(vec![(SMART, smart())]).state(Interface::Nvme).unwrap(), found);
}

#[test]
fn unknown_and_cut_values_are_absent() {
    let unknown = Recorded::new(vec![(SMART, vec![0xff; 512]), (CONTROLLER, vec![0xff; 4096])]);
    assert_eq!(unknown.state(Interface::Nvme), Err(DriveUntold::Refused));
    let mut cut = smart();
    cut.truncate(60);
    let found = Recorded::new(vec![(SMART, cut), (CONTROLLER, controller())]).state(Interface::Nvme).unwrap();
    assert_eq!((found.read_bytes, found.written_bytes, found.media_errors), (Some(3_584_000), None, None));
    // No sensor; more bytes than can be counted.
    let strange = page(512, &[(3, &[100]), (48, &[0xff; 8]), (160, &[0, 0, 0, 0, 0, 0, 0, 0, 1])]);
    let found = Recorded::new(vec![(SMART, strange)]).state(Interface::Nvme).unwrap();
    assert_eq!((found.temperature_c, found.written_bytes, found.media_errors), (None, None, None));
    assert_eq!(Recorded::new(vec![]).state(Interface::Nvme), Err(DriveUntold::Refused));
}

#[test]
fn ocp_pages_are_taken_where_the_drive_lists_them_and_their_guid_is_right() {
    let newer = page(4096, &[(80, &[0, 0, 2, 0])]);
    let listed = Question::NvmeLog { page: 0, uuid_index: 0, bytes: 1024 };
    let of = |pages: Vec<(Question, Vec<u8>)>| {
        let drive = Recorded::new([vec![(SMART, smart())], pages].concat());
        let found = drive.state(Interface::Nvme).unwrap();
        let was_asked = drive.asked.borrow().iter().any(|question| [ocp(0), ocp(3)].contains(question));
        let throttling = found.throttle_events.zip(found.throttles_now);
        (found.media_written_bytes, throttling, found.link_errors_corrected, was_asked)
    };
    let told = (Some(600_000_000_000), Some((9, true)), Some(11), true);
    let has = |flags: u8| page(1024, &[(4 * 0xc0, &[flags])]);
    assert_eq!(of(vec![(CONTROLLER, newer.clone()), (listed, has(1)), (ocp(0), ocp_log())]), told);
    let nothing = (None, None, None, false);
    assert_eq!(of(vec![(CONTROLLER, newer.clone()), (listed, has(0)), (ocp(0), ocp_log())]), nothing);
    assert_eq!(of(vec![(CONTROLLER, newer.clone()), (ocp(0), ocp_log())]), nothing);
    // Another maker's page of the same number, and one that ends early.
    for wrong in [page(512, &[(496, &[1; 16])]), ocp_log()[..500].to_vec()] {
        let pages = vec![(CONTROLLER, newer.clone()), (listed, has(1)), (ocp(0), wrong)];
        assert_eq!(of(pages), (None, None, None, true));
    }
    // Before version 2.0, by the list of UUIDs.
    let uuid =
        [0xc1, 0x94, 0xd5, 0x5b, 0xe0, 0x94, 0x47, 0x94, 0xa2, 0x1d, 0x29, 0x99, 0x8f, 0x56, 0xbe, 0x6f];
    let older = page(4096, &[(80, &[0, 4, 1, 0]), (96, &[0, 2])]);
    let list = |at: usize| (Question::NvmeIdentify(0x17), page(4096, &[(at, &uuid)]));
    assert_eq!(of(vec![(CONTROLLER, older.clone()), list(3 * 32 + 16), (ocp(3), ocp_log())]), told);
    assert_eq!(of(vec![(CONTROLLER, older), list(16), (ocp(3), ocp_log())]), nothing);
}

/// An entry of a page of the Device Statistics log.
fn statistic(value: u64, flags: u8) -> [u8; 8] {
    (value | u64::from(flags) << 56).to_le_bytes()
}

const VALID: u8 = 0xc0;

fn log(log: u8, page: u8) -> Question {
    Question::AtaLog { log, page }
}

/// SMART READ DATA with these attributes and first bytes of their raw values.
fn attributes(list: &[(u8, &[u8])]) -> Vec<u8> {
    let mut data = vec![0; 512];
    for (place, (id, raw)) in list.iter().enumerate() {
        let at = 2 + 12 * place;
        data[at] = *id;
        data[at + 5..at + 5 + raw.len()].copy_from_slice(raw);
    }
    data[511] = data.iter().fold(0u8, |sum, &byte| sum.wrapping_sub(byte));
    data
}

#[test]
fn statistics_of_ata_count_where_they_are_valid() {
    let pages = vec![
        (Question::AtaPowerMode, vec![0xff]),
        (log(0, 0), page(512, &[(8, &[8, 0])])),
        (log(4, 0), page(512, &[(0, &[1, 0, 0]), (8, &[6, 0, 1, 3, 4, 5, 6])])),
        (log(4, 1), page(512, &[(2, &[1]), (24, &statistic(1000, VALID)), (40, &statistic(10, 0x80))])),
        (log(4, 4), page(512, &[(2, &[4]), (8, &statistic(3, VALID))])),
        (
            log(4, 5),
            page(
                512,
                &[
                    (2, &[5]),
                    (8, &statistic(0xfb, VALID)),
                    (80, &statistic(7, VALID)),
                    (88, &statistic(60, VALID)),
                ],
            ),
        ),
        // Another page than was asked for.
        (log(4, 6), page(512, &[(2, &[5]), (24, &statistic(9, VALID))])),
    ];
    let drive = Recorded::new(pages);
    let expected = DriveState {
        written_bytes: Some(4_096_000),
        media_errors: Some(3),
        temperature_c: Some(-5),
        warm_from_c: Some(60),
        warm_minutes: Some(7),
        ..DriveState::default()
    };
    assert_eq!(drive.state(Interface::Ata), Ok(expected));
    assert_eq!(drive.asked.borrow()[0], Question::AtaPowerMode);
    assert!(
        !drive.asked.borrow().contains(&log(4, 3)) && !drive.asked.borrow().contains(&Question::AtaSmartData)
    );
}

#[test]
fn attributes_speak_for_drives_without_statistics() {
    let of = |data: Vec<u8>| {
        let pages = vec![(Question::AtaPowerMode, vec![0x80]), (Question::AtaSmartData, data)];
        Recorded::new(pages).state(Interface::Ata)
    };
    let list: [(u8, &[u8]); 5] =
        [(190, &[30]), (194, &[41, 0, 20, 0, 60]), (187, &[2]), (199, &[5, 1]), (241, &[9])];
    let expected = DriveState {
        temperature_c: Some(41),
        media_errors: Some(2),
        crc_errors: Some(261),
        ..DriveState::default()
    };
    assert_eq!(of(attributes(&list)), Ok(expected));
    assert_eq!(of(attributes(&[(190, &[31])])).unwrap().temperature_c, Some(31));
    let mut damaged = attributes(&list);
    damaged[20] ^= 1;
    assert_eq!(of(damaged), Err(DriveUntold::Refused));
    assert_eq!(of(attributes(&list)[..100].to_vec()), Err(DriveUntold::Refused));
}

#[test]
fn a_disk_in_standby_is_asked_for_nothing_else() {
    for mode in [0x00, 0x01, 0x40] {
        let drive = Recorded::new(vec![(Question::AtaPowerMode, vec![mode])]);
        assert_eq!(drive.state(Interface::Ata), Err(DriveUntold::Asleep), "{mode:#x}");
        assert_eq!(*drive.asked.borrow(), [Question::AtaPowerMode]);
    }
    // The same when it does not say whether it sleeps.
    let silent = Recorded::new(vec![(Question::AtaSmartData, attributes(&[(194, &[40])]))]);
    assert_eq!(silent.state(Interface::Ata), Err(DriveUntold::Refused));
    assert_eq!(*silent.asked.borrow(), [Question::AtaPowerMode]);
}

#[test]
fn scsi_tells_its_temperature_and_errors() {
    let temperature = vec![0x0d, 0, 0, 12, 0, 0, 3, 2, 0, 38, 0, 1, 3, 2, 0, 65];
    let errors = |code: u8, count: u8| vec![code, 0, 0, 14, 0, 3, 0, 2, 1, 1, 0, 6, 0, 4, 0, 0, 1, count];
    let drive = Recorded::new(vec![
        (Question::ScsiLog(0x0d), temperature),
        (Question::ScsiLog(2), errors(2, 1)),
        (Question::ScsiLog(3), errors(3, 2)),
    ]);
    let found = drive.state(Interface::Scsi).unwrap();
    assert_eq!((found.temperature_c, found.warm_from_c, found.media_errors), (Some(38), Some(65), Some(515)));
    // Not known, another page, cut.
    for page in
        [vec![0x0d, 0, 0, 6, 0, 0, 3, 2, 0, 0xff], vec![0x0e, 0, 0, 6, 0, 0, 3, 2, 0, 38], vec![0x0d, 0, 0]]
    {
        let drive = Recorded::new(vec![(Question::ScsiLog(0x0d), page)]);
        assert_eq!(drive.state(Interface::Scsi), Err(DriveUntold::Refused));
    }
}

/// The folder below `devices`, the name, and files of a disk with their text.
type DiskFiles<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

/// A machine with these disks.
fn machine(disks: &[DiskFiles<'_>]) -> (tempfile::TempDir, Roots) {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let roots = Roots { sys: at("sys"), proc: at("proc"), dev: at("dev") };
    fs::create_dir_all(&roots.dev).unwrap();
    for (above, name, files) in disks {
        let folder = roots.sys.join("devices").join(above).join(name);
        for (file, text) in files.iter().chain(&[("dev", "8:0\n")]) {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        fs::create_dir_all(roots.sys.join("block")).unwrap();
        symlink(folder, roots.sys.join("block").join(name)).unwrap();
    }
    (dir, roots)
}

#[test]
fn only_drives_that_are_awake_and_can_be_asked_are_opened() {
    let (_dir, roots) = machine(&[
        (
            "pci0000:00/ata1/host0",
            "sda",
            &[("device/vendor", "ATA\n"), ("device/power/runtime_status", "suspended\n")],
        ),
        ("pci0000:00/ata2/host1", "sdb", &[("device/vendor", "ATA     \n")]),
        ("pci0000:00/usb1/1-1/host2", "sdc", &[("device/vendor", "ATA\n")]),
        ("pci0000:00/host3", "sdd", &[("device/vendor", "SEAGATE\n")]),
        ("virtio1", "vda", &[("device/vendor", "0x1af4\n")]),
        ("nvme/nvme0", "nvme0n1", &[]),
    ]);
    let disk = |name: &str| BlockDevice::named(name, &roots).unwrap();
    let interface = |name| Interface::of(&disk(name));
    assert_eq!((interface("sdb"), interface("sdd")), (Some(Interface::Ata), Some(Interface::Scsi)));
    assert_eq!((interface("sdc"), interface("vda")), (None, None));
    assert_eq!(interface("nvme0n1"), Some(Interface::Nvme));
    // No node could be opened yet.
    assert_eq!(read(&disk("sda"), &roots), Err(DriveUntold::Asleep));
    assert_eq!(read(&disk("sdb"), &roots), Err(DriveUntold::NoNode));
    assert_eq!(read(&disk("vda"), &roots), Err(DriveUntold::NoInterface));
    // What is there is a file, not a drive.
    fs::write(roots.dev.join("sdb"), "").unwrap();
    assert_eq!(read(&disk("sdb"), &roots), Err(DriveUntold::NoInterface));
    let denied = io::Error::from_raw_os_error(13);
    assert_eq!(not_opened(&denied), DriveUntold::NotPermitted);
}
