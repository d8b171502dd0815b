//! Disks of storage servers, paths to them, and copies that DRBD keeps.

use super::*;
use truespd_core::result::{
    DevicePath, LayerDetails, LayerRole, PathAccess, PathActivity, Replica, ReplicaPeer, WayChange,
};

fn path(name: &str, address: &str, state: &str, access: Option<PathAccess>) -> DevicePath {
    DevicePath {
        address: Some(address.to_string()),
        access,
        ..DevicePath::new(name, Some(state.to_string()))
    }
}

fn first() -> DevicePath {
    path("nvme1", "10.0.0.5:4420", "live", Some(PathAccess::Optimized))
}

fn second() -> DevicePath {
    path("nvme2", "10.0.0.6:4420", "live", Some(PathAccess::NonOptimized))
}

fn details(paths: Vec<DevicePath>) -> LayerDetails {
    let role = if paths.len() > 1 { LayerRole::Multipath } else { LayerRole::ServedDisk };
    LayerDetails { paths, path_policy: Some("numa".to_string()), ..LayerDetails::of(role) }
}

/// The clean document with its disk behind NVMe over TCP; its counters have those of each path.
fn over_tcp(paths: Vec<DevicePath>, change: impl FnOnce(&mut Doc)) -> Doc {
    let mut doc = Doc::clean();
    let disk = &mut doc.facts()[0].layers[2];
    disk.kind = LayerKind::NetworkDisk;
    disk.transport = Some("nvme tcp".to_string());
    disk.details = Some(details(paths.clone()));
    let evidence = &mut doc.measured.evidence;
    evidence.way_changes = Some(Vec::new());
    if paths.len() > 1 {
        let all = evidence.disks[0].total;
        let of = |(at, path): (usize, &DevicePath)| PathActivity {
            name: path.name.clone(),
            total: if at == 0 { all } else { DiskCounts::default() },
        };
        evidence.disks[0].paths = paths.iter().enumerate().map(of).collect();
    }
    change(&mut doc);
    doc
}

fn changed(doc: &mut Doc, seen_s: u64, before: &LayerDetails, after: Option<&LayerDetails>) {
    let change = WayChange {
        device: "vda".to_string(),
        seen_ns: seen_s * NS_PER_S,
        within_ns: NS_PER_S,
        before: Some(before.clone()),
        after: after.cloned(),
    };
    doc.measured.evidence.way_changes.get_or_insert_default().push(change);
}

#[test]
fn a_run_on_a_disk_of_a_server_is_certified_as_far_as_the_server() {
    let verdict = judge(&over_tcp(vec![first()], |_| {}).build());
    assert_eq!(verdict.grade, Grade::Certified, "{:#?}", verdict.findings);
    assert!(verdict.unchecked.is_empty(), "{:#?}", verdict.unchecked);
    let [remark] = verdict.findings.as_slice() else { panic!("{:#?}", verdict.findings) };
    assert_eq!(
        (remark.rule.as_str(), remark.says.as_str()),
        (
            "remote",
            "vda is served by 10.0.0.5:4420 over NVMe/TCP: the disk's counters show what this machine sent; what the \
             server did (its caches too) is not seen."
        )
    );
    says(
        &over_tcp(vec![first(), second()], |_| {}).fires("remote"),
        FindingGrade::Remark,
        &["served by 10.0.0.5:4420 and 10.0.0.6:4420 over NVMe/TCP (2 paths, 1 of them optimized): "],
    );
}

#[test]
fn paths_that_were_down_from_the_beginning() {
    let down = || DevicePath { is_down: true, state: Some("connecting".to_string()), ..second() };
    says(
        &over_tcp(vec![first(), down()], |_| {}).fires("path-down"),
        FindingGrade::Suspect,
        &[
            "One of the 2 paths to vda was down when the measured time began: nvme2 (10.0.0.6:4420) connecting.",
        ],
    );
    says(
        &over_tcp(vec![down()], |_| {}).fires("path-down"),
        FindingGrade::Suspect,
        &["The only path to vda was down"],
    );
    // What was seen as the measured time began counts, not what was when the target was opened.
    let early = |doc: &mut Doc| {
        changed(doc, 0, &details(vec![first(), down()]), Some(&details(vec![first(), second()])));
    };
    over_tcp(vec![first(), down()], early).silent("path-down");
    let lost = |doc: &mut Doc| changed(doc, 0, &details(vec![first()]), None);
    says(
        &over_tcp(vec![first()], lost).fires("path-down"),
        FindingGrade::Suspect,
        &["When the measured time began, there was no path to vda."],
    );
    over_tcp(vec![first(), second()], |_| {}).silent("path-down");
}

#[test]
fn only_a_detour_is_left() {
    let finding = over_tcp(vec![second()], |_| {}).fires("path-down");
    says(
        &finding,
        FindingGrade::Suspect,
        &["No path to vda was optimized", "nvme2 (10.0.0.6:4420) live, non-optimized."],
    );
    let untold = DevicePath { access: None, ..second() };
    over_tcp(vec![untold], |_| {}).silent("path-down");
}

#[test]
fn paths_that_changed_while_it_was_measured() {
    let resetting = DevicePath { is_down: true, state: Some("resetting".to_string()), ..first() };
    let both = details(vec![first(), second()]);
    let one_down = details(vec![resetting, second()]);
    let finding = over_tcp(vec![first(), second()], |doc| {
        changed(doc, 12, &both, Some(&one_down));
        changed(doc, 15, &one_down, Some(&details(vec![second()])));
        changed(doc, 20, &details(vec![second()]), Some(&both));
    })
    .fires("path-down");
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "The paths to vda changed while it was measured: nvme1 (10.0.0.5:4420) went from live, optimized to \
             resetting, optimized after 12 s; nvme1 (10.0.0.5:4420) was gone after 15 s; nvme1 (10.0.0.5:4420) came \
             after 20 s.",
        ],
    );
    // Another word for a path that is up is no change of the way.
    let other = details(vec![DevicePath { state: Some("new".to_string()), ..first() }, second()]);
    over_tcp(vec![first(), second()], |doc| changed(doc, 3, &both, Some(&other))).silent("path-down");
    over_tcp(vec![first()], |doc| doc.measured.evidence.way_changes = None)
        .missing("path-down", "whether the paths to vda stayed as they were");
}

#[test]
fn of_nbd_the_kernel_does_not_tell_whether_the_connection_held() {
    let nbd = |state: &str| {
        let path = DevicePath::new("vda", Some(state.to_string()));
        over_tcp(vec![path], |doc| doc.facts()[0].layers[2].transport = Some("nbd".to_string()))
    };
    nbd("set up")
        .missing("path-down", "whether the connection of vda held: the kernel does not tell it of NBD");
    says(&nbd("not connected").fires("path-down"), FindingGrade::Suspect, &["vda not connected"]);
}

#[test]
fn a_fall_is_told_with_the_path_that_was_lost() {
    let fall = |seen_s: u64| {
        let both = details(vec![first(), second()]);
        over_tcp(vec![first(), second()], |doc| {
            doc.series((0..60).map(|i| if i < 20 { 12_000 + i * 7 % 11 * 9 } else { 3000 + i * 7 % 11 * 3 }));
            changed(doc, seen_s, &both, Some(&details(vec![second()])));
        })
        .fires("step-down")
    };
    let words = "At that time the way to vda changed: nvme1 (10.0.0.5:4420) was gone after 21 s.";
    says(&fall(21), FindingGrade::Suspect, &[words]);
    let later = fall(45);
    assert!(!later.says.contains("the way to vda"), "{}", later.says);
}

#[test]
fn what_each_path_carried() {
    says(
        &over_tcp(vec![first(), second()], |_| {}).fires("path-shares"),
        FindingGrade::Remark,
        &["The paths to vda carried of its bytes: nvme1 (10.0.0.5:4420) 100 %, nvme2 (10.0.0.6:4420) 0 %."],
    );
    let twin = || DevicePath { access: Some(PathAccess::Optimized), ..second() };
    let finding = over_tcp(vec![first(), twin()], |_| {}).fires("path-shares");
    says(
        &finding,
        FindingGrade::Remark,
        &["nvme2 is up and carried nothing: the policy numa takes one path"],
    );
    let share = finding.figures.iter().find(|figure| figure.name == "percent_by_nvme1");
    assert_eq!(share.map(|figure| figure.value), Some(100.0));
    let idle = over_tcp(vec![first(), twin()], |doc| {
        let details = doc.facts()[0].layers[2].details.as_mut().expect("details");
        details.path_policy = Some("round-robin".to_string());
    });
    says(&idle.fires("path-shares"), FindingGrade::Remark, &["the policy round-robin would use all of them"]);
    over_tcp(vec![first()], |_| {}).silent("path-shares");
    over_tcp(vec![first(), second()], |doc| doc.measured.evidence.disks[0].paths.clear())
        .missing("path-shares", "what each path to vda carried");
}

/// Two disks of iSCSI as paths of device-mapper, the counters of each among the disks.
#[test]
fn paths_of_device_mapper_are_disks() {
    let mut doc = Doc::clean();
    let paths = vec![
        path("sda", "10.20.0.7:3260", "LOGGED_IN", None),
        path("sdb", "10.20.0.8:3260", "LOGGED_IN", None),
    ];
    let served = |at: usize| Layer {
        kind: LayerKind::NetworkDisk,
        transport: Some("iscsi".to_string()),
        details: Some(details(vec![DevicePath { name: format!("session{at}"), ..paths[at].clone() }])),
        ..disk_layer(&paths[at].name)
    };
    let (a, b) = (served(0), served(1));
    let above = LayerDetails { path_policy: None, ..details(paths.clone()) };
    let above =
        Layer { details: Some(above), below: vec![3, 4], ..layer(LayerKind::DeviceMapper, "dm-0", &[]) };
    doc.facts()[0].layers.truncate(2);
    doc.facts()[0].layers.extend([above, a, b]);
    let all = doc.measured.evidence.disks.remove(0);
    let part = |name: &str, tenths: u64| DiskActivity {
        name: name.to_string(),
        total: DiskCounts {
            reads: all.total.reads * tenths / 10,
            read_bytes: all.total.read_bytes * tenths / 10,
            ..DiskCounts::default()
        },
        intervals: Vec::new(),
        ..all.clone()
    };
    doc.measured.evidence.disks = vec![part("sda", 10), part("sdb", 0)];
    doc.measured.evidence.way_changes = Some(Vec::new());
    let verdict = judge(&doc.build());
    let told: Vec<(&str, &str)> =
        verdict.findings.iter().map(|finding| (finding.rule.as_str(), finding.says.as_str())).collect();
    assert_eq!(verdict.grade, Grade::Certified, "{told:#?}");
    let wanted = [
        (
            "path-shares",
            "The paths to dm-0 carried of its bytes: sda (10.20.0.7:3260) 100 %, sdb (10.20.0.8:3260) 0 %. sdb is up \
             and carried nothing: multipath -ll shows whether it stands by in a group of its own.",
        ),
        (
            "remote",
            "dm-0 is served by 10.20.0.7:3260 and 10.20.0.8:3260 over iSCSI (2 paths): the disk's counters show what \
             this machine sent; what the server did (its caches too) is not seen.",
        ),
    ];
    for one in wanted {
        assert!(told.contains(&one), "{told:#?}");
    }
}

fn replica(disk: &str, connection: &str, peer_disk: &str) -> Replica {
    let word = |text: &str| Some(text.to_string());
    Replica {
        resource: word("r0"),
        role: word("Primary"),
        disk: word(disk),
        protocol: word("C"),
        peers: vec![ReplicaPeer {
            name: word("node-b"),
            role: word("Secondary"),
            disk: word(peer_disk),
            connection: word(connection),
        }],
    }
}

fn kept(copies: Option<Replica>) -> LayerDetails {
    LayerDetails { replica: copies, ..LayerDetails::of(LayerRole::Replica) }
}

/// The clean document with DRBD above its disk.
fn on_drbd(copies: Option<Replica>, change: impl FnOnce(&mut Doc)) -> Doc {
    let mut doc = Doc::clean();
    let drbd =
        Layer { details: Some(kept(copies)), below: vec![3], ..layer(LayerKind::NetworkDisk, "drbd0", &[]) };
    doc.facts()[0].layers.insert(2, drbd);
    doc.measured.evidence.way_changes = Some(Vec::new());
    change(&mut doc);
    doc
}

#[test]
fn copies_on_other_nodes() {
    let whole = || Some(replica("UpToDate", "Connected", "UpToDate"));
    let verdict = judge(&on_drbd(whole(), |_| {}).build());
    assert_eq!(verdict.grade, Grade::Certified, "{:#?}", verdict.findings);
    says(
        &on_drbd(whole(), |_| {}).fires("remote"),
        FindingGrade::Remark,
        &["DRBD keeps copies of drbd0 (this node is Primary, node-b is Secondary, protocol C): a write \
             completes when the other nodes have it on their disks, too."],
    );
    on_drbd(whole(), |_| {}).silent("copies-apart");
    says(
        &on_drbd(Some(replica("UpToDate", "StandAlone", "DUnknown")), |_| {}).fires("copies-apart"),
        FindingGrade::Suspect,
        &["The copies of drbd0 were not in sync when the measured time began: the connection to node-b \
             is StandAlone."],
    );
    says(
        &on_drbd(Some(replica("UpToDate", "StandAlone", "DUnknown")), |_| {}).fires("remote"),
        FindingGrade::Remark,
        &["no other node is connected, so writes stay here."],
    );
    let lost = |doc: &mut Doc| {
        let change = WayChange {
            device: "drbd0".to_string(),
            seen_ns: 9 * NS_PER_S,
            within_ns: NS_PER_S,
            before: Some(kept(whole())),
            after: Some(kept(Some(replica("UpToDate", "Timeout", "DUnknown")))),
        };
        doc.measured.evidence.way_changes = Some(vec![change]);
    };
    says(
        &on_drbd(whole(), lost).fires("copies-apart"),
        FindingGrade::Suspect,
        &["changed while it was measured: after 9 s the connection to node-b is Timeout."],
    );
    on_drbd(None, |_| {}).missing("copies-apart", "whether the copies of drbd0 were the same");
    on_drbd(whole(), |doc| doc.measured.evidence.way_changes = None)
        .missing("copies-apart", "stayed the same");
}

#[test]
fn reads_that_another_node_answered() {
    let finding = on_drbd(Some(replica("Inconsistent", "SyncTarget", "UpToDate")), |doc| {
        doc.disk().read_bytes /= 10;
        doc.disk().reads /= 10;
    })
    .fires("served-from-cache");
    says(
        &finding,
        FindingGrade::Suspect,
        &["DRBD read from another node, because the disk of this one is not up to date"],
    );
    let whole = on_drbd(Some(replica("UpToDate", "Connected", "UpToDate")), |doc| {
        doc.disk().read_bytes /= 10;
        doc.disk().reads /= 10;
    });
    says(
        &whole.fires("served-from-cache"),
        FindingGrade::Invalid,
        &["something between the test and the disk"],
    );
}
