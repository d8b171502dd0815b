//! `truespd workload beside`: what one load feels while another one runs on the same target.

use crate::ask::beside::BesideReport;
use crate::ask::beside::run::Beside;
use crate::ask::command::{Asked, Measured, SeriesArguments, Suite, write_profile};
use crate::ask::own_line::{
    Targets, completed, has_number, refused, smallest_rate, span, typed_words, without_arrivals,
};
use crate::ask::values::{between, file_bytes};
use crate::runner::{Length, Runner, Series};
use clap::Args;
use diskspd::grammar::rows::{Row, find};
use truespd_core::profile::{Severity, Target, Throughput, TimeSpan, validate, xml};
use truespd_platform::fault::{Fault, Refusal};
use truespd_platform::text::shell_line;

const FOREGROUND: &str = "FOREGROUND";
const BACKGROUND: &str = "BACKGROUND";
/// A series has no more rounds than these.
const ROUNDS_MAX: u32 = 100;
/// Arrivals of the background unless its line says otherwise: what holds a backup or a scrub back does so evenly.
const ARRIVALS: &str = "even";

/// Switches that count for the whole run, and not for one of its targets.
const OF_RUN: [&str; 29] = [
    "d", "W", "C", "D", "L", "z", "Zr", "x", "n", "a", "u", "oc", "bs", "F", "O", "v", "vs", "P", "R", ":",
    "e", "eq", "es", "ec", "ep", "ys", "yf", "yr", "yp",
];
/// Long options that count for one target. All others are of the whole run.
const LONG_OF_TARGET: [&str; 4] = ["-mix", "-zipf", "-flush-every", "-arrivals"];

/// Run a load beside another: what it feels of a backup or a scrub, at shares of that one's maximum
///
/// Runs the background alone, as fast as it goes, and the foreground alone. Then runs both at once on the target, with
/// the background paced (-g) at shares of its own maximum. Repeats all of it in random order. Tells p50, p99 and IOPS
/// of the foreground at each share, and what the background reached.
#[derive(Debug, Args)]
pub(crate) struct BesideArguments {
    /// The load whose latencies count: diskspd options without a target, as one quoted argument: '-b8K -r -o4 -Su'.
    /// Times of a run and all that counts for both loads (-d, -W, -n, --engine) stand here [default: -d10 -W2]
    #[arg(value_name = "FOREGROUND", allow_hyphen_values = true)]
    foreground: String,

    /// The load that runs beside it, likewise: '-b1M -s -o4 -Su'. Its rate is set by the shares
    #[arg(value_name = "BACKGROUND", allow_hyphen_values = true)]
    background: String,

    /// Directory, in which a test file is created and removed, file, or device; both loads use all of it, unless -B and
    /// -f in a line say otherwise
    #[arg(value_name = "TARGET")]
    target: String,

    /// Shares of the background's own maximum in percent; 0 is the foreground alone
    #[arg(long, value_name = "PERCENT,...", value_delimiter = ',', default_value = "0,25,50,75,100",
        value_parser = between::<0, 100>)]
    shares: Vec<u32>,

    /// How often everything is repeated; three rounds tell how sure the figures are
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = between::<1, ROUNDS_MAX>)]
    rounds: u32,

    /// Size of the test file that is created in a directory [default: 1G]
    #[arg(long = "size", value_name = "SIZE", value_parser = file_bytes)]
    size_bytes: Option<u64>,

    /// Write the table to this file as comma-separated values; - is standard output
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,

    /// Print the diskspd commands and the profile of both loads without running them
    #[arg(long)]
    print: bool,

    #[command(flatten)]
    series: SeriesArguments,
}

/// What is to be run, and where.
pub(crate) struct Work {
    beside: Beside,
    targets: Targets,
}

impl Suite for BesideArguments {
    const NAME: &'static str = "beside";
    type Work = Work;
    type Document = BesideReport;

    fn series(&self) -> &SeriesArguments {
        &self.series
    }

    fn title(&self) -> String {
        "workload beside".to_string()
    }

    fn csv(&self) -> Option<&str> {
        self.csv.as_deref()
    }

    fn ask(&self) -> Result<Asked<Work>, Fault> {
        self.check_shares()?;
        let typed = std::slice::from_ref(&self.target);
        // What is wrong with the lines is told before the target is looked at.
        self.beside(&self.target)?;
        let targets = Targets::find(typed, self.size_bytes, &self.series.overwrite)?;
        let words = targets.words();
        let beside = self.beside(words.first().unwrap_or(&self.target))?;
        if self.print {
            return Ok(Asked::Text(printed(&beside)));
        }
        let places = targets.places();
        Ok(Asked::on(Work { beside, targets }, places))
    }

    fn measure(&self, work: Work, series: &mut Series) -> Measured<BesideReport> {
        let Work { mut beside, targets } = work;
        series.tell(&beside.plan_words());
        let writes = beside.paced.writes() || beside.span.targets.iter().any(Target::writes);
        if let Some(word) = targets.make(series, Self::NAME, writes, beside.ahead())?.pop() {
            beside.target = word;
        }
        let names: Vec<String> = beside.shares.iter().map(|share| file_of(*share)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let scratch = series.scratch(&targets.folder(), Self::NAME, &names)?;
        beside.files = names.iter().map(|name| scratch.file(name)).collect();
        Ok(beside.run(series, write_profile))
    }
}

/// The profile of a share in the scratch folder.
fn file_of(share: u32) -> String {
    format!("beside-{share}.xml")
}

impl BesideArguments {
    fn check_shares(&self) -> Result<(), Refusal> {
        for (place, share) in self.shares.iter().enumerate() {
            if self.shares[..place].contains(share) {
                return Err(Refusal::command_line(format!("--shares: {share} stands twice")));
            }
        }
        if self.shares.iter().any(|share| *share > 0) {
            return Ok(());
        }
        let message = "--shares: 0 is the foreground alone, and nothing would run beside it";
        Err(Refusal::command_line(message).hint("add a share above 0: --shares 0,50,100"))
    }

    /// Both loads on a target.
    ///
    /// # Errors
    /// Why a line cannot be a foreground or a background, or why both cannot run at once.
    fn beside(&self, target: &str) -> Result<Beside, Fault> {
        let foreground_line = completed(typed_words(FOREGROUND, &self.foreground)?);
        let background_line = typed_words(BACKGROUND, &self.background)?;
        let (background, arrivals) = without_arrivals(BACKGROUND, &background_line, ARRIVALS)?;
        let (of_run, foreground) = split(&foreground_line);
        let (of_background, background) = split(&background);
        for group in &of_background {
            check_of_run(BACKGROUND, group)?;
            if !of_run.contains(group) {
                let why = format!(
                    "{} counts for the whole run, and so for both loads; put it into FOREGROUND",
                    group.join(" ")
                );
                return Err(refused(BACKGROUND, &why).into());
            }
        }
        let mut beside_profile = Vec::new();
        for group in &of_run {
            check_of_run(FOREGROUND, group)?;
            if group[0].starts_with("--") {
                beside_profile.extend(group.clone());
            }
        }
        let of_run = of_run.concat();
        let targets = [target.to_string()];
        let span_of_foreground = span(FOREGROUND, &[&of_run[..], &foreground].concat(), &[], &targets)?;
        check_foreground(&span_of_foreground)?;
        let words = [&of_run[..], &background].concat();
        check_background(&span(BACKGROUND, &words, &[], &targets)?)?;
        let paced = span(BACKGROUND, &words, &smallest_rate(&arrivals), &targets)?;
        let threads = paced.targets.iter().map(|target| paced.threads_on(target)).sum();
        let Some(background_target) = paced.targets.into_iter().next() else {
            return Err(refused(BACKGROUND, "this line does not run a load").into());
        };
        let beside = Beside {
            has_seed: has_number(&of_run, 'z'),
            run: self.series.lasting(Length::of(&span_of_foreground)),
            span: span_of_foreground,
            foreground_line,
            background_line,
            of_run,
            beside_profile,
            foreground,
            background,
            target: target.to_string(),
            paced: background_target,
            threads,
            shares: self.shares.clone(),
            files: self.shares.iter().map(|share| file_of(*share)).collect(),
            rounds: self.rounds,
        };
        check_both(&beside)?;
        Ok(beside)
    }
}

/// Whether an option counts for the whole run.
fn is_of_run(row: &Row) -> bool {
    if row.is_long() { !LONG_OF_TARGET.contains(&row.name) } else { OF_RUN.contains(&row.name) }
}

/// The options that count for the whole run, each with its value, and all other words.
fn split(line: &[String]) -> (Vec<Vec<String>>, Vec<String>) {
    let (mut of_run, mut own) = (Vec::new(), Vec::new());
    let mut words = line.iter();
    while let Some(word) = words.next() {
        let mut group = vec![word.clone()];
        let row = word.strip_prefix('-').and_then(find);
        if row.is_some_and(|row| row.is_long() && !row.value.is_empty()) && !word.contains('=') {
            group.extend(words.next().cloned());
        }
        if row.is_some_and(is_of_run) {
            of_run.push(group);
        } else {
            own.extend(group);
        }
    }
    (of_run, own)
}

/// Refuses options that would make of two loads another thing than each of them is alone.
fn check_of_run(who: &str, group: &[String]) -> Result<(), Refusal> {
    let name = group[0].strip_prefix('-').and_then(find).map_or("", |row| row.name);
    match name {
        "x" => Err(refused(who, "-x ignores rates, and the background runs at a rate; remove -x")),
        "O" => Err(refused(who, "-O would share its I/Os between both loads; give -o in each line")),
        _ => Ok(()),
    }
}

fn check_foreground(span: &TimeSpan) -> Result<(), Refusal> {
    if span.duration_s == 0 {
        return Err(refused(FOREGROUND, "measured time is needed; give -d10 or more"));
    }
    Ok(())
}

fn check_background(span: &TimeSpan) -> Result<(), Refusal> {
    if span.targets.iter().any(|target| target.throughput.is_some()) {
        return Err(refused(BACKGROUND, "the shares set its rate; remove -g, and give --shares"));
    }
    if span.targets.iter().any(|target| target.burst_ios.is_some() || target.think_ms.is_some()) {
        return Err(refused(BACKGROUND, "the shares set its pace; remove -i and -j"));
    }
    Ok(())
}

/// Whether both loads can run at once: each of them can alone.
fn check_both(beside: &Beside) -> Result<(), Refusal> {
    let mut profile = beside.both(beside.paced.clone());
    for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
        target.path.clone_from(&beside.target);
    }
    let findings = validate(&profile, true);
    match findings.iter().find(|finding| finding.severity == Severity::Error) {
        None => Ok(()),
        Some(finding) => Err(refused("FOREGROUND and BACKGROUND at once", &finding.to_string())),
    }
}

fn printed(beside: &Beside) -> String {
    let mut out = String::new();
    out.push_str(&format!("# the background alone, as fast as it goes: its maximum\ndiskspd {}\n", {
        shell_line(&beside.background_alone())
    }));
    if beside.shares.contains(&0) {
        let line = shell_line(&beside.foreground_alone());
        out.push_str(&format!("# the foreground alone\ndiskspd {line}\n"));
    }
    let shares: Vec<String> = beside.shares.iter().filter(|share| **share > 0).map(u32::to_string).collect();
    out.push_str(&format!(
        "# both at once, with the background at {} % of its maximum: its <Throughput> is that rate divided by {} \
         (threads)\ndiskspd {}\n",
        shares.join(", "),
        beside.threads,
        shell_line(&beside.line_of_both("beside.xml"))
    ));
    let rate = Target { throughput: Some(Throughput::Iops(1)), ..beside.paced.clone() };
    out.push_str(&format!("<!-- beside.xml -->\n{}", xml::write(&beside.both(rate), 0)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_platform::text::split_line;

    #[test]
    fn options_of_the_run_are_told_from_those_of_a_load() {
        let line = split_line(
            "-L -d10 -b8K -r -Zr -Z1M -o4 --engine sim:latency=1ms --mix 4K:50,8K:50 --engine=psync -t2 -F2 -Su x",
        )
        .unwrap();
        let (of_run, own) = split(&line);
        let of_run: Vec<String> = of_run.iter().map(|group| group.join(" ")).collect();
        assert_eq!(of_run, ["-L", "-d10", "-Zr", "--engine sim:latency=1ms", "--engine=psync", "-F2"]);
        assert_eq!(own.join(" "), "-b8K -r -Z1M -o4 --mix 4K:50,8K:50 -t2 -Su x");
        // A long option without its value is told by the line's parser.
        assert_eq!(split(&split_line("--engine").unwrap()).0, [["--engine"]]);
    }

    #[test]
    fn the_names_are_those_of_rows() {
        for name in OF_RUN.iter().chain(&LONG_OF_TARGET) {
            let row = find(name).unwrap_or_else(|| panic!("-{name}"));
            assert_eq!(row.name, *name);
        }
    }
}
