//! The revision of a disk's firmware, as the kernel shows it beside the model.
//!
//! Sources: the attributes of the kernel's `drivers/nvme/host/sysfs.c` (`firmware_rev`, of a controller and
//! of a subsystem), `drivers/scsi/scsi_sysfs.c` (`rev`, `vpd_pg89`) and `drivers/mmc/core/mmc.c` and `sd.c`
//! (`fwrev`, `prv`).
//!
//! A serial number is not read: results are sent to others, and it would name a single disk.

use std::path::Path;

use crate::machine::read::read_word;

/// Of the disk whose directory in sysfs this is; `None` where the driver shows none (virtio, Xen, network
/// block devices).
pub(super) fn firmware(dir: &Path) -> Option<String> {
    let below = dir.join("device");
    let word = |file: &str| read_word(&below.join(file)).filter(|word| !word.is_empty());
    let card = || {
        // Only eMMC from version 5 on has more than 0 there; an SD card has no other.
        let is_told = |revision: &String| revision.trim_start_matches("0x").chars().any(|digit| digit != '0');
        word("fwrev").filter(is_told).or_else(|| word("prv")).or_else(|| word("fwrev"))
    };
    let page = || std::fs::read(below.join("vpd_pg89")).ok();
    page()
        .and_then(|page| ata_revision(&page))
        .or_else(|| word("firmware_rev"))
        .or_else(|| word("rev"))
        .or_else(card)
}

/// Vital product data of ATA disks: INQUIRY, "ATA Information VPD page" (SAT-4, 12.4.2).
const ATA_PAGE: u8 = 0x89;
/// The place of the command that made the data in it, and the command of disks.
const COMMAND: (usize, u8) = (56, 0xec);
/// The firmware revision in it: words 23 to 26 of IDENTIFY DEVICE (ACS-4, 7.13), which begins at byte 60.
const REVISION: std::ops::Range<usize> = 60 + 2 * 23..60 + 2 * 27;

/// The whole revision of an ATA disk: eight characters, of which `rev` has only the last four.
fn ata_revision(page: &[u8]) -> Option<String> {
    let (place, command) = COMMAND;
    if page.get(1) != Some(&ATA_PAGE) || page.get(place) != Some(&command) {
        return None;
    }
    // ATA writes the two characters of a word the other way round.
    let characters: Vec<u8> = page.get(REVISION)?.chunks(2).flat_map(|word| [word[1], word[0]]).collect();
    let text = std::str::from_utf8(&characters).ok()?.trim_matches([' ', '\0']);
    let is_text = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    is_text.then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(revision: &[u8; 8]) -> Vec<u8> {
        let mut page = vec![0; 572];
        (page[1], page[COMMAND.0]) = (ATA_PAGE, COMMAND.1);
        for (word, pair) in page[REVISION].chunks_mut(2).zip(revision.chunks(2)) {
            word.copy_from_slice(&[pair[1], pair[0]]);
        }
        page
    }

    #[test]
    fn the_whole_revision_of_an_ata_disk() {
        assert_eq!(ata_revision(&page(b"01.01K02")).as_deref(), Some("01.01K02"));
        assert_eq!(ata_revision(&page(b"SC60    ")).as_deref(), Some("SC60"));
        for none in
            [page(b"        "), page(b"\0\0\0\0\0\0\0\0"), page(b"\x01bc.1234"), page(b"\xff\xffabcdef")]
        {
            assert_eq!(ata_revision(&none), None);
        }
        let whole = page(b"01.01K02");
        assert_eq!(ata_revision(&whole[..REVISION.end - 1]), None, "cut");
        assert_eq!(ata_revision(&[]), None);
        for (at, other) in [(1, 0x83), (COMMAND.0, 0xa1)] {
            let mut page = whole.clone();
            page[at] = other;
            assert_eq!(ata_revision(&page), None, "another page, or no disk");
        }
    }

    #[test]
    fn cards_have_it_in_one_of_two_registers() {
        for (files, revision) in [
            (&[("fwrev", "0x0600000000000000"), ("prv", "0x6")][..], Some("0x0600000000000000")),
            (&[("fwrev", "0x0"), ("prv", "0x7")], Some("0x7")),
            (&[("fwrev", "0x0000000000000000"), ("prv", "0x7")], Some("0x7")),
            (&[("fwrev", "0x0")], Some("0x0")),
            (&[("rev", "")], None),
            (&[("vpd_pg89", "no page"), ("rev", "2.5+")], Some("2.5+")),
        ] {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir(dir.path().join("device")).unwrap();
            for (file, content) in files {
                std::fs::write(dir.path().join("device").join(file), format!("{content}\n")).unwrap();
            }
            assert_eq!(firmware(dir.path()).as_deref(), revision, "{files:?}");
        }
    }
}
