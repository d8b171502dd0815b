//! The table of rules; each theme has a file of its own.

mod cache;
mod content;
mod durability;
mod limits;
mod machine;
mod pace;
mod place;
mod run;
mod steady;
#[cfg(test)]
mod tests;

use super::Looks::{self, Document, RealSpan, Span};
use super::Rule;
use crate::result::Grade::{self, Certified, Invalid, Suspect};

/// From where on something is worth a word, for those who tell the same before a run.
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
    worst: Grade,
    look: Looks,
    about: &'static str,
    advice: &'static str,
) -> Rule {
    Rule { name, worst, about, advice, look }
}

/// Every rule, in the order in which findings of one grade are shown.
pub const RULES: &[Rule] = &[
    rule(
        "run-failed",
        Invalid,
        Document(run::failed),
        "The run failed, or ended before anything was measured.",
        "mend what failed and run again; numbers of a part of a run describe nothing",
    ),
    rule(
        "simulated",
        Invalid,
        Span(run::simulated),
        "The engine sends nothing to the target (null, sim).",
        "leave --engine out to measure; these engines are for testing the tool",
    ),
    rule(
        "nothing-completed",
        Invalid,
        Span(run::nothing_completed),
        "No I/O completed in the measured time.",
        "measure longer (-d), and look whether the target answers at all",
    ),
    rule(
        "served-from-cache",
        Invalid,
        RealSpan(cache::served_from_cache),
        "The disks moved less than 90 % of the bytes that completed (suspect), or less than half (invalid); reads \
         and writes apart.",
        "bypass the page cache with -Su or -Sh, and look for other caches on the way",
    ),
    rule(
        "never-written",
        Invalid,
        RealSpan(content::never_written),
        "Reads of ranges that were never written: from 5 % of the range suspect, from half invalid.",
        "write the file once before reading it: -c makes files with every byte written, --recreate anew",
    ),
    rule(
        "direct-not-honoured",
        Invalid,
        RealSpan(cache::direct_not_honoured),
        "Direct I/O was asked for, and the file system keeps files in memory (invalid) or its page cache grew.",
        "test on a file system that does direct I/O (ext4, xfs), or the device itself",
    ),
    rule(
        "unproven",
        Suspect,
        RealSpan(run::unproven),
        "The result does not tell which disks lie below and what they moved.",
        "give a target whose disks this machine sees and counts (queue/iostats set to 1; in a container a volume instead \
         of its root), or measure where the disks are",
    ),
    rule(
        "memory-target",
        Suspect,
        RealSpan(place::memory),
        "The target is in memory: a tmpfs file is suspect, a device in memory (zram) is remarked.",
        "give a target on a disk, unless memory is what you want to measure",
    ),
    rule(
        "coalesced",
        Suspect,
        RealSpan(cache::coalesced),
        "The disks saw fewer and larger I/Os than were issued: from 1.5 times the size suspect, unless each was 64 KiB \
         or more.",
        "IOPS are not the disk's here: use random I/O (-r), or read the result as throughput",
    ),
    rule(
        "working-set",
        Suspect,
        RealSpan(cache::working_set),
        "The tested range fits into memory while the page cache is in use, or is below 1 GiB and 1 % of the disk.",
        "test a range much larger than the caches in the way, e.g. -c20G",
    ),
    rule(
        "zero-data",
        Suspect,
        RealSpan(content::zero_data),
        "The data that were read are zeros, from 5 % of a sample on.",
        "fill the target with data first: -c with -Zr makes such a file; on a device that is -w100 -Zr over all of it, \
         which destroys what it holds",
    ),
    rule(
        "reducible-reads",
        Suspect,
        RealSpan(content::reducible_reads),
        "The data that were read compress well or repeat; suspect where a layer is known to make use of that.",
        "make the file with random data: -c with -Zr, --recreate",
    ),
    rule(
        "reducible-writes",
        Suspect,
        RealSpan(content::reducible_writes),
        "The writes hold zeros (suspect), or data that compress well or repeat (suspect where a layer makes use of \
         that).",
        "write random data: -Zr, or -Z<size> for less processor time",
    ),
    rule(
        "volatile-cache",
        Suspect,
        RealSpan(durability::volatile_cache),
        "Writes without write-through on a page cache or a disk with a volatile cache: acknowledged, not durable.",
        "-Sh (or -Sw) counts a write when it is durable; a cache that survives a loss of power (many server drives) may \
         say write back all the same",
    ),
    rule(
        "write-through-unseen",
        Suspect,
        RealSpan(durability::write_through_unseen),
        "Write-through was asked for, and a disk with a volatile cache and without FUA saw no flush.",
        "look for a mount option or a driver that drops flushes (nobarrier, cache=unsafe of a virtual machine)",
    ),
    rule(
        "provisioned-limit",
        Suspect,
        RealSpan(limits::provisioned),
        "The rate is a cgroup limit in force, or flatter than a medium's (variation below 1 %) while I/Os wait in line; a \
         remark above 20,000 IOPS.",
        "more depth only adds latency here; raise or remove the limit to measure the disk",
    ),
    rule(
        "step-down",
        Suspect,
        RealSpan(steady::step_down),
        "The rate fell by 25 % or more during the run and stayed there.",
        "warm up until it has fallen (-W), and measure the state you will live in",
    ),
    rule(
        "warm-up-short",
        Suspect,
        RealSpan(steady::warm_up),
        "The first part of the measured time differs from the rest.",
        "warm up longer (-W)",
    ),
    rule(
        "not-steady",
        Suspect,
        RealSpan(steady::not_steady),
        "Fifths of the measured time differ by more than 20 % of the mean, or their trend is more than 10 % (SNIA), and \
         by more than the scatter from second to second explains.",
        "measure longer, look for what disturbs, or repeat and report the spread",
    ),
    rule(
        "too-short",
        Suspect,
        RealSpan(steady::too_short),
        "Less than 2.5 s measured is suspect, less than 30 s is remarked.",
        "measure for a minute or more (-d60)",
    ),
    rule(
        "queue-depth",
        Suspect,
        RealSpan(pace::queue_depth),
        "Fewer I/Os were in flight than asked for (Little's law): below 75 % suspect, below 90 % remarked.",
        "use more threads (-t) with less depth each; the result belongs to the depth reached",
    ),
    rule(
        "generator-bound",
        Suspect,
        RealSpan(pace::generator_bound),
        "A thread was busy for 95 % of its time, waited for a processor for 10 %, or was held by a quota; or the whole \
         program stood still at the end of the measured time, for 10 % of it and 0.25 s.",
        "use more threads (-t) on more processors, larger I/Os, or fewer costs per I/O (-Zr is one)",
    ),
    rule(
        "generator-cost",
        Certified,
        RealSpan(pace::generator_cost),
        "The program's own work took 25 % of a thread's time per I/O or more, as measured before the run without storage.",
        "larger I/Os or more threads (-t) leave more of the time to the target; truespd bench-self shows the parts",
    ),
    rule(
        "below-rate",
        Suspect,
        RealSpan(pace::below_rate),
        "The rate set with -g was not reached (98 %).",
        "the target gives no more at this depth, or the processor: raise -o, or lower -g (which is per thread)",
    ),
    rule(
        "coordinated-omission",
        Suspect,
        Span(pace::coordinated_omission),
        "The rate set with -g was kept on average, but I/Os were issued late: their response time from the intended start \
         is twice their latency and 1 ms more, at p99 or below (suspect) or at p99.9 (remarked).",
        "a client at this rate feels the response time (on standard error and in the JSON document); raise -o, so that \
         no I/O waits for another's end",
    ),
    rule(
        "other-io",
        Suspect,
        RealSpan(machine::other_io),
        "The disks moved 5 % and 100 KiB/s more than this run can have made them.",
        "stop what else uses the disks (iotop, pidstat -d), and repeat",
    ),
    rule(
        "steal",
        Suspect,
        RealSpan(machine::steal),
        "Other machines on the host took processor time: above 5 % (15 % of one processor) suspect, above 2 % (7 %) \
         remarked.",
        "repeat at a quieter time, or on a machine with processors of its own",
    ),
    rule(
        "memory-pressure",
        Suspect,
        RealSpan(machine::memory_pressure),
        "Tasks waited for memory, or the machine swapped, during the measured time.",
        "free memory or use fewer and smaller buffers, and repeat",
    ),
    rule(
        "unstable-clock",
        Suspect,
        RealSpan(machine::clock),
        "The clock of the stamps ran off: above 1,000 parts per million suspect, above 100 remarked.",
        "look at the kernel's clock source and the time synchronisation, and repeat",
    ),
    rule(
        "percentiles",
        Certified,
        Span(run::percentiles),
        "Percentiles that the number of I/Os cannot support.",
        "read no percentile beyond these, or measure longer",
    ),
    rule(
        "stopped-early",
        Certified,
        Span(run::stopped_early),
        "The measured time was cut short.",
        "let it run to its end",
    ),
    rule(
        "remote",
        Certified,
        RealSpan(place::remote),
        "The data are on another machine, or served by a program.",
        "each I/O is a network hop: compare from the node that owns the data",
    ),
    rule(
        "governor",
        Certified,
        RealSpan(machine::governor),
        "The processors' frequency governor is powersave.",
        "set the governor to performance while measuring latencies",
    ),
    rule(
        "bound-away",
        Certified,
        RealSpan(pace::bound_away),
        "A thread is bound to a busy processor while others are idle.",
        "-n leaves the placing of threads to the kernel, -a chooses processors",
    ),
];
