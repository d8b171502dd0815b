//! What shows that the storage did the work: what the disks moved, or what a file server was asked for, beside what
//! completed. Data; the room `verdict` makes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FileProtocol;
use crate::text::{bytes, number, percent};

/// What the disks below some targets did, or the file server that holds them, beside what the test completed there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Proof {
    /// The time span, from 1.
    pub time_span: u32,
    /// The targets, as given: those that share disks, or a mount.
    pub targets: Vec<String>,
    /// Kernel names of the disks; empty where a file server holds the targets.
    pub disks: Vec<String>,
    /// The file server that holds the targets, as far as which they are proven; none where disks of this machine do.
    pub server: Option<FileServer>,
    /// Of the reads; none when no read completed.
    pub reads: Option<Served>,
    /// Of the writes; none when no write completed.
    pub writes: Option<Served>,
    /// Flushes of the disks' caches that completed, per second, or requests to the server to make written data durable;
    /// none where the kernel does not count them.
    pub flushes_per_s: Option<f64>,
}

/// A server of files, as its client on this machine knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FileServer {
    /// Its name or address, as mounted.
    pub name: String,
    /// How the client talks to it.
    pub protocol: FileProtocol,
    /// Version of the protocol, e.g. `4.2`.
    pub version: Option<String>,
}

/// What completed in one direction, and what the disks moved, or the server sent or took: for all programs
/// together, as the kernel counted it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Served {
    /// I/Os that completed, per second.
    pub completed_per_s: f64,
    /// Their bytes per second.
    pub completed_bytes_per_s: f64,
    /// I/Os of the disks, or requests to the server, per second; `disk_per_s` in documents from before there
    /// were proofs of servers.
    #[serde(alias = "disk_per_s")]
    pub moved_per_s: f64,
    /// Their bytes per second; `disk_bytes_per_s` in such documents.
    #[serde(alias = "disk_bytes_per_s")]
    pub moved_bytes_per_s: f64,
    /// The bytes moved in those that completed; 1 is all of them.
    pub share: f64,
}

impl Proof {
    /// Nothing completed there.
    pub fn is_empty(&self) -> bool {
        self.reads.is_none() && self.writes.is_none()
    }

    /// What was done, without a full stop: `vda served 150,790 reads/s of 4 KiB, 100.0 % of the 150,806/s
    /// completed`, or `filer1 served 71.4 READ/s over NFS 4.2, 97 % of the bytes read; what the server did is
    /// not seen`.
    pub fn words(&self) -> String {
        match &self.server {
            Some(server) => self.words_of_server(server),
            None => self.words_of_disks(),
        }
    }

    fn flushes(&self) -> Option<String> {
        self.flushes_per_s.filter(|count| *count > 0.0).map(number)
    }

    fn words_of_disks(&self) -> String {
        let disks = disks_in_words(&self.disks);
        let reads = self.reads.map(|reads| reads.words("reads"));
        let mut writes = self.writes.map(|writes| writes.words("writes"));
        if let (Some(words), Some(flushes)) = (&mut writes, self.flushes()) {
            let plural = if flushes == "1" { "flush" } else { "flushes" };
            words.push_str(&format!(", with {flushes} {plural}/s"));
        }
        let both: Vec<String> = reads.into_iter().chain(writes).collect();
        format!("{disks} served {}", both.join(", and "))
    }

    fn words_of_server(&self, server: &FileServer) -> String {
        let mut over = format!(" over {}", server.protocol_words());
        let mut part = |served: Served, verb: &str, with: &str, past: &str| {
            let (requests, share) = (number(served.moved_per_s), percent(served.share));
            format!("{requests} {verb}/s{}{with}, {share} of the bytes {past}", std::mem::take(&mut over))
        };
        let reads = self.reads.map(|reads| part(reads, "READ", "", "read"));
        let commit = server.protocol.commit_word();
        let with = self.flushes().map_or(String::new(), |flushes| format!(" with {flushes} {commit}/s"));
        let writes = self.writes.map(|writes| part(writes, "WRITE", &with, "written"));
        let both: Vec<String> = reads.into_iter().chain(writes).collect();
        format!("{} served {}; what the server did is not seen", server.name, both.join(", and "))
    }
}

impl FileServer {
    /// `NFS 4.2`.
    pub fn protocol_words(&self) -> String {
        let name = self.protocol.name();
        self.version.as_ref().map_or(name.to_string(), |version| format!("{name} {version}"))
    }
}

/// Names of disks in a sentence: `vda`, `vda and vdb`, `the 7 disks below`.
pub fn disks_in_words(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [one] => (*one).to_string(),
        [first @ .., last] if first.len() < 4 => format!("{} and {last}", first.join(", ")),
        many => format!("the {} disks below", many.len()),
    }
}

impl Served {
    /// `150,790 reads/s of 4 KiB, 100.0 % of the 150,806/s completed`: where the sizes differ, of their bytes.
    fn words(self, plural: &str) -> String {
        let size = |bytes: f64, ios: f64| if ios > 0.0 { bytes / ios } else { 0.0 };
        let asked = size(self.completed_bytes_per_s, self.completed_per_s);
        let moved = size(self.moved_bytes_per_s, self.moved_per_s);
        // A tenth of a percent tells whether all was served. Where others moved ten times as much it tells nothing.
        let share =
            if self.share < 10.0 { format!("{:.1} %", self.share * 100.0) } else { percent(self.share) };
        let of = if (moved - asked).abs() <= asked / 100.0 {
            format!("{share} of the {}/s completed", number(self.completed_per_s))
        } else {
            let done = number(self.completed_per_s);
            format!("{share} of the bytes of the {done}/s of {} completed", bytes(asked))
        };
        format!("{} {plural}/s of {}, {of}", number(self.moved_per_s), bytes(moved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(completed: (f64, f64), moved: (f64, f64)) -> Served {
        Served {
            completed_per_s: completed.0,
            completed_bytes_per_s: completed.0 * completed.1,
            moved_per_s: moved.0,
            moved_bytes_per_s: moved.0 * moved.1,
            share: moved.0 * moved.1 / (completed.0 * completed.1),
        }
    }

    #[test]
    fn the_proof_tells_what_the_disks_did() {
        let mut proof = Proof {
            disks: vec!["vda".into()],
            reads: Some(served((150_806.0, 4096.0), (150_790.0, 4096.0))),
            flushes_per_s: Some(1.0),
            ..Proof::default()
        };
        assert_eq!(proof.words(), "vda served 150,790 reads/s of 4 KiB, 100.0 % of the 150,806/s completed");
        proof.reads = Some(served((1.0, 4096.0), (1333.379, 4096.0)));
        assert_eq!(proof.words(), "vda served 1,333 reads/s of 4 KiB, 133,338 % of the 1/s completed");
        proof.disks.push("vdb".into());
        proof.reads = Some(served((1000.0, 1048576.0), (2000.0, 524_288.0)));
        proof.writes = Some(served((2000.0, 4096.0), (2040.0, 4096.0)));
        assert_eq!(
            proof.words(),
            "vda and vdb served 2,000 reads/s of 512 KiB, 100.0 % of the bytes of the 1,000/s of 1 MiB completed, \
             and 2,040 writes/s of 4 KiB, 102.0 % of the 2,000/s completed, with 1 flush/s"
        );
    }

    #[test]
    fn the_proof_of_a_server_ends_there() {
        let server =
            FileServer { name: "filer1".into(), protocol: FileProtocol::Nfs, version: Some("4.2".into()) };
        let mut proof = Proof {
            server: Some(server),
            reads: Some(served((73.6, 4096.0), (71.4, 4096.0))),
            flushes_per_s: Some(0.0),
            ..Proof::default()
        };
        assert_eq!(
            proof.words(),
            "filer1 served 71.4 READ/s over NFS 4.2, 97 % of the bytes read; what the server did is not seen"
        );
        (proof.writes, proof.flushes_per_s) = (Some(served((10.0, 4096.0), (5.0, 8192.0))), Some(2.0));
        assert_eq!(
            proof.words(),
            "filer1 served 71.4 READ/s over NFS 4.2, 97 % of the bytes read, and 5 WRITE/s with 2 COMMIT/s, 100 % of \
             the bytes written; what the server did is not seen"
        );
        proof.reads = None;
        assert!(proof.words().starts_with("filer1 served 5 WRITE/s over NFS 4.2 with 2 COMMIT/s, 100 %"));
    }

    #[test]
    fn proofs_of_before_there_were_servers_are_read() {
        let stored =
            r#"{"disks": ["vda"], "reads": {"disk_per_s": 2.0, "disk_bytes_per_s": 8192.0, "share": 1.0}}"#;
        let proof: Proof = serde_json::from_str(stored).expect("a proof");
        let reads = proof.reads.expect("reads");
        assert_eq!((reads.moved_per_s, reads.moved_bytes_per_s, proof.server), (2.0, 8192.0, None));
    }
}
