//! What members of a profile are called where profiles are held against each other.

/// What the value of a member counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Unit {
    Plain,
    Seconds,
    Milliseconds,
    Bytes,
    Percent,
}

/// A member of a time span or a target.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its name in documents.
    pub name: &'static str,
    /// What it is, for a sentence that shows values with their unit.
    pub words: &'static str,
    /// What it is with the unit and the switch, for a list that shows plain values; nothing where a list shows the name
    /// in documents.
    pub heading: &'static str,
    /// The unit of its values.
    pub unit: Unit,
}

const fn member(name: &'static str, words: &'static str, unit: Unit, heading: &'static str) -> Member {
    Member { name, words, heading, unit }
}

use Unit::{Bytes, Milliseconds, Percent, Plain, Seconds};

/// The outstanding I/Os of a time span; a target has a member of this name, too.
const POOL_REQUESTS: Member =
    member("request_count", "outstanding I/Os per thread", Plain, "outstanding I/Os over all targets (-O)");

const MEMBERS: [Member; 34] = [
    member("duration_s", "duration", Seconds, "measured seconds (-d)"),
    member("warmup_s", "warm-up", Seconds, "warm-up seconds (-W)"),
    member("cooldown_s", "cool-down", Seconds, "cool-down seconds (-C)"),
    member("measure_latency", "latency measurement (-L)", Plain, "latencies measured (-L)"),
    member("calculate_iops_std_dev", "interval statistics (-D)", Plain, ""),
    member("io_bucket_ms", "interval length (-D)", Milliseconds, ""),
    member("disable_affinity", "threads left to the kernel (-n)", Plain, "threads not bound (-n)"),
    member("affinity", "processors of the threads (-a)", Plain, "processors of the threads (-a)"),
    member("completion_routines", "completion routines (-x)", Plain, "completion routines (-x)"),
    member(
        "random_write_data",
        "random data for every write (-Zr)",
        Plain,
        "new random data for each write (-Zr)",
    ),
    member("thread_count", "threads in total (-F)", Plain, "threads (-F)"),
    member("request_count", "outstanding I/Os per thread", Plain, "outstanding I/Os (-o)"),
    member("threads_per_file", "threads per target", Plain, "threads per target (-t)"),
    member("path", "path", Plain, ""),
    member("block_bytes", "block size", Bytes, "block size in bytes (-b)"),
    member("base_bytes", "base offset (-B)", Bytes, "begin of the range in bytes (-B)"),
    member("max_bytes", "maximum offset (-f)", Bytes, "end of the range in bytes (-f)"),
    member("create_bytes", "size of the created file (-c)", Bytes, "size of the file in bytes (-c)"),
    member("stride_bytes", "stride", Bytes, "alignment or stride in bytes (-r, -s)"),
    member("thread_stride_bytes", "thread stride (-T)", Bytes, ""),
    member("write_source_bytes", "source of write data (-Z)", Bytes, "source of write data in bytes (-Z)"),
    member("zero_write_buffers", "zeros as write data (-Z)", Plain, "write buffers of zeros (-Z)"),
    member("random_percent", "random I/O", Percent, "random I/O in percent (-r, -rs)"),
    member("write_percent", "writes", Percent, "writes in percent (-w)"),
    member("distribution", "distribution (-rd)", Plain, "distribution (-rd)"),
    member("throughput", "rate (-g)", Plain, "rate (-g)"),
    member("cache", "caching (-S)", Plain, "caching (-S)"),
    member("priority", "priority of I/Os (-I)", Plain, "priority of I/Os (-I)"),
    member("interlocked", "shared sequential offset (-si)", Plain, "one sequence for all threads (-si)"),
    member("parallel", "parallel sequential I/O (-p)", Plain, "parallel sequences (-p)"),
    member("write_through", "write-through", Plain, "write-through (-Sw)"),
    member("memory_mapped", "memory mapped I/O (-Sm)", Plain, "memory-mapped I/O (-Sm)"),
    member("burst_ios", "I/Os per burst (-i)", Plain, "I/Os in a burst (-i)"),
    member("think_ms", "pause between bursts (-j)", Milliseconds, "pause in milliseconds (-j)"),
];

impl Member {
    /// The row of a member of a time span, by its name in documents.
    pub fn of_time_span(name: &str) -> Option<&'static Member> {
        if name == POOL_REQUESTS.name { Some(&POOL_REQUESTS) } else { Member::of_target(name) }
    }

    /// The row of a member of a target.
    pub fn of_target(name: &str) -> Option<&'static Member> {
        MEMBERS.iter().find(|member| member.name == name)
    }

    /// What a list calls a member with this row, if it has one.
    pub fn heading(row: Option<&Member>, name: &str) -> String {
        match row {
            Some(member) if !member.heading.is_empty() => member.heading.to_string(),
            _ => name.replace('_', " "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Target, TimeSpan};

    /// A row that no member has would never be shown.
    #[test]
    fn every_row_is_a_member() {
        let span = serde_json::to_value(TimeSpan { targets: vec![Target::default()], ..TimeSpan::default() });
        let span = span.expect("JSON");
        for Member { name, .. } in MEMBERS {
            assert!(span.get(name).is_some() || span["targets"][0].get(name).is_some(), "{name}");
        }
    }
}
