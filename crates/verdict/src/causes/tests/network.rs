//! Files that another machine holds.

use super::*;
use truespd_core::result::{FileProtocol, RequestCounts, ServedMount, ServerCounts};

const MIB: u64 = 1 << 20;

/// The clean document, with its file on NFS instead of a disk: every I/O asked the server.
fn on_nfs(mut doc: Doc) -> Doc {
    let remote = Layer {
        server: Some("filer1".to_string()),
        mount_point: Some("/far".to_string()),
        ..layer(LayerKind::RemoteFilesystem, "nfs4", &[])
    };
    doc.facts()[0].layers = vec![layer(LayerKind::File, PATH, &[1]), remote];
    doc.measured.evidence.disks.clear();
    let of = |per_s: u64| RequestCounts {
        requests: per_s * SECONDS,
        transmissions: per_s * SECONDS,
        queue_ns: per_s * SECONDS * 20_000,
        round_trip_ns: per_s * SECONDS * 810_000,
        ..RequestCounts::default()
    };
    let [read_bytes, written_bytes] =
        [doc.reads_per_s, doc.writes_per_s].map(|per_s| per_s * SECONDS * doc.asked.block_bytes);
    let is_direct = doc.asked.is_direct();
    let buffered = |bytes: u64| if is_direct { 0 } else { bytes };
    doc.measured.evidence.served_mounts = vec![ServedMount {
        mount_points: vec!["/far".to_string()],
        protocol: FileProtocol::Nfs,
        version: Some("4.2".to_string()),
        address: Some("10.0.0.5".to_string()),
        connections: Some(1),
        window_ns: SECONDS * NS_PER_S,
        total: ServerCounts {
            read: of(doc.reads_per_s),
            write: of(doc.writes_per_s),
            server_read_bytes: read_bytes,
            server_write_bytes: written_bytes,
            buffered_read_bytes: buffered(read_bytes),
            buffered_write_bytes: buffered(written_bytes),
            direct_read_bytes: read_bytes - buffered(read_bytes),
            direct_write_bytes: written_bytes - buffered(written_bytes),
            ..ServerCounts::default()
        },
        ..ServedMount::default()
    }];
    doc
}

fn reads(change: impl FnOnce(&mut Doc)) -> Doc {
    let mut doc = on_nfs(Doc::clean());
    change(&mut doc);
    doc
}

/// The same through the page cache.
fn buffered(change: impl FnOnce(&mut Doc)) -> Doc {
    let mut doc = Doc::clean();
    doc.asked.cache = CacheMode::Cached;
    let mut doc = on_nfs(doc);
    change(&mut doc);
    doc
}

fn total(doc: &mut Doc) -> &mut ServerCounts {
    &mut doc.measured.evidence.served_mounts[0].total
}

#[test]
fn what_the_server_was_asked_for_is_proof() {
    let verdict = judge(&reads(|_| {}).build());
    assert_eq!(verdict.grade, Grade::Certified, "{:#?}", verdict.findings);
    let [remark] = verdict.findings.as_slice() else { panic!("{:#?}", verdict.findings) };
    assert_eq!(
        (remark.rule.as_str(), remark.says.as_str()),
        (
            "remote",
            "Served by filer1 over NFS 4.2: 20,000 READ/s, 100 % of the bytes read, 810 us there and back; what the \
             server did is not seen."
        )
    );
    let figure = |name: &str| remark.figures.iter().find(|figure| figure.name == name).map(|f| f.value);
    assert_eq!(figure("server_reads_per_s"), Some(20_000.0));
    assert_eq!(figure("server_read_round_trip_ms"), Some(0.81));
    let [proof] = verdict.proofs.as_slice() else { panic!("{:#?}", verdict.proofs) };
    assert_eq!(
        (proof.targets.as_slice(), proof.disks.as_slice()),
        ([PATH.to_string()].as_slice(), [].as_slice())
    );
    assert_eq!((proof.time_span, proof.writes, proof.flushes_per_s), (1, None, None));
    assert_eq!(
        proof.words(),
        "filer1 served 20,000 READ/s over NFS 4.2, 100 % of the bytes read; what the server did is not seen"
    );
}

#[test]
fn writes_are_proven_with_their_commits() {
    let mut doc = on_nfs(Doc::clean_writes());
    total(&mut doc).commit = RequestCounts { requests: 50 * SECONDS, ..RequestCounts::default() };
    total(&mut doc).write.queue_ns = 20_000 * SECONDS * 2_000_000;
    doc.measured.evidence.served_mounts[0].connections = Some(4);
    says(
        &doc.fires("remote"),
        FindingGrade::Remark,
        &["(4 connections): 20,000 WRITE/s and 50 COMMIT/s, 100 % of the bytes written, 810 us there and \
             back after 2 ms in this machine's queue;"],
    );
    let mut doc = on_nfs(Doc::clean_writes());
    total(&mut doc).commit = RequestCounts { requests: 50 * SECONDS, ..RequestCounts::default() };
    let proofs = judge(&doc.build()).proofs;
    let words = "filer1 served 20,000 WRITE/s over NFS 4.2 with 50 COMMIT/s, 100 % of the bytes written; \
        what the server did is not seen";
    assert_eq!(proofs.iter().map(|proof| proof.words()).collect::<Vec<_>>(), [words]);
    on_nfs(Doc::clean_writes()).silent("unproven");
    on_nfs(Doc::clean_writes()).silent("served-from-cache");
}

#[test]
fn reads_that_never_left_this_machine() {
    let cached = |server_part: f64| {
        buffered(|doc| {
            let server = total(doc);
            server.server_read_bytes = (server.server_read_bytes as f64 * server_part) as u64;
            server.read.requests = (server.read.requests as f64 * server_part) as u64;
        })
    };
    let finding = cached(0.0).fires("served-from-cache");
    let words = [
        "The test completed 20,000 reads/s of 4 KiB, but filer1 received none: the page cache of this machine answered",
    ];
    says(&finding, FindingGrade::Invalid, &words);
    assert!(finding.advice.contains("-Su"), "{}", finding.advice);
    says(
        &cached(0.4).fires("served-from-cache"),
        FindingGrade::Invalid,
        &["filer1 received 8,000 READ/s, 40 % of the bytes: "],
    );
    says(&cached(0.8).fires("served-from-cache"), FindingGrade::Suspect, &["80 % of the bytes"]);
    cached(0.95).silent("served-from-cache");
    cached(0.0).silent("unproven");
    // In larger requests is as good.
    buffered(|doc| total(doc).read.requests /= 16).silent("served-from-cache");
    let mapped = buffered(|doc| {
        doc.asked.memory_mapped = true;
        *total(doc) = ServerCounts::default();
    });
    says(&mapped.fires("served-from-cache"), FindingGrade::Invalid, &["memory mapped (-Sm)"]);
}

#[test]
fn a_few_reads_are_no_proof_of_a_server() {
    let few = || {
        let mut doc = on_nfs(doc(|d| d.reads_per_s = 1));
        total(&mut doc).server_read_bytes = 0;
        doc
    };
    few().missing("served-from-cache", "too few I/Os: 60 reads, it takes 100");
    says(
        &few().fires("unproven"),
        FindingGrade::Suspect,
        &["Too few I/Os to prove the result: it has 60 reads"],
    );
}

#[test]
fn writes_that_never_left_this_machine() {
    let mut doc = Doc::clean_writes();
    doc.asked.cache = CacheMode::Cached;
    doc.asked.write_through = false;
    let mut doc = on_nfs(doc);
    total(&mut doc).server_write_bytes /= 10;
    says(
        &doc.fires("served-from-cache"),
        FindingGrade::Invalid,
        &[
            "writes/s of 4 KiB, but filer1 received",
            "10 % of the bytes: the page cache of this machine took them",
        ],
    );
}

#[test]
fn a_loop_device_on_nfs_with_a_cache_of_its_own() {
    let over = |direct_io: bool| {
        reads(|doc| {
            let remote = doc.facts()[0].layers[1].clone();
            doc.facts()[0].layers = vec![
                Layer { direct_io: Some(direct_io), ..layer(LayerKind::Loop, "loop3", &[1]) },
                layer(LayerKind::File, "/far/image", &[2]),
                remote,
            ];
            total(doc).server_read_bytes /= 100;
        })
        .fires("served-from-cache")
    };
    says(&over(false), FindingGrade::Invalid, &["a loop device below the target"]);
    says(&over(true), FindingGrade::Invalid, &["something between the test and the server"]);
}

#[test]
fn without_counters_nothing_is_proven() {
    let none = || reads(|doc| doc.measured.evidence.served_mounts.clear());
    assert_eq!(judge(&none().build()).proofs, []);
    says(
        &none().fires("unproven"),
        FindingGrade::Suspect,
        &["the disks of 'test.dat' are in another machine"],
    );
    says(&none().fires("remote"), FindingGrade::Remark, &["every I/O crosses the network"]);
    none().missing("sent-again", "what was sent again to the server of 'test.dat'");
    none().silent("served-from-cache");
}

#[test]
fn other_programs_on_the_mount() {
    let beside = |mib_per_s: u64, change: &dyn Fn(&mut Doc)| {
        buffered(|doc| {
            total(doc).buffered_read_bytes += mib_per_s * MIB * SECONDS;
            change(doc);
        })
    };
    // They alone can have made the server send what it sent.
    let finding = beside(80, &|_| {}).fires("unproven");
    says(
        &finding,
        FindingGrade::Suspect,
        &["other programs moved 80 MiB/s of reads on the mount of 'test.dat'"],
    );
    says(
        &beside(80, &|_| {}).fires("other-io"),
        FindingGrade::Suspect,
        &["used the mount of filer1 during the run: 80 MiB/s of reads beside the 78.1 MiB/s of this run"],
    );
    // Unless the kernel counts it as this process's own, or direct I/O asked for it.
    let own = |doc: &mut Doc| doc.host().own_disk_read_bytes = Some(20_000 * 4096 * SECONDS);
    beside(80, &own).silent("unproven");
    reads(|doc| total(doc).direct_read_bytes *= 2).silent("unproven");
    // A few bytes are nobody.
    beside(0, &|doc| total(doc).buffered_read_bytes += MIB).silent("other-io");
    beside(0, &|_| {}).silent("unproven");
}

#[test]
fn requests_that_were_sent_again() {
    let again = |requests: u64, timeouts: u64| {
        reads(|doc| {
            total(doc).read.transmissions += requests;
            total(doc).read.timeouts = timeouts;
        })
    };
    again(0, 0).silent("sent-again");
    says(
        &again(60, 0).fires("sent-again"),
        FindingGrade::Remark,
        &["60 of 1,200,000 requests to filer1 had to be sent again (<0.1 %)."],
    );
    says(&again(12_000, 0).fires("sent-again"), FindingGrade::Suspect, &["(1 %)"]);
    // One of 60 is no share yet.
    let mut few = on_nfs(doc(|d| d.reads_per_s = 1));
    total(&mut few).read.transmissions += 1;
    says(&few.fires("sent-again"), FindingGrade::Remark, &["1 of 60 requests", "(1.7 %)"]);
    says(
        &again(1, 1).fires("sent-again"),
        FindingGrade::Suspect,
        &["; once the server did not answer within the timeout."],
    );
}

/// The same on SMB, whose client keeps no times and does not count what programs asked for.
fn smb(direct: bool) -> Doc {
    let mut doc = if direct { reads(|_| {}) } else { buffered(|_| {}) };
    let mount = &mut doc.measured.evidence.served_mounts[0];
    mount.protocol = FileProtocol::Smb;
    mount.version = Some("3.1.1".to_string());
    mount.connections = None;
    let total = total(&mut doc);
    (total.buffered_read_bytes, total.direct_read_bytes) = (0, 0);
    (total.read.queue_ns, total.read.round_trip_ns) = (0, 0);
    doc
}

#[test]
fn smb_counts_less() {
    says(
        &smb(true).fires("remote"),
        FindingGrade::Remark,
        &[
            "Served by filer1 over SMB 3.1.1: 20,000 READ/s, 100 % of the bytes read; what the server did is not seen.",
        ],
    );
    smb(true).silent("unproven");
    smb(true).silent("other-io");
    smb(true).missing("sent-again", "what was sent again");
    // Through the page cache, another program may have made the requests.
    says(
        &smb(false).fires("unproven"),
        FindingGrade::Suspect,
        &["not whether the test or another program asked"],
    );
    let cached = || {
        let mut doc = smb(false);
        total(&mut doc).server_read_bytes = 0;
        doc
    };
    says(&cached().fires("served-from-cache"), FindingGrade::Invalid, &["filer1 received none"]);
    cached().silent("unproven");
    let mut written = on_nfs(Doc::clean_writes());
    written.measured.evidence.served_mounts[0].protocol = FileProtocol::Smb;
    total(&mut written).commit.requests = SECONDS;
    says(&written.fires("remote"), FindingGrade::Remark, &["20,000 WRITE/s and 1 FLUSH/s,"]);
}
