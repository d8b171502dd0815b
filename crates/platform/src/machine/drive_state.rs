//! What a drive says of itself: temperature, throttling, errors, and what was written to it and by it. Only root may
//! ask.
//!
//! A drive that sleeps is not asked, and no question leaves a trace in it. So an NVMe drive is asked for a maker's page
//! only where it lists that: a question that it does not know becomes an entry in its log of errors.
//!
//! Sources: NVM Express base specification (SMART / Health Information, Supported Log Pages, Identify Controller and
//! UUID List; the kernel's `include/linux/nvme.h` has the same structures); OCP Datacenter NVMe SSD specification
//! (SMART / Health Information Extended, C0h; nvme-cli's `plugins/ocp`); T13 ACS (Device Statistics log, SMART READ
//! DATA; smartmontools' `ataprint.cpp`); T10 SPC and SBC (LOG SENSE: temperature, error counters).

use std::fs::File;
use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::device::BlockDevice;
use super::drive::nvme_controllers;
use super::roots::{Roots, read_word};
use crate::sys::drive::{Question, Unanswered, ask};

/// Why a drive says nothing of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DriveUntold {
    /// The system lets only root ask, and this process is not root.
    NotPermitted,
    /// It is suspended or in standby, and was not woken up to be asked.
    Asleep,
    /// It is no NVMe, SATA, SAS or SCSI drive (a disk of a virtual machine, a card), or hangs on USB.
    NoInterface,
    /// Another machine holds the data, and its drives.
    Elsewhere,
    /// It has no node below `/dev` here, as in a container.
    NoNode,
    /// It refused, or said nothing of use.
    Refused,
    /// It did not answer in time.
    NoAnswer,
    /// The document does not tell.
    #[default]
    #[serde(rename = "", other)]
    Untold,
}

impl From<Unanswered> for DriveUntold {
    fn from(why: Unanswered) -> Self {
        match why {
            Unanswered::NotPermitted => DriveUntold::NotPermitted,
            Unanswered::NoInterface => DriveUntold::NoInterface,
            Unanswered::Refused => DriveUntold::Refused,
        }
    }
}

impl DriveUntold {
    /// As a clause about `it`, the drive.
    pub fn words(self) -> &'static str {
        match self {
            DriveUntold::NotPermitted => "only root may ask it",
            DriveUntold::Asleep => "it slept, and was not woken up",
            DriveUntold::NoInterface => "there is no way to ask it",
            DriveUntold::Elsewhere => "it is on another machine",
            DriveUntold::NoNode => "it has no node below /dev",
            DriveUntold::Refused => "it refused to tell",
            DriveUntold::NoAnswer => "it did not answer in time",
            DriveUntold::Untold => "it was not asked",
        }
    }
}

/// What a drive itself warns of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DriveWarning {
    /// Its spare blocks are nearly used up.
    SpareLow,
    /// It is too hot or too cold.
    Temperature,
    /// It is not reliable any more, after many errors of its medium or inside.
    Unreliable,
    /// It takes no writes any more.
    ReadOnly,
    /// What keeps its cache when the power fails does not work.
    BackupFailed,
    /// Something that a later version tells.
    #[default]
    #[serde(rename = "", other)]
    Untold,
}

impl DriveWarning {
    /// As a clause about `it`, the drive.
    pub fn words(self) -> &'static str {
        match self {
            DriveWarning::SpareLow => "its spare blocks are nearly used up",
            DriveWarning::Temperature => "its temperature is out of range",
            DriveWarning::Unreliable => "it is not reliable any more",
            DriveWarning::ReadOnly => "it takes no writes any more",
            DriveWarning::BackupFailed => "its protection against power loss has failed",
            DriveWarning::Untold => "something that this version does not know",
        }
    }
}

/// What a drive said of itself at one moment. Counts are of its whole life; absent: it does not tell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DriveState {
    /// Its temperature in degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<i32>,
    /// From which temperature on it calls itself too warm, in degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_from_c: Option<i32>,
    /// From which temperature on it may stop or be damaged, in degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_from_c: Option<i32>,
    /// Bytes that were read from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes that were written to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Bytes that it wrote to its medium, its own housekeeping included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_written_bytes: Option<u64>,
    /// Seconds for which it held itself back a little to stay cool (thermal management temperature 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_light_s: Option<u64>,
    /// Seconds for which it held itself back whatever that cost (thermal management temperature 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_heavy_s: Option<u64>,
    /// How often it began to hold itself back a little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_light_times: Option<u64>,
    /// How often it began to hold itself back whatever that cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_heavy_times: Option<u64>,
    /// Times that it throttled for its temperature, by OCP's log; that counts to 254.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle_events: Option<u64>,
    /// Whether it throttles at this moment, by OCP's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttles_now: Option<bool>,
    /// Minutes at `warm_from_c` or above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_minutes: Option<u64>,
    /// Minutes at `critical_from_c` or above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_minutes: Option<u64>,
    /// Errors of the medium that it could not correct.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_errors: Option<u64>,
    /// Entries that its log of errors ever had: also commands that it did not know, so that they need no fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_log_entries: Option<u64>,
    /// Transfers on the cable that came with a wrong checksum (SATA).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crc_errors: Option<u64>,
    /// Errors of the PCI Express link that the link itself corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_errors_corrected: Option<u64>,
    /// Times that it lost power without notice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsafe_shutdowns: Option<u64>,
    /// Spare blocks that are left, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_percent: Option<u32>,
    /// Below this it warns that they are nearly used up, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_percent_min: Option<u32>,
    /// How much of its life is used up, by its maker's estimate, in percent; may be above 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_percent: Option<u32>,
    /// What the drive warns of at this moment; empty where it is well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<DriveWarning>,
}

/// How a drive can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interface {
    Nvme,
    Ata,
    Scsi,
}

impl Interface {
    fn of(device: &BlockDevice) -> Option<Self> {
        let mut parts = device.dir().components().filter_map(|part| part.as_os_str().to_str());
        // Bridges of USB may stop at a command that they do not know.
        if parts.any(|part| part.starts_with("usb")) {
            return None;
        }
        if device.name.starts_with("nvme") {
            return Some(Interface::Nvme);
        }
        if !device.name.starts_with("sd") {
            return None;
        }
        // Whatever lets a SATA disk pass for one of SCSI gives it this name (SAT).
        let is_ata = read_word(&device.dir().join("device/vendor")).as_deref() == Some("ATA");
        Some(if is_ata { Interface::Ata } else { Interface::Scsi })
    }
}

/// Drives answer within milliseconds, some within tenths of a second.
const PATIENCE: Duration = Duration::from_secs(2);

/// What each of these whole disks says of itself, or why it does not tell, in the same order; within two seconds.
///
/// Each is asked on a thread of its own, which is left behind when the drive does not answer: a command cannot be taken
/// back without a reset of the drive's controller.
pub fn read_soon(disks: &[BlockDevice], roots: &Roots) -> Vec<Result<DriveState, DriveUntold>> {
    let mut told = vec![Err(DriveUntold::NoAnswer); disks.len()];
    let (sender, answers) = mpsc::channel();
    for (place, disk) in disks.iter().enumerate() {
        let (sender, disk, roots) = (sender.clone(), disk.clone(), roots.clone());
        // A drive for which the system gives no thread gives no answer.
        let _ = thread::Builder::new().name("diskspd-drive".into()).spawn(move || {
            let _ = sender.send((place, read(&disk, &roots)));
        });
    }
    drop(sender);
    let until = Instant::now() + PATIENCE;
    // Ends as soon as all have answered.
    while let Ok((place, answer)) = answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
        told[place] = answer;
    }
    told
}

/// Asks the whole disk `device` for its state.
fn read(device: &BlockDevice, roots: &Roots) -> Result<DriveState, DriveUntold> {
    let interface = Interface::of(device).ok_or(DriveUntold::NoInterface)?;
    if is_suspended(device) {
        return Err(DriveUntold::Asleep);
    }
    let file = File::open(roots.dev.join(device.node_name())).map_err(|error| not_opened(&error))?;
    let sector_bytes = device.sector_sizes().map_or(512, |sectors| u64::from(sectors.logical_bytes));
    state(interface, sector_bytes, &|question| ask(&file, question))
}

fn not_opened(error: &io::Error) -> DriveUntold {
    match error.kind() {
        io::ErrorKind::NotFound => DriveUntold::NoNode,
        _ => Unanswered::of(error).into(),
    }
}

/// Whether the kernel has put it, or its controller, to sleep.
fn is_suspended(device: &BlockDevice) -> bool {
    let mut places = nvme_controllers(device);
    places.push(device.dir().to_path_buf());
    let mut words = places.iter().filter_map(|dir| read_word(&dir.join("device/power/runtime_status")));
    words.any(|word| word.starts_with("suspend"))
}

/// Puts a question to the drive: a test has recorded answers instead.
type Ask<'a> = &'a dyn Fn(Question) -> Result<Vec<u8>, Unanswered>;

fn state(interface: Interface, sector_bytes: u64, ask: Ask<'_>) -> Result<DriveState, DriveUntold> {
    let found = match interface {
        Interface::Nvme => nvme(ask)?,
        Interface::Ata => ata(ask, sector_bytes)?,
        Interface::Scsi => scsi(ask)?,
    };
    if found == DriveState::default() { Err(DriveUntold::Refused) } else { Ok(found) }
}

/// The number at a place of a page, the low byte first. `None` where the page ends before, where it needs more than 64
/// bits, and where all bits are set: then it is not known, or counts no further.
fn number(page: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let field = page.get(at..at + bytes)?;
    if field.iter().all(|&byte| byte == u8::MAX) || field.iter().skip(8).any(|&byte| byte != 0) {
        return None;
    }
    let mut number = 0;
    for &byte in field.iter().take(8).rev() {
        number = number << 8 | u64::from(byte);
    }
    Some(number)
}

fn percent(page: &[u8], at: usize) -> Option<u32> {
    number(page, at, 1).map(|percent| percent as u32)
}

/// A temperature in kelvin; 0 says that there is none.
fn celsius(page: &[u8], at: usize) -> Option<i32> {
    let kelvin = number(page, at, 2).filter(|&kelvin| kelvin > 0)?;
    Some(kelvin as i32 - 273)
}

fn nvme(ask: Ask<'_>) -> Result<DriveState, Unanswered> {
    const CONTROLLER: u8 = 0x01;
    let smart = ask(Question::NvmeLog { page: 0x02, uuid_index: 0, bytes: 512 })?;
    let controller = ask(Question::NvmeIdentify(CONTROLLER)).unwrap_or_default();
    let mut found = nvme_health(&smart, &controller);
    if let Some(page) = ocp_page(ask, &controller) {
        found.media_written_bytes = number(&page, 0, 16);
        found.throttle_events = number(&page, 96, 1);
        found.throttles_now = number(&page, 97, 1).map(|level| level > 0);
        found.link_errors_corrected = number(&page, 104, 8);
    }
    Ok(found)
}

/// What SMART says, and what Identify Controller says of it.
fn nvme_health(smart: &[u8], controller: &[u8]) -> DriveState {
    const WARNINGS: [DriveWarning; 5] = [
        DriveWarning::SpareLow,
        DriveWarning::Temperature,
        DriveWarning::Unreliable,
        DriveWarning::ReadOnly,
        DriveWarning::BackupFailed,
    ];
    let (warm_from_c, critical_from_c) = (celsius(controller, 266), celsius(controller, 268));
    let mut found = DriveState {
        temperature_c: celsius(smart, 1),
        warm_from_c,
        critical_from_c,
        read_bytes: data_bytes(smart, 32),
        written_bytes: data_bytes(smart, 48),
        media_errors: number(smart, 160, 16),
        error_log_entries: number(smart, 176, 16),
        unsafe_shutdowns: number(smart, 144, 16),
        spare_percent: percent(smart, 3),
        spare_percent_min: percent(smart, 4),
        used_percent: percent(smart, 5),
        ..DriveState::default()
    };
    // What a drive does not count stays at 0.
    if warm_from_c.is_some() {
        found.warm_minutes = number(smart, 192, 4);
    }
    if critical_from_c.is_some() {
        found.critical_minutes = number(smart, 196, 4);
    }
    let can_be_held_back = number(controller, 322, 2).is_some_and(|attributes| attributes & 1 != 0);
    if can_be_held_back {
        found.throttled_light_times = number(smart, 216, 4);
        found.throttled_heavy_times = number(smart, 220, 4);
        found.throttled_light_s = number(smart, 224, 4);
        found.throttled_heavy_s = number(smart, 228, 4);
    }
    let bits = number(smart, 0, 1).unwrap_or_default();
    for (bit, warning) in WARNINGS.into_iter().enumerate() {
        if bits & 1 << bit != 0 {
            found.warnings.push(warning);
        }
    }
    found
}

/// What was read or written, which an NVMe drive counts in units of a thousand times 512 bytes.
fn data_bytes(smart: &[u8], at: usize) -> Option<u64> {
    const UNIT_BYTES: u64 = 512_000;
    number(smart, at, 16)?.checked_mul(UNIT_BYTES)
}

/// OCP's page, of a drive that says that it has it.
fn ocp_page(ask: Ask<'_>, controller: &[u8]) -> Option<Vec<u8>> {
    const PAGE: u8 = 0xc0;
    /// AFD514C9-7C6F-4F9C-A4F2-BFEA2810AFC5, the low byte first.
    const GUID: [u8; 16] = 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5_u128.to_le_bytes();
    const GUID_AT: usize = 496;
    let uuid_index = ocp_index(ask, controller).or_else(|| is_listed(ask, controller, PAGE).then_some(0))?;
    let page = ask(Question::NvmeLog { page: PAGE, uuid_index, bytes: 512 }).ok()?;
    // Other makers use the number for pages of their own.
    (page.get(GUID_AT..)? == GUID).then_some(page)
}

/// Where OCP stands among those whose pages the drive has (UUID List).
fn ocp_index(ask: Ask<'_>, controller: &[u8]) -> Option<u8> {
    const UUID_LIST: u8 = 0x17;
    const HAS_LIST: u64 = 1 << 9;
    const OCP: [u8; 16] = 0xC194_D55B_E094_4794_A21D_2999_8F56_BE6F_u128.to_be_bytes();
    if number(controller, 96, 4)? & HAS_LIST == 0 {
        return None;
    }
    let list = ask(Question::NvmeIdentify(UUID_LIST)).ok()?;
    // The first entry is not used.
    (1u8..=127).find(|&index| {
        let at = 32 * usize::from(index) + 16;
        list.get(at..at + 16) == Some(&OCP)
    })
}

/// Whether the drive lists the page among those that it has, which drives do from version 2.0 on.
fn is_listed(ask: Ask<'_>, controller: &[u8], page: u8) -> bool {
    const SUPPORTED_PAGES: Question = Question::NvmeLog { page: 0, uuid_index: 0, bytes: 1024 };
    const MAJOR: u32 = 16;
    if number(controller, 80, 4).is_none_or(|version| version >> MAJOR < 2) {
        return false;
    }
    let Ok(list) = ask(SUPPORTED_PAGES) else { return false };
    number(&list, 4 * usize::from(page), 4).is_some_and(|flags| flags & 1 != 0)
}

fn ata(ask: Ask<'_>, sector_bytes: u64) -> Result<DriveState, DriveUntold> {
    /// Below are standby and sleep, from here on what answers at once: idle and active.
    const AWAKE_FROM: u8 = 0x80;
    const STATISTICS: u8 = 0x04;
    let mode = ask(Question::AtaPowerMode)?;
    if mode.first().is_none_or(|&mode| mode < AWAKE_FROM) {
        return Err(DriveUntold::Asleep);
    }
    let directory = ask(Question::AtaLog { log: 0, page: 0 }).unwrap_or_default();
    let has_statistics = number(&directory, 2 * usize::from(STATISTICS), 2).is_some_and(|pages| pages > 0);
    let mut found = DriveState::default();
    if has_statistics && let Ok(list) = ask(Question::AtaLog { log: STATISTICS, page: 0 }) {
        let count = list.get(8).map_or(0, |&count| usize::from(count));
        for &page in list.iter().skip(9).take(count).filter(|page| [1, 4, 5, 6].contains(*page)) {
            if let Ok(statistics) = ask(Question::AtaLog { log: STATISTICS, page }) {
                add_statistics(&mut found, page, &statistics, sector_bytes);
            }
        }
    }
    if found == DriveState::default() {
        add_attributes(&mut found, &ask(Question::AtaSmartData)?);
    }
    Ok(found)
}

/// Adds what a page of the Device Statistics log holds.
fn add_statistics(found: &mut DriveState, page: u8, statistics: &[u8], sector_bytes: u64) {
    // The header repeats the number.
    if statistics.get(2) != Some(&page) {
        return;
    }
    match page {
        1 => {
            let sectors = [statistic(statistics, 24, 6), statistic(statistics, 40, 6)];
            [found.written_bytes, found.read_bytes] = sectors.map(|count| count?.checked_mul(sector_bytes));
        }
        4 => found.media_errors = statistic(statistics, 8, 4),
        5 => {
            let degrees = [statistic(statistics, 8, 1), statistic(statistics, 88, 1)];
            [found.temperature_c, found.warm_from_c] =
                degrees.map(|byte| Some(i32::from((byte? as u8).cast_signed())));
            found.warm_minutes = statistic(statistics, 80, 4);
        }
        _ => found.crc_errors = statistic(statistics, 24, 4),
    }
}

/// A value of the Device Statistics log, where its flags say that the drive has it and knows it.
fn statistic(statistics: &[u8], at: usize, bytes: usize) -> Option<u64> {
    const IS_VALID: u8 = 0xc0;
    let flags = *statistics.get(at + 7)?;
    if flags & IS_VALID == IS_VALID { number(statistics, at, bytes) } else { None }
}

/// Adds those attributes of SMART READ DATA that mean the same on all drives: what was written is told in units of each
/// maker's own.
fn add_attributes(found: &mut DriveState, data: &[u8]) {
    const FIRST_AT: usize = 2;
    const ENTRY_BYTES: usize = 12;
    const RAW_AT: usize = 5;
    const COUNT: usize = 30;
    let sum = data.iter().fold(0u8, |sum, &byte| sum.wrapping_add(byte));
    if data.len() != 512 || sum != 0 {
        return;
    }
    for entry in data[FIRST_AT..].chunks_exact(ENTRY_BYTES).take(COUNT) {
        let degrees = entry[RAW_AT];
        match entry[0] {
            // Some drives have one of the two, some both; the first one is that of the drive itself.
            194 => found.temperature_c = Some(degrees.into()),
            190 if found.temperature_c.is_none() => found.temperature_c = Some(degrees.into()),
            187 => found.media_errors = number(entry, RAW_AT, 6),
            199 => found.crc_errors = number(entry, RAW_AT, 6),
            _ => {}
        }
    }
}

fn scsi(ask: Ask<'_>) -> Result<DriveState, Unanswered> {
    const TEMPERATURE: u8 = 0x0d;
    const WRITE_ERRORS: u8 = 0x02;
    const READ_ERRORS: u8 = 0x03;
    const NOW: u16 = 0;
    const WARM_FROM: u16 = 1;
    const UNCORRECTED: u16 = 6;
    let page = ask(Question::ScsiLog(TEMPERATURE))?;
    let [temperature_c, warm_from_c] = [NOW, WARM_FROM].map(|parameter| {
        let degrees = *scsi_parameter(&page, TEMPERATURE, parameter)?.get(1)?;
        // All bits say that it is not known.
        (degrees != u8::MAX).then_some(i32::from(degrees))
    });
    let mut found = DriveState { temperature_c, warm_from_c, ..DriveState::default() };
    for errors in [WRITE_ERRORS, READ_ERRORS] {
        let page = ask(Question::ScsiLog(errors)).unwrap_or_default();
        if let Some(count) = scsi_parameter(&page, errors, UNCORRECTED) {
            let count: Vec<u8> = count.iter().rev().copied().collect();
            let count = number(&count, 0, count.len());
            found.media_errors = count.map(|count| count.saturating_add(found.media_errors.unwrap_or(0)));
        }
    }
    Ok(found)
}

/// The value of a parameter of a log page of SCSI.
fn scsi_parameter(page: &[u8], code: u8, parameter: u16) -> Option<&[u8]> {
    const PAGE_CODE: u8 = 0x3f;
    if page.first()? & PAGE_CODE != code {
        return None;
    }
    let mut rest = page.get(4..)?;
    loop {
        let (head, value) = rest.split_at_checked(4)?;
        let (value, next) = value.split_at_checked(head[3].into())?;
        if u16::from_be_bytes([head[0], head[1]]) == parameter {
            return Some(value);
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests;
