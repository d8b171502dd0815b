//! What ranks say to each other.
//!
//! A letter is the length of the message, the message as JSON, and bytes that belong to it (a document).
//! Ranks of different versions of the program must understand [`Hello`] and [`Message::Refused`] of each
//! other; the rest is only said among equals.

use serde::{Deserialize, Serialize};

use super::progress::RankProgress;
use truespd_core::load::ranks::Place;
use truespd_core::result::ClockOffset;
use truespd_platform::fault::{Refusal, RefusalKind};
use truespd_verdict::ranks::DoneOnDisks;

/// What one rank says to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// To rank 0: who this is.
    Hello(Hello),
    /// From rank 0: the run, and the place of the receiver in it.
    Welcome(Welcome),
    /// From rank 0, instead of the welcome: the ranks do not fit together; the process ends with this exit code.
    Refused {
        exit_code: u8,
    },
    /// To rank 0: all checks of this rank are done.
    Checked(Checked),
    /// From rank 0: nobody refuses.
    Go {
        /// Files of `-c` that another rank makes.
        left: Vec<Left>,
    },
    /// To all: a file of `-c` was made by this rank.
    Made {
        rank: u32,
        /// As that rank typed it.
        typed: String,
    },
    /// To rank 0: the threads of a time span stand ready.
    Ready {
        /// Number of the time span, from 0.
        time_span: usize,
    },
    /// From rank 0: they start then.
    Start {
        /// Number of the time span, from 0.
        time_span: usize,
        /// By the wall clock of rank 0.
        agreed_unix_ns: u64,
        /// The clock of the receiver beside that of rank 0.
        clock: ClockOffset,
    },
    /// From rank 0: what is not running yet does not run.
    Off,
    /// From rank 0: end the run as at Ctrl+C.
    Stop,
    /// What the clock of rank 0 says; it is answered at once.
    Ping {
        /// By the wall clock of rank 0.
        sent_unix_ns: u64,
    },
    Pong {
        sent_unix_ns: u64,
        /// When the ping came, by the wall clock of the sender.
        received_unix_ns: u64,
        /// When this answer went, by the same clock.
        answered_unix_ns: u64,
    },
    Alive,
    /// To rank 0: how the run goes.
    Progress(RankProgress),
    /// To rank 0: the load of this rank is over; its clock should be compared again.
    LoadIsOver,
    /// From rank 0: the clock of the receiver, compared after its load.
    ClockAfter(ClockOffset),
    /// To rank 0, where a host has several ranks: what this one did on which disk.
    Done(Vec<DoneOnDisks>),
    /// From rank 0: what the other ranks of the receiver's host did.
    OthersDone(Vec<DoneOnDisks>),
    /// To rank 0: the result; the document is the bytes of the letter, when there is one.
    Ended {
        has_measured: bool,
        /// Why it failed, one sentence each.
        failures: Vec<String>,
    },
    /// From rank 0: the results of all added up, which is the document in the bytes of the letter; no bytes
    /// where there is no sum. Only between the runs of a series.
    Sum,
    /// From rank 0: all is done; the process ends with this exit code.
    Bye {
        exit_code: u8,
        /// All ranks are there to leave together. Otherwise rank 0 ends them, and none leaves before: the
        /// launcher would end the others at once.
        in_order: bool,
    },
    /// To rank 0: this rank leaves now.
    Gone,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Hello {
    pub version: String,
    pub host: String,
    /// Which start of which kernel: equal for hosts that are one machine under several names.
    pub boot: String,
    /// The words of the command line, before anything in braces was replaced.
    pub words: Vec<String>,
    pub process: u32,
    /// Processors that this process may use.
    pub processors: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    pub run: String,
    pub standing: Standing,
}

/// Where a rank stands among those of its host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Number among those of its host, from 0.
    pub local: u32,
    pub local_ranks: u32,
    /// Its own part of the processors, where all ranks of the host may use the same ones.
    pub processors: Option<Vec<u32>>,
    /// Numbers of the processes of the other ranks on its host.
    pub processes: Vec<u32>,
}

/// What the checks of a rank found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    pub refusals: Vec<RefusalNote>,
    pub places: Vec<Place>,
    /// Hash of the profile; none when there is none, because the words or the profile are refused.
    pub profile: Option<String>,
}

/// A refusal on its way to rank 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalNote {
    pub kind: RefusalKind,
    pub message: String,
    pub reasons: Vec<String>,
    pub legal: Vec<String>,
    pub hints: Vec<String>,
}

impl From<&Refusal> for RefusalNote {
    fn from(refusal: &Refusal) -> Self {
        RefusalNote {
            kind: refusal.kind,
            message: refusal.message.clone(),
            reasons: refusal.reasons.clone(),
            legal: refusal.legal.clone(),
            hints: refusal.all_hints().cloned().collect(),
        }
    }
}

impl RefusalNote {
    /// The refusal again, of these hosts.
    pub fn of(self, hosts: &str) -> Refusal {
        let mut refusal = Refusal::new(self.kind, self.message).behind(hosts);
        (refusal.reasons, refusal.legal, refusal.hints) = (self.reasons, self.legal, self.hints);
        refusal
    }
}

/// A file of `-c` that another rank makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// As the receiver typed it.
    pub typed: String,
    pub maker: u32,
    /// As the maker typed it.
    pub typed_by_maker: String,
}

/// A message with the bytes that belong to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    pub message: Message,
    pub tail: Vec<u8>,
}

impl From<Message> for Letter {
    fn from(message: Message) -> Self {
        Letter { message, tail: Vec::new() }
    }
}

/// Bytes of the length in front.
const LENGTH_BYTES: usize = 4;

impl Letter {
    pub fn bytes(&self) -> Vec<u8> {
        let json = serde_json::to_vec(&self.message).expect("a message is always JSON");
        let length = u32::try_from(json.len()).expect("a message is shorter than 4 GiB");
        let mut bytes = Vec::with_capacity(LENGTH_BYTES + json.len() + self.tail.len());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&json);
        bytes.extend_from_slice(&self.tail);
        bytes
    }

    /// Reads one; none for what no rank of this version says.
    pub fn read(bytes: &[u8]) -> Option<Letter> {
        let (length, rest) = bytes.split_at_checked(LENGTH_BYTES)?;
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        let (json, tail) = rest.split_at_checked(length)?;
        Some(Letter { message: serde_json::from_slice(json).ok()?, tail: tail.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_arrives_as_it_was_sent() {
        let letter = Letter {
            message: Message::Ended { has_measured: false, failures: vec!["no".into()] },
            tail: vec![0, 1, 255],
        };
        let bytes = letter.bytes();
        assert_eq!(Letter::read(&bytes), Some(letter));
        for cut in 0..LENGTH_BYTES + 3 {
            assert_eq!(Letter::read(&bytes[..cut]), None, "{cut} bytes of it");
        }
        assert_eq!(Letter::read(&[255; 12]), None, "a length beyond the end");
    }

    #[test]
    fn words_of_a_later_version_are_no_letter() {
        let json = br#""sing""#;
        let mut bytes = (json.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(json);
        assert_eq!(Letter::read(&bytes), None);
        // But who they are is understood, whatever else they say of themselves.
        let json = br#"{"hello":{"version":"9.0","host":"b","mood":"fine"}}"#;
        let mut bytes = (json.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(json);
        let hello = Hello { version: "9.0".into(), host: "b".into(), ..Hello::default() };
        assert_eq!(Letter::read(&bytes).map(|letter| letter.message), Some(Message::Hello(hello)));
    }
}
