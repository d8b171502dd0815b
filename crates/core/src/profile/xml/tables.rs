//! The elements of `Profile`, and where every element of the format belongs.

use super::schema::{
    Element, Kind, Result, Row, flag, read_fields, read_list, set_flag, u32_row, word_of, write_fields,
};
use super::write::Writer;
use super::{target, time_span};
use crate::profile::{Etw, Precreate, Profile, ResultFormat, TimeSpan};

const RESULT_FORMATS: &[(&str, ResultFormat)] = &[("text", ResultFormat::Text), ("xml", ResultFormat::Xml)];

const PRECREATES: &[(&str, Precreate)] = &[
    ("UseMaxSize", Precreate::UseMaxSize),
    ("CreateOnlyFilesWithConstantSizes", Precreate::OnlyConstantSizes),
    ("CreateOnlyFilesWithConstantOrZeroSizes", Precreate::OnlyConstantOrZeroSizes),
];

/// Children of `Profile` in the order of writing.
pub(super) const PROFILE: &[Row<Profile>] = &[
    u32_row!("Progress", progress_ios),
    Row {
        name: "ExperimentFlags",
        required: false,
        kind: Kind::U32 {
            range: 0..=u32::MAX,
            get: |p| Some(p.experiment_flags).filter(|&flags| flags != 0),
            set: |p, value| p.experiment_flags = value,
        },
    },
    Row {
        name: "ResultFormat",
        required: false,
        kind: Kind::Form {
            read: |p, element| {
                p.result_format = element.one_of(RESULT_FORMATS, &[])?;
                Ok(())
            },
            write: |p, name, out| {
                if let Some(word) = word_of(RESULT_FORMATS, p.result_format) {
                    out.leaf(name, word);
                }
            },
        },
    },
    flag!("Verbose", verbose),
    set_flag!("VerboseStats", verbose_stats),
    Row {
        name: "PrecreateFiles",
        required: false,
        kind: Kind::Form {
            read: |p, element| {
                p.precreate = element.one_of(PRECREATES, &[])?;
                Ok(())
            },
            write: |p, name, out| {
                if let Some(word) = word_of(PRECREATES, p.precreate) {
                    out.leaf(name, word);
                }
            },
        },
    },
    Row { name: "ETW", required: false, kind: Kind::Form { read: read_etw, write: write_etw } },
    Row {
        name: "TimeSpans",
        required: true,
        kind: Kind::Form { read: read_time_spans, write: write_time_spans },
    },
];

/// Children of `ETW`. Linux has no such tracing: they are kept and written back.
pub(super) const ETW: &[Row<Etw>] = &[
    flag!("Process", process),
    flag!("Thread", thread),
    flag!("ImageLoad", image_load),
    flag!("DiskIO", disk_io),
    flag!("MemoryPageFaults", memory_page_faults),
    flag!("MemoryHardFaults", memory_hard_faults),
    flag!("Network", network),
    flag!("Registry", registry),
    flag!("UsePagedMemory", use_paged_memory),
    flag!("UsePerfTimer", use_perf_timer),
    flag!("UseSystemTimer", use_system_timer),
    flag!("UseCyclesCounter", use_cycles_counter),
];

fn read_etw(profile: &mut Profile, element: Element<'_>) -> Result<()> {
    let mut etw = Etw::default();
    read_fields(element, ETW, &mut etw)?;
    // Any child turns tracing on, also one that says false.
    profile.etw = element.children().next().is_some().then_some(etw);
    Ok(())
}

fn write_etw(profile: &Profile, name: &'static str, out: &mut Writer) {
    if let Some(etw) = &profile.etw {
        out.open(name, &[]);
        write_fields(etw, ETW, out);
        out.close(name);
    }
}

fn read_time_spans(profile: &mut Profile, element: Element<'_>) -> Result<()> {
    read_list(element, &["TimeSpan"], |element| {
        let mut span = TimeSpan::default();
        read_fields(element, time_span::TIME_SPAN, &mut span)?;
        time_span::check(&mut span, element)?;
        profile.time_spans.push(span);
        Ok(())
    })
}

fn write_time_spans(profile: &Profile, name: &'static str, out: &mut Writer) {
    out.open(name, &[]);
    for span in &profile.time_spans {
        out.open("TimeSpan", &[]);
        write_fields(span, time_span::TIME_SPAN, out);
        out.close("TimeSpan");
    }
    out.close(name);
}

/// A profile as `-Rpxml` prints it: a line per element, each with its line end, the first one `indent`
/// levels deep.
///
/// Source: `xml.md` §3.
pub fn write(profile: &Profile, indent: usize) -> String {
    let mut out = Writer::new(indent);
    out.open("Profile", &[]);
    write_fields(profile, PROFILE, &mut out);
    out.close("Profile");
    out.finish()
}

/// The element that an element of this name belongs in, for messages. Only where there is a single one.
pub(super) fn home_of(name: &str) -> Option<&'static str> {
    fn has<T>(rows: &[Row<T>], name: &str) -> bool {
        rows.iter().any(|row| row.name == name)
    }
    let homes = [
        ("Profile", has(PROFILE, name)),
        ("ETW", has(ETW, name)),
        ("TimeSpans", name == "TimeSpan"),
        ("TimeSpan", has(time_span::TIME_SPAN, name)),
        ("Targets", name == "Target"),
        ("Target", has(target::TARGET, name)),
        ("WriteBufferContent", has(target::WRITE_BUFFER, name)),
        ("RandomDataSource", has(target::RANDOM_SOURCE, name)),
        ("ThreadTargets", name == "ThreadTarget"),
        ("ThreadTarget", has(target::THREAD_TARGET, name)),
    ];
    let mut found = homes.into_iter().filter(|&(_, is_here)| is_here).map(|(home, _)| home);
    match (found.next(), found.next()) {
        (Some(home), None) => Some(home),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes() {
        assert_eq!(home_of("Duration"), Some("TimeSpan"));
        assert_eq!(home_of("BlockSize"), Some("Target"));
        assert_eq!(home_of("Pattern"), Some("WriteBufferContent"));
        assert_eq!(home_of("RequestCount"), None, "TimeSpan and Target have one");
        assert_eq!(home_of("BlockSizeKB"), None);
    }

    #[test]
    fn names_stand_once_in_a_table() {
        fn distinct<T>(rows: &[Row<T>]) {
            let mut names: Vec<&str> = rows.iter().map(|row| row.name).collect();
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all);
        }
        distinct(PROFILE);
        distinct(ETW);
        distinct(time_span::TIME_SPAN);
        distinct(target::TARGET);
    }
}
