//! `truespd bench-self`: what the tool itself costs on this machine.

use crate::ask::values::json_output;
use crate::selfcost;
use crate::selfcost::{Case, CostReport, CountedBy, Effort, Load, PerUnit, Spread, WORDS};
use clap::Args;
use diskspd::grammar::parse;
use diskspd::grammar::parse::Invocation;
use diskspd::run::outputs::TextOutput;
use std::ffi::OsString;
use std::io;
use truespd_core::profile::TimeSpan;
use truespd_core::result::envelope;
use truespd_front::console::{say_line, tell};
use truespd_front::program::print;
use truespd_front::show::fitting_stdout;
use truespd_platform::fault::{ExitCode, Failure, FailureKind, Refusal};
use truespd_platform::sys::error::system_text;
use truespd_platform::text::{grouped, hanging, printable};

/// Measure what the tool itself costs on this machine: processor time and instructions per I/O
///
/// Runs the null engine under many loads, with and without -L, and single parts of the I/O loop. Touches no storage.
/// Instructions are counted by the processor where possible, otherwise by callgrind, if valgrind is installed.
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Quick estimate: fewer and shorter rounds
    #[arg(long)]
    quick: bool,
    /// Write the figures to this file as JSON (`truespd schema self-cost`); - is standard output, then
    /// without the table
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Run every load once for so many nanoseconds, for callgrind to count
    #[arg(long, hide = true, conflicts_with_all = ["quick", "json"])]
    counted_ns: Option<u64>,
}

pub(crate) fn run(arguments: &BenchArguments) -> ExitCode {
    let (output, on_stdout) = json_output(arguments.json.as_deref());
    let output = match output.map(|output| TextOutput::open(&output)).transpose() {
        Ok(output) => output,
        Err(error) => return tell(Refusal::from(error)),
    };
    let report = cases().and_then(|cases| {
        if let Some(length_ns) = arguments.counted_ns {
            return selfcost::count_here(&cases, length_ns, &mut io::stdout().lock()).map(|()| None);
        }
        let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
        let counted = counted(effort)?;
        selfcost::measure(&cases, effort, &counted, &|words| say_line(format_args!("{words}"))).map(Some)
    });
    let report = match report {
        Ok(Some(report)) => report,
        Ok(None) => return ExitCode::Done,
        Err(failure) => return tell(failure),
    };
    let text =
        if on_stdout { envelope::write(&report) } else { fitting_stdout(envelope::shown(&report, text)) };
    let code = print(&text, ExitCode::Done);
    match output.map(|output| output.write(envelope::write(&report))) {
        Some(Err(error)) => tell(Failure::from(error)),
        _ => code,
    }
}

fn failed(words: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Machine, words)
}

/// This program, to be run under callgrind.
fn counted(effort: Effort) -> Result<Vec<OsString>, Failure> {
    let program =
        std::env::current_exe().map_err(|e| failed("cannot find this program").because(system_text(&e)))?;
    let words = ["bench-self".into(), "--counted-ns".into(), effort.counted_ns.to_string().into()];
    Ok(std::iter::once(program.into()).chain(words).collect())
}

/// All loads, without and with `-L`.
fn cases() -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for words in WORDS.iter().flat_map(|words| [words.to_string(), format!("{words} -L")]) {
        let case = Case::new(&words, &time_span(&words)?);
        cases.push(case.map_err(|error| failed(words).because(error))?);
    }
    Ok(cases)
}

/// What the words mean to `diskspd`. The target is only a name.
fn time_span(words: &str) -> Result<TimeSpan, Failure> {
    let arguments: Vec<String> = words.split(' ').chain(["nothing"]).map(str::to_string).collect();
    match parse(&arguments, "diskspd", &|| 0) {
        Ok(Invocation::Run(request)) if request.profile.time_spans.len() == 1 => {
            Ok(request.profile.time_spans[0].clone())
        }
        Ok(_) => Err(failed(format!("{words}: these options do not run a load"))),
        Err(refusal) => Err(failed(refusal.to_string())),
    }
}

const COLUMNS: usize = 80;
/// Width of the names of the first rows.
const NAME_COLUMNS: usize = 14;

pub(crate) fn text(report: &CostReport) -> String {
    let mut out = head(report);
    out.push_str(&format!("\n{:26}|{:^22}|{:^22}|\n", "null engine, per I/O", "without -L", "with -L"));
    out.push_str(&format!("{:26}|{1}|{1}| spread\n", "", "   cpu   wall   instr "));
    for pair in report.loads.chunks(2) {
        let words = pair.first().map_or("", |load| load.words.as_str());
        let columns: String = pair.iter().map(|load| format!("|{}", figures(load))).collect();
        let spread = pair.iter().map(|load| load.running_ns.relative()).fold(0.0, f64::max);
        out.push_str(&format!("{words:26}{columns}| {:>6}\n", percent(spread)));
    }
    out.push_str(&format!("\n{:42}|{:>8}{:>10} | spread\n", "part, per call", "cpu", "instr"));
    for part in &report.parts {
        let Spread { median, .. } = part.ns;
        debug_assert!(part.unit == PerUnit::Call || part.name.contains("KiB"), "{}", part.name);
        let instructions = count(part.instructions, 10);
        let spread = percent(part.ns.relative());
        out.push_str(&format!("{:42}|{:>8}{instructions:>10} | {spread:>6}\n", part.name, figure(median, 8)));
    }
    out.push_str(
        "\ncpu: processor time in ns; wall: time in ns; both medians; instr: instructions.\n\
         spread: (largest - smallest) / median of the processor time over the rounds.\n",
    );
    out
}

fn head(report: &CostReport) -> String {
    let machine = &report.machine;
    let processor = machine.processor.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
    let why = machine.why_not_counter.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    let counting = match (report.counting.by, &report.counting.why_not) {
        (CountedBy::Hardware, _) => "by the processor's counter, user mode".to_string(),
        (CountedBy::Callgrind, _) => "by callgrind".to_string(),
        (CountedBy::Nobody, Some(why)) => format!("not available: {why}"),
        (CountedBy::Nobody, None) => "not available".to_string(),
    };
    let place = format!("Linux {}, {} processors{processor}", machine.kernel_release, machine.processors);
    let rounds = format!("{} of {} ms for each load, in turns", report.rounds, report.round_ns / 1_000_000);
    let mut head =
        format!("what truespd {} itself costs on {}\n", report.tool_version, machine.computer_name);
    let clock = format!("{}{why}", machine.clock);
    let rows = [("machine:", place), ("clock:", clock), ("rounds:", rounds), ("instructions:", counting)];
    for (name, words) in rows {
        head.push_str(&hanging(&format!("{name:NAME_COLUMNS$}"), &printable(&words), COLUMNS));
    }
    head
}

fn figures(load: &Load) -> String {
    let (cpu, wall) = (figure(load.running_ns.median, 6), figure(load.elapsed_ns.median, 6));
    format!("{cpu:>6} {wall:>6} {:>7} ", count(load.instructions, 7))
}

/// `18.2`, `123`, `7,910`; `118k` or `118M` where the column has no room, as on a very busy machine.
fn figure(value: f64, columns: usize) -> String {
    if value < 99.95 {
        return format!("{value:.1}");
    }
    for (unit, prefix) in [(1.0, ""), (1e3, "k")] {
        let whole = grouped(format!("{:.0}", value / unit)) + prefix;
        if whole.len() <= columns {
            return whole;
        }
    }
    grouped(format!("{:.0}", value / 1e6)) + "M"
}

fn count(instructions: Option<f64>, columns: usize) -> String {
    instructions.map_or("-".to_string(), |count| figure(count, columns))
}

/// Fits into six columns. How far beyond ten medians a spread goes does not matter: then nothing can be compared.
fn percent(part: f64) -> String {
    if part < 9.995 { format!("{:.0} %", part * 100.0) } else { ">999 %".to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_is_a_line_that_diskspd_takes() {
        let cases = cases().expect("all fit");
        assert_eq!(cases.len(), 2 * WORDS.len());
        for words in WORDS {
            let with = time_span(&format!("{words} -L")).expect("a line");
            assert!(with.measure_latency && !time_span(words).expect("a line").measure_latency);
            assert!(with.targets[0].throughput.is_none(), "{words}: rates are left out");
        }
        // What the issue names is there.
        for word in
            ["-s", "-si", "-r", "-rs50", "-rdpct90/10", "-rdabs90/100M", "-w100", "-Zr", "-Z1M", "-o1", "-t2"]
        {
            assert!(WORDS.iter().any(|words| words.split(' ').any(|w| w == word)), "{word}");
        }
    }
}

#[cfg(test)]
mod tests_bench {
    use super::*;
    use crate::selfcost::{Counting, LoopPart, Machine};

    fn report() -> CostReport {
        let spread = |median| Spread { median, min: median * 0.95, max: median * 1.05 };
        let load = |words: &str, ns, instructions| Load {
            words: words.to_string(),
            threads: 1,
            depth: 32,
            block_bytes: 4096,
            running_ns: spread(ns),
            elapsed_ns: spread(ns * 1.01),
            instructions,
        };
        let part = |name: &str, unit, ns| LoopPart {
            name: name.into(),
            unit,
            ns: spread(ns),
            instructions: Some(12.0),
        };
        CostReport {
            tool_version: "1.2.3".into(),
            machine: Machine {
                computer_name: "host".into(),
                kernel_release: "6.1.0".into(),
                processor: Some("A Processor".into()),
                processors: 2,
                clock: "TSC".into(),
                why_not_counter: None,
                unix_s: Some(1_700_000_000),
            },
            rounds: 11,
            round_ns: 10_000_000,
            counting: Counting { by: CountedBy::Callgrind, why_not: None },
            loads: vec![
                load("-b4K -r -o32", 18.249, Some(71.02)),
                load("-b4K -r -o32 -L", 25.06, Some(104.0)),
                load("-b64K -r -w100 -Zr -o32", 7910.4, Some(123_456.0)),
                load("-b64K -r -w100 -Zr -o32 -L", 99.96, None),
            ],
            parts: vec![part("stamp: TSC", PerUnit::Call, 11.9), part("data, per KiB", PerUnit::Kib, 120.0)],
        }
    }

    #[test]
    fn a_table_of_eighty_columns() {
        insta::assert_snapshot!(text(&report()));
        let longest = text(&report()).lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(80), "{longest:?}");
        let mut slow = report();
        for load in &mut slow.loads {
            load.running_ns = Spread { median: 99_999.4, min: 20.0, max: 37_248_000.0 };
            load.elapsed_ns.median = 118_400.0;
            load.instructions = Some(1_234_567.0);
        }
        let slow = text(&slow);
        assert!(slow.contains("|99,999   118k  1,235k |"), "{slow}");
        assert!(slow.contains("| >999 %\n"), "{slow}");
        assert!(slow.lines().all(|line| line.chars().count() <= 80), "{slow}");
        let mut nobody = report();
        nobody.counting = Counting { by: CountedBy::Nobody, why_not: Some("no valgrind".into()) };
        assert!(text(&nobody).contains("instructions: not available: no valgrind\n"));
        nobody.counting.why_not = Some("a long story of what is missing ".repeat(5));
        assert!(text(&nobody).lines().all(|line| line.chars().count() <= 80), "{}", text(&nobody));
    }

    #[test]
    fn figures_read_well() {
        for (value, shown) in
            [(0.04, "0.0"), (9.96, "10.0"), (99.95, "100"), (999.4, "999"), (1_234_567.0, "1,234,567")]
        {
            assert_eq!(figure(value, 9), shown, "{value}");
        }
        assert_eq!(figure(1_234_567_890.0, 6), "1,235M");
    }
}
