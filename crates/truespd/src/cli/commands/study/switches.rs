//! The switches of the disks' write caches: whether they may be switched, and what notes that they were.

use std::fs::File;

use super::places::Found;
use crate::cli::commands::study::{refusal, refused};
use crate::series::Series;
use crate::series::undo::{Disk, Undo};
use crate::suite::Ended;
use truespd_core::fault::Refusal;
use truespd_core::guard::claim;
use truespd_core::machine::device::{BlockDevice, DeviceNumber};
use truespd_core::machine::roots::Roots;
use truespd_core::machine::write_cache::{BACK, Reach, Switch, THROUGH};
use truespd_core::sys::error::system_text;
use truespd_core::sys::file::Stat;

/// The switches of all disks below the targets, each noted in the journal and tried.
pub fn switches(series: &mut Series, found: &[Found], risk_power_loss: bool) -> Result<Vec<Switch>, Ended> {
    let roots = Roots::default();
    let mut disks: Vec<&String> = Vec::new();
    for place in found {
        if place.disks.is_empty() {
            let shown = &place.place.shown;
            return Err(refused(format!("'{shown}' lies on no disk of this machine")));
        }
        disks.extend(&place.disks);
    }
    disks.sort();
    disks.dedup();
    let switches: Vec<Switch> =
        disks.iter().map(|disk| claimed(series, disk, &roots)).collect::<Result<_, _>>()?;
    for switch in &switches {
        let user = user_of(&switch.disk, found, &roots);
        may_switch(switch, user.as_deref(), risk_power_loss)?;
    }
    for switch in &switches {
        note(series, switch, &roots)?;
    }
    // Once and back, so that a disk whose cache cannot be switched is refused before files are filled.
    for switch in &switches {
        let tried = switch.set(other(&switch.now)).and_then(|()| switch.set(&switch.now));
        tried.map_err(|no| refused(no.to_string()))?;
    }
    Ok(switches)
}

fn other(word: &str) -> &'static str {
    if word == BACK { THROUGH } else { BACK }
}

/// A switch that only this series may use, with its present setting.
fn claimed(series: &mut Series, disk: &str, roots: &Roots) -> Result<Switch, Ended> {
    let find = || Switch::of(disk, roots).map_err(|no| refused(no.to_string()));
    let claimed = series.journal()?.claim(&find()?.path);
    let undone = claimed.map_err(|words| refused(format!("{disk}: {words}")))?;
    undone.iter().for_each(|one| series.tell_left(one));
    // Read again: another series may have had it switched before the claim.
    let switch = find()?;
    switch.check().map_err(|no| refused(no.to_string()))?;
    Ok(switch)
}

/// What uses the disk, in words: anything on it or made of it, not only the targets.
fn user_of(disk: &str, found: &[Found], roots: &Roots) -> Option<String> {
    let of_disk = claims(disk, roots)
        .unwrap_or_else(|why| Some(format!("it is not known whether it is in use: {why}")));
    let is_over_it = |place: &&Found| place.disks.iter().any(|name| name == disk);
    let target = || found.iter().filter(is_over_it).find(|place| !place.is_unused);
    of_disk.or_else(|| target().map(|place| format!("'{}', which lies on it, is in use", place.place.shown)))
}

fn claims(disk: &str, roots: &Roots) -> Result<Option<String>, String> {
    let device = BlockDevice::named(disk, roots).ok_or("it is not in sysfs")?;
    let node = roots.dev.join(device.node_name());
    let failed = |error: std::io::Error| format!("{}: {}", node.display(), system_text(&error));
    let file = File::open(&node).map_err(failed)?;
    if device.number() != Some(DeviceNumber::from_raw(Stat::of_open(&file).map_err(failed)?.node_of)) {
        return Err(format!("{} is another device", node.display()));
    }
    let claim = claim(&file, &node, roots).map_err(|error| error.to_string())?;
    match (claim.by.is_empty(), claim.missing.first()) {
        (false, _) => Ok(Some(claim.to_string())),
        (true, Some(missing)) => Err(missing.to_string()),
        (true, None) => Ok(None),
    }
}

/// Refuses to put other data on a disk at a higher risk from a power loss than without the study.
fn may_switch(switch: &Switch, user: Option<&str>, risk_power_loss: bool) -> Result<(), Refusal> {
    let Some(user) = user.filter(|_| !risk_power_loss) else { return Ok(()) };
    let risk = match switch.reach {
        Reach::Kernel => {
            "only the kernel's setting (queue/write_cache) can be switched; with it off, the kernel sends no flushes"
        }
        Reach::Disk if switch.now == THROUGH => "its write cache is off, and the study would turn it on",
        Reach::Disk => return Ok(()),
    };
    let message = format!("{}: {risk}, and a power loss can destroy other data on it: {user}", switch.disk);
    Err(refusal(message).hint("name a disk that nothing uses, or use --risk-power-loss"))
}

fn note(series: &mut Series, switch: &Switch, roots: &Roots) -> Result<(), Ended> {
    let unknown = || refused(format!("{}: the disk is no longer in sysfs; try again", switch.disk));
    let entry = Undo::Setting {
        path: switch.path.clone(),
        before: switch.now.clone(),
        during: other(&switch.now).into(),
        disk: Disk::named(&switch.disk, roots).ok_or_else(unknown)?,
    };
    series.journal()?.add(entry).map_err(|error| {
        refused(format!(
            "the setting could not be saved for restoring it if the program is killed: {}",
            system_text(&error)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_a_disk_in_use_is_not_put_at_risk_without_the_word() {
        let switch = |reach, now: &str| Switch {
            disk: "sda".into(),
            path: "/sys/block/sda/queue/write_cache".into(),
            reach,
            now: now.into(),
        };
        let mounted = Some("its partition sda2 is mounted at /srv (ext4)");
        for (reach, now, user, says) in [
            (Reach::Kernel, BACK, mounted, "sends no flushes"),
            (Reach::Kernel, THROUGH, mounted, "sends no flushes"),
            (Reach::Disk, THROUGH, mounted, "would turn it on"),
            (Reach::Disk, BACK, mounted, ""),
            (Reach::Disk, THROUGH, None, ""),
            (Reach::Kernel, BACK, None, ""),
        ] {
            let may = may_switch(&switch(reach, now), user, false);
            match says {
                "" => assert_eq!(may, Ok(()), "{reach:?} {now}"),
                says => {
                    let words = may.unwrap_err().to_string();
                    for part in [says, "sda2 is mounted", "--risk-power-loss"] {
                        assert!(words.contains(part), "{words}");
                    }
                }
            }
            assert_eq!(may_switch(&switch(reach, now), user, true), Ok(()));
        }
    }
}
