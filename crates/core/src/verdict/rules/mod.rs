//! The table of rules; each theme has a file of its own.

mod amplified;
mod answers;
mod cache;
mod causes;
mod content;
mod durability;
mod hidden;
mod hosts;
mod limits;
mod machine;
mod network;
mod overlap;
mod pace;
mod pages;
mod paths;
mod place;
mod processors;
mod programs;
mod reach;
mod rhythm;
mod run;
mod standstill;
mod steady;
#[cfg(test)]
mod tests;
mod uneven;

use super::Looks::{self, Document, RealSpan, RunSpan, Span, Sum};
use super::Rule;
use crate::result::Cause::{
    self, Cache, Content, Limit, Machine, Neighbours, Processor, Run, Symptom, Target,
};
use crate::result::FindingGrade::{self, Invalid, Remark, Suspect};
use crate::result::Meaning::{self, HeldBack, OtherLoad, Seen, WrongNumber};

pub(super) use network::{Served as OnServer, served as on_servers};

/// Thresholds that the rules before a run share with the rules of a run.
pub mod thresholds {
    pub use super::cache::{RANGE_SMALL_BYTES, RANGE_SMALL_PART};
    pub use super::content::{REDUCED_SUSPECT, REPEATED_NOTABLE, UNWRITTEN_REMARK, ZERO_NOTABLE};
    pub use super::machine::{
        DRIFT_REMARK, FOREIGN_BYTES_PER_S, MEMORY_FULL_SUSPECT, MEMORY_SOME_SUSPECT, STEAL_REMARK,
        STEAL_SUSPECT,
    };
    pub use super::pace::WAITING_SUSPECT;
}

const fn rule(
    name: &'static str,
    worst: FindingGrade,
    meaning: Meaning,
    cause: Cause,
    look: Looks,
    about: &'static str,
    advice: &'static str,
) -> Rule {
    Rule { name, worst, meaning, cause, about, advice, look }
}

/// Every rule. Findings of one grade are shown in the order of what they mean for the number, those that mean
/// the same in the order of their causes, and those of one cause in the order of this table.
pub const RULES: &[Rule] = &[
    rule(
        "run-failed",
        Invalid,
        WrongNumber,
        Run,
        Document(run::failed),
        "The run failed, or ended before anything was measured.",
        "fix the cause and run again; the numbers of an incomplete run cannot be used",
    ),
    rule(
        "simulated",
        Invalid,
        WrongNumber,
        Run,
        Span(run::simulated),
        "The engine sends nothing to the target (null, sim).",
        "leave --engine out to measure; these engines are for testing the tool",
    ),
    rule(
        "host-not-certified",
        Invalid,
        WrongNumber,
        Run,
        Sum(hosts::not_certified),
        "A result that was added up is suspect or invalid, or was not judged: the sum is suspect then, and invalid when all of \
         its results are. One host whose cache answered raises the sum as much as fast storage would.",
        "judge the results of these hosts (truespd judge), mend what the findings name, and repeat; or add up the others \
         without them",
    ),
    rule(
        "host-missing",
        Suspect,
        WrongNumber,
        Run,
        Sum(hosts::missing),
        "Ranks of a cluster run left no result, or theirs was not given: the sum is that of a part of the run. The others ran \
         with less company than was asked for from when a rank was lost.",
        "look at the named hosts (is the host up, does the network hold, what did its own output say), and repeat; results \
         that a lost rank left behind can be added (truespd merge)",
    ),
    rule(
        "hosts-not-together",
        Suspect,
        WrongNumber,
        Run,
        Sum(hosts::not_together),
        "The hosts measured together for less of the time than the longest of them: by 2 % of it or more that is a remark, by \
         5 % or more the sum is suspect. What is not known of their clocks counts as time apart. Clocks are compared by \
         truespd cluster run; otherwise those of the hosts are taken as they are.",
        "start the hosts together (truespd cluster run does), keep their clocks the same (chrony, ntpd), or measure longer \
         (-d), so that the ends matter less",
    ),
    rule(
        "nothing-completed",
        Invalid,
        WrongNumber,
        Symptom,
        Span(run::nothing_completed),
        "No I/O completed in the measured time.",
        "measure longer (-d), and check whether the target answers at all",
    ),
    rule(
        "stalled",
        Invalid,
        WrongNumber,
        Target,
        RunSpan(run::stalled),
        "I/Os were out for a second or more when the measured time ended, and for ten times the mean latency, so that no \
         count and no latency holds them (suspect). When no I/O completed, or some of these never ended, the result is \
         invalid.",
        "look in the kernel's log (dmesg) for errors and resets of the device or of the connection to it, and measure \
         longer (-d, -L), so that the latencies hold the stalls",
    ),
    rule(
        "target-lost",
        Suspect,
        WrongNumber,
        Target,
        RealSpan(place::lost),
        "Somebody removed, replaced, renamed or cut the target while it was tested, or its file system was unmounted or \
         became read-only.",
        "keep other programs away from the target, and repeat",
    ),
    rule(
        "path-down",
        Suspect,
        OtherLoad,
        Target,
        RealSpan(paths::down),
        "A path to a disk, or the only connection to its server, was down, came or went while it was measured, or all paths \
         were such that the storage passes I/Os on inside (non-optimized). Looked at once per second: NVMe, iSCSI, Fibre \
         Channel, nbd, and the paths of a multipath device.",
        "bring the path back (multipath -ll, nvme list-subsys, iscsiadm -m session -P 1 show them; dmesg tells why), and repeat",
    ),
    rule(
        "copies-apart",
        Suspect,
        WrongNumber,
        Target,
        RealSpan(paths::copies_apart),
        "DRBD did not keep all copies the same, or was just making them so: a connection was not up, or a disk not up to \
         date. Writes are then faster, or slower, than they are with all nodes.",
        "wait until drbdadm status shows all disks as UpToDate, and repeat",
    ),
    rule(
        "path-shares",
        Remark,
        Seen,
        Target,
        RealSpan(paths::shares),
        "The device has several paths: which part of the bytes each of them carried.",
        "to use all paths, set the policy: iopolicy of the NVMe subsystem, path_grouping_policy and path_selector of \
         multipath",
    ),
    rule(
        "served-from-cache",
        Invalid,
        WrongNumber,
        Cache,
        RealSpan(cache::served_from_cache),
        "The disks, or the server of a network file system, can have moved less than 90 % of the bytes that the test completed \
         (suspect), or less than half of them (invalid): by their own counters, by what this process itself had the disks \
         move, or by what the page cache of a loop device held before. Reads and writes are compared separately.",
        "bypass the page cache with -Su or -Sh, and look for other caches between the test and the disk",
    ),
    rule(
        "never-written",
        Invalid,
        WrongNumber,
        Content,
        RealSpan(content::never_written),
        "The test read ranges that were never written: from 5 % of the range the result is suspect, from half of it \
         invalid.",
        "write the file once before reading it: -c makes files with every byte written, and --recreate replaces a file",
    ),
    rule(
        "direct-not-honoured",
        Invalid,
        WrongNumber,
        Cache,
        RealSpan(pages::direct_not_honoured),
        "The test asked for direct I/O, but the file system keeps its files in memory (invalid), or the file's part of \
         the page cache grew (suspect).",
        "test on a file system that supports direct I/O (ext4, xfs), or on the device itself",
    ),
    rule(
        "unproven",
        Suspect,
        WrongNumber,
        Cache,
        RealSpan(run::unproven),
        "The result does not show which disks are below the target or what they moved, nor what a server was asked for; NVMe \
         commands (/dev/ngXnY) are counted since Linux 6.13, and only where queue/iostats_passthrough is 1. Or its I/Os are too \
         few to compare them with that: fewer than 100, and fewer than 10 that complete 64 MiB together.",
        "choose a target whose disks this machine sees and counts (queue/iostats set to 1; in a container a volume \
         instead of its root), or measure on the machine that has the disks",
    ),
    rule(
        "memory-target",
        Suspect,
        WrongNumber,
        Cache,
        RealSpan(place::memory),
        "The target is in memory: a file on tmpfs makes the result suspect, a device in memory (zram) is a remark.",
        "choose a target on a disk, unless you want to measure memory",
    ),
    rule(
        "coalesced",
        Suspect,
        WrongNumber,
        Cache,
        RealSpan(cache::coalesced),
        "The disks received fewer and larger I/Os than the test issued: from 1.5 times the size the result is suspect, \
         unless the test's I/Os were 64 KiB or larger.",
        "these IOPS are not the disk's: use random I/O (-r), or use only the throughput of this result",
    ),
    rule(
        "read-amplified",
        Suspect,
        WrongNumber,
        Cache,
        RealSpan(amplified::reads),
        "This process had the disks read more than the test asked for: from twice the bytes the result is suspect, from 1.5 \
         times it is a remark.",
        "use -Su or -Sh: direct I/O reads what is asked for and nothing ahead",
    ),
    rule(
        "working-set",
        Suspect,
        WrongNumber,
        Cache,
        RealSpan(cache::working_set),
        "The tested range fits into memory while the page cache is in use, or it is smaller than 1 GiB and than 1 % \
         of the disk.",
        "test a range much larger than all caches, e.g. -c20G",
    ),
    rule(
        "threads-overlap",
        Suspect,
        WrongNumber,
        Cache,
        RealSpan(overlap::threads_overlap),
        "Several threads walk through the same data past the page cache, from the same place or less than 1 GiB apart (-s \
         without -si or -T, or with a small -T), or several requests of a thread do (-p).",
        "let the threads share one walk (-si), or keep them apart (-T<size>)",
    ),
    rule(
        "zero-data",
        Suspect,
        WrongNumber,
        Content,
        RealSpan(content::zero_data),
        "The data that the test read are zeros: from 5 % of a sample the result is suspect. One block needs a \
         sample of 20.",
        "fill the target with random data first: -c with -Zr makes such a file; a device needs a write test over all \
         of it (-w100 -Zr), which destroys its content",
    ),
    rule(
        "reducible-reads",
        Suspect,
        WrongNumber,
        Content,
        RealSpan(content::reducible_reads),
        "The data that the test read compress well or repeat: suspect where a layer is known to compress or \
         deduplicate, otherwise a remark.",
        "make the file again with random data: -c with -Zr and --recreate",
    ),
    rule(
        "reducible-writes",
        Suspect,
        WrongNumber,
        Content,
        RealSpan(content::reducible_writes),
        "The test wrote zeros (suspect), or data that compress well or repeat (suspect where a layer is known to \
         compress or deduplicate, otherwise a remark).",
        "write random data: -Zr, or -Z<size>, which takes less processor time",
    ),
    rule(
        "volatile-cache",
        Suspect,
        WrongNumber,
        Cache,
        RealSpan(durability::volatile_cache),
        "Writes without write-through went to the page cache or to a disk with a volatile cache: they were \
         acknowledged before they were durable.",
        "use -Sh or -Sw, which count a write when it is durable; a drive whose cache survives a power failure (as in \
         many servers) may still report a volatile cache (write back)",
    ),
    rule(
        "write-through-unseen",
        Suspect,
        WrongNumber,
        Cache,
        RealSpan(durability::write_through_unseen),
        "The test asked for write-through, but a disk with a volatile cache and without FUA received too few flushes. It takes so \
         many writes that 10 flushes are due.",
        "look for a mount option or a driver that drops flushes (nobarrier, or cache=unsafe of a virtual machine)",
    ),
    rule(
        "provisioned-limit",
        Suspect,
        HeldBack,
        Limit,
        RealSpan(hidden::provisioned),
        "The rate is that of a cgroup limit, or it varies less than any medium's (below 1 %) while I/Os wait in a queue. Below \
         3 % it is a limit when its shape is that of one: most seconds at one highest rate, bursts that each second makes up \
         for, latencies that are all alike, or the same rate with half as many in flight (another time span). Above 20,000 IOPS \
         it is a remark.",
        "raise or remove the limit to measure the disk; more queue depth only adds latency here",
    ),
    rule(
        "pauses",
        Suspect,
        Seen,
        Symptom,
        RealSpan(uneven::pauses),
        "Almost nothing completed (less than a tenth of what is usual) for 0.1 s or more although the program ran: for 4 % \
         of the measured time in all, or three times and 1 % of it (suspect), or once for 0.2 s (remark). It takes 20 I/Os per second.",
        "look for what the target does at these times: its housekeeping, flushes, errors in the kernel's log (dmesg)",
    ),
    rule(
        "uneven",
        Suspect,
        Seen,
        Symptom,
        RealSpan(uneven::uneven),
        "The mean is no rate that there ever was: two levels in turn that differ by 25 % of the higher one, regular breaks \
         that cost 3 %, or a scatter of 25 % from second to second (half seconds in runs below 10 s). It takes 20 I/Os per second.",
        "look at the series over time (-D, or the JSON document) for what happens at these times, and report both rates",
    ),
    rule(
        "step-down",
        Suspect,
        Seen,
        Symptom,
        RealSpan(steady::step_down),
        "The rate fell by 25 % or more during the run and stayed low. The cause is named when something changed with it: a \
         limit, a path to the storage, other programs on the disks, or the processor time of the threads.",
        "warm up (-W) until the rate has fallen, to measure the rate that lasts",
    ),
    rule(
        "warm-up-short",
        Suspect,
        Seen,
        Symptom,
        RealSpan(steady::warm_up),
        "In the first part of the measured time the rate differed from the rest by 15 % or more, so that the mean is off by 2 % \
         (remark) or by 5 % (suspect). A cause is named when there is one to be \
         seen.",
        "warm up longer (-W)",
    ),
    rule(
        "not-steady",
        Suspect,
        Seen,
        Symptom,
        RealSpan(steady::not_steady),
        "The rate was not steady: the fifths of the measured time differ by more than 20 % of the mean, or their trend is more \
         than 10 % (SNIA's limits), and the scatter from second to second does not explain it. Suspect in runs of five minutes \
         and more, as SNIA's rounds are a minute long; in shorter ones a remark, and suspect above 40 % or 30 %.",
        "measure longer, look for other load on the machine, or repeat the run and report the spread",
    ),
    rule(
        "too-short",
        Suspect,
        Seen,
        Symptom,
        RealSpan(steady::too_short),
        "A measured time below 2.5 s is suspect, one below 30 s is a remark.",
        "measure for a minute or more (-d60)",
    ),
    rule(
        "queue-depth",
        Suspect,
        HeldBack,
        Symptom,
        RealSpan(pace::queue_depth),
        "Fewer I/Os were in flight on average than asked for: below 75 % the result is suspect, below 90 % it is a \
         remark. It takes 100 I/Os, and twice as many as were asked for in flight.",
        "use more threads (-t) with less depth each",
    ),
    rule(
        "standstill",
        Suspect,
        WrongNumber,
        Processor,
        RealSpan(standstill::standstill),
        "The whole program stood still while it measured, or at the end of it: for 0.2 s at a time or 1 % of the measured \
         time (suspect), or for 0.1 s (remark).",
        "make sure that nothing stops the program (SIGSTOP, a debugger, a frozen cgroup, a paused or moved virtual \
         machine), and repeat",
    ),
    rule(
        "generator-bound",
        Suspect,
        HeldBack,
        Processor,
        RealSpan(pace::generator_bound),
        "A thread computed for 95 % of its time, waited for a processor for 10 % of it, or was stopped by a processor \
         quota.",
        "use more threads (-t) on more processors, larger I/Os, or less work per I/O (-Zr costs processor time)",
    ),
    rule(
        "generator-cost",
        Remark,
        HeldBack,
        Processor,
        RealSpan(pace::generator_cost),
        "TrueSpd's own work took 25 % or more of a thread's time per I/O. It is measured before the run, without \
         storage.",
        "use larger I/Os or more threads (-t); truespd bench-self shows what the work consists of",
    ),
    rule(
        "below-rate",
        Suspect,
        HeldBack,
        Symptom,
        RealSpan(pace::below_rate),
        "The test reached less than 98 % of the rate set with -g. Where fewer than 100 I/Os were asked for, 10 have to be \
         missing.",
        "raise -o, or lower -g (which counts per thread)",
    ),
    rule(
        "coordinated-omission",
        Suspect,
        WrongNumber,
        Symptom,
        RunSpan(pace::coordinated_omission),
        "The rate set with -g was reached on average, but I/Os were issued late: from their intended start to their \
         end they took twice their latency and 1 ms more, at p99 or below (suspect) or at p99.9 (remark). A percentile needs 10 I/Os above it, so it takes 20 in all.",
        "use the response times (on standard error and in the JSON document), which a client at this rate would see; \
         raise -o, so that no I/O waits for another to end",
    ),
    rule(
        "other-test",
        Suspect,
        OtherLoad,
        Neighbours,
        RealSpan(machine::other_test),
        "Another run of TrueSpd had the same target when this one began or ended: one that writes makes the result \
         suspect, one that only reads is a remark.",
        "run one test after the other; --exclusive refuses to run beside another test",
    ),
    rule(
        "other-io",
        Suspect,
        OtherLoad,
        Neighbours,
        RealSpan(network::other_io),
        "The disks, or a mount of a file server, moved more than this run can explain, by 5 % and 100 KiB/s or more.",
        "stop the other programs that use the disks (iotop and pidstat -d show them), and repeat",
    ),
    rule(
        "steal",
        Suspect,
        OtherLoad,
        Neighbours,
        RealSpan(machine::steal),
        "Other virtual machines on the host took processor time: above 5 % (15 % of one processor) the result is \
         suspect, above 2 % (7 %) it is a remark.",
        "repeat at a quieter time, or on a machine with dedicated processors",
    ),
    rule(
        "memory-pressure",
        Suspect,
        OtherLoad,
        Neighbours,
        RealSpan(machine::memory_pressure),
        "Tasks waited for memory, or the machine swapped, during the measured time.",
        "free memory or use fewer and smaller buffers, and repeat",
    ),
    rule(
        "unstable-clock",
        Suspect,
        WrongNumber,
        Machine,
        RealSpan(machine::clock),
        "The clock that times the I/Os drifted: above 1,000 parts per million the result is suspect, above 100 it is a \
         remark.",
        "check the kernel's clock source and the time synchronisation, and repeat",
    ),
    rule(
        "host-clock",
        Suspect,
        WrongNumber,
        Machine,
        Sum(hosts::clocks),
        "The clock of a host moved against that of rank 0 during the measured time, beyond what the comparison leaves open and \
         by 1 ms or more: above 1,000 parts per million the sum is suspect, above 100 it is a remark. It was set, or it drifts, so \
         when the host measured is not known well.",
        "let the clock settle before a run (chronyc tracking, ntpq -p), and set no clock during one",
    ),
    rule(
        "host-apart",
        Suspect,
        Seen,
        Symptom,
        Sum(hosts::apart),
        "A host's rate or mean latency is far from that of the others: by five deviations, of which the median of all deviations \
         tells the size, and by 10 % of the median. From twice the median, or half of it, on the sum is suspect, below it is a \
         remark. It takes three hosts.",
        "compare this host with the others (truespd compare, truespd inspect): disks, firmware, links, other load; the sum \
         hides how far apart they are",
    ),
    rule(
        "percentiles",
        Remark,
        Seen,
        Symptom,
        Span(run::percentiles),
        "The test completed too few I/Os for its highest percentiles.",
        "ignore these percentiles, or measure longer",
    ),
    rule(
        "stopped-early",
        Remark,
        Seen,
        Symptom,
        Span(run::stopped_early),
        "The run was stopped before its measured time was over.",
        "let the run end by itself",
    ),
    rule(
        "remote",
        Remark,
        Seen,
        Cache,
        RealSpan(place::remote),
        "The data are on another machine, DRBD keeps copies there, or a program (FUSE) serves them. What this machine asked \
         the server for (counters of NFS and SMB, and of disks by NVMe over fabrics, iSCSI, Ceph and nbd) proves the run as \
         far as the server. The remark says who that is, and of DRBD which node is Primary.",
        "compare with a run on the machine that holds the data",
    ),
    rule(
        "sent-again",
        Suspect,
        OtherLoad,
        Target,
        RealSpan(network::retransmissions),
        "The client of a file server had to send requests again: from 1 % of 100 or more, or when the server did not answer within a \
         timeout, the result is suspect; fewer are a remark.",
        "look for lost packets and broken connections between this machine and the server (ss -ti, dmesg), and repeat",
    ),
    rule(
        "governor",
        Remark,
        HeldBack,
        Machine,
        RealSpan(machine::governor),
        "The processors' frequency governor is powersave.",
        "set the governor to performance while measuring latencies",
    ),
    rule(
        "bound-away",
        Remark,
        HeldBack,
        Machine,
        RealSpan(pace::bound_away),
        "A thread was bound to a busy processor while other processors were idle.",
        "use -n to let the kernel place the threads, or -a to choose other processors",
    ),
];
