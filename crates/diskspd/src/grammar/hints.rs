//! The arguments split into options and targets, and hints for frequent mistakes: values apart from their letter,
//! dashes from web pages, Windows spellings, wrong case, several options in one word, targets that look like
//! something else, and words of fio.

use super::value::Slip;
use crate::grammar::row::Draft;
use crate::grammar::rows;
use crate::grammar::rows::Row;
use crate::grammar::value::{Value, length};
use Here::{By, Option as Opt, Words};
use truespd_platform::fault::{Caret, Refusal, RefusalKind, Refusals};
use truespd_platform::text::{meant_size, nearest};

/// Characters that word processors put where a hyphen was typed, and their names.
const DASHES: &[(char, &str)] = &[
    ('\u{2010}', "hyphen"),
    ('\u{2011}', "non-breaking hyphen"),
    ('\u{2012}', "figure dash"),
    ('\u{2013}', "en dash"),
    ('\u{2014}', "em dash"),
    ('\u{2015}', "horizontal bar"),
    ('\u{2212}', "minus sign"),
    ('\u{fe58}', "small em dash"),
    ('\u{fe63}', "small hyphen-minus"),
    ('\u{ff0d}', "fullwidth hyphen-minus"),
];

/// Why an argument in the place of a target cannot be one.
pub fn no_target(target: &str, index: usize, line: &Arguments) -> Option<Refusal> {
    if target.is_empty() {
        return Some(
            Refusal::command_line("a target is empty")
                .at([Caret { word: index, chars: 0..0, main: true }])
                .legal("the path of a file or a device")
                .hint("perhaps a variable of the shell is empty: \"$FILE\""),
        );
    }
    if line.has_end_of_options {
        return None;
    }
    let first = target.chars().next()?;
    let (dash, name) = DASHES.iter().find(|(dash, _)| *dash == first)?;
    let plain: String = target.chars().skip(1).collect();
    let what = format!(
        "{target} begins with U+{:04X} ({name}), not with '-', so it would be taken for a file",
        u32::from(*dash)
    );
    let hint = format!(
        "the line was probably copied from a page that replaces dashes: type -{plain}; for a file of this name write \
         ./{}",
        line.args[index]
    );
    let refusal = Refusal::command_line(what).at([Caret { word: index, chars: 0..1, main: true }]);
    Some(refusal.legal("options begin with the '-' of the keyboard").hint(hint))
}

/// Hints for an option after the first target.
pub fn misplaced(line: &Arguments, option: usize) -> Vec<String> {
    let first = &line.args[line.targets];
    let mut hints = of_fio(line);
    if !hints.is_empty() {
        // `--rw randread --bs 4k`: the values were taken for targets.
        return hints;
    }
    if let Some(word) = line.options.last()
        && let Some(glued) = glued(line, word)
    {
        hints.push(glued);
    } else if let Some(hint) = of_windows(first) {
        hints.push(hint);
    } else if is_long(&line.args[option]) {
        hints.push("long options also come before the targets".into());
    } else if is_option(&line.args[option]) {
        hints.push(format!("move {} in front of {first}", line.args[option]));
    } else {
        hints.push(format!(
            "for a file whose name begins with a dash write ./{0}, or -- before the targets",
            line.args[option]
        ));
    }
    hints
}

/// What the words of fio in a line are here.
fn of_fio(line: &Arguments) -> Vec<String> {
    let mut said = Vec::new();
    for (i, typed) in line.args.iter().enumerate() {
        let next = line.args.get(i + 1).filter(|next| !next.starts_with('-')).map(String::as_str);
        said.extend(word_of_fio(typed).and_then(|typed| said_here(typed, next)));
    }
    said
}

/// The name and value of a word of fio, which takes one dash for two; none where the word is an option here.
pub fn word_of_fio(typed: &str) -> Option<&str> {
    let word = typed.strip_prefix('-')?;
    let word = word.strip_prefix('-').unwrap_or(word);
    if is_option(typed) { None } else { said_here(word, None).map(|_| word) }
}

fn is_long(typed: &str) -> bool {
    typed.strip_prefix('-').and_then(rows::find).is_some_and(|row| row.is_long())
}

/// `-b 4k`: the value is separate, where the first target should be.
pub fn glued(line: &Arguments, word: &Arg) -> Option<String> {
    let row = word.row.filter(|row| !row.is_long() && !row.value.is_empty())?;
    let next = line.args.get(word.index + 1)?;
    let option = format!("{}{next}", line.args[word.index]);
    // A path could be a value, too: only a digit at its start, or certain options, make a value likely.
    let plausible =
        next.starts_with(|c: char| c.is_ascii_digit()) || matches!(row.name, "X" | "R" | "N" | "e" | "S");
    (word.value.is_empty() && plausible && is_option(&option))
        .then(|| format!("a value follows its letter without a blank: {option}"))
}

/// `/b4k` as an option of Windows, in our spelling.
fn slash_option(target: &str) -> Option<String> {
    let option = target.strip_prefix('/').filter(|rest| !rest.contains('/'))?;
    let plain = format!("-{option}");
    (option != "-" && is_option(&plain)).then_some(plain)
}

/// What to write for an option as Windows takes it.
fn of_windows(target: &str) -> Option<String> {
    let plain = slash_option(target)?;
    Some(format!("on Linux a path begins with /, an option only with -: write {plain} for {target}"))
}

/// What a target was probably meant to be that is not there.
pub fn not_there(target: &str) -> Option<String> {
    of_windows(target).or_else(|| meant(target))
}

/// Hints for a value that was refused.
pub fn for_slip(line: &Arguments, word: &Arg, slip: &Slip) -> Vec<String> {
    let mut hints: Vec<String> = slip.hint.iter().cloned().collect();
    let typed = &line.args[word.index];
    let Some(row) = word.row else { return hints };
    if let Some(glued) = glued(line, word) {
        hints.push(glued);
    } else if row.is_long() {
        if word.value.is_empty() && !row.value.is_empty() {
            hints.push(format!("write -{0} VALUE or -{0}=VALUE", row.name));
        }
    } else if let Some(value) = word.value.strip_prefix(['=', ':', ' '])
        && is_option(&format!("-{}{value}", row.name))
    {
        hints.push(format!("a value follows its letter directly: -{}{value}", row.name));
    } else if slip.earlier.is_none()
        && !(is_number(word.value) || row.name == "X")
        && let Some(meant) = other_case(typed)
    {
        hints.push(format!("letters are case sensitive: did you mean {meant}?"));
    } else if row.value.is_empty()
        && let Some(split) = split_cluster(row.name, word.value)
    {
        hints.push(format!("every option is an argument of its own: {split}"));
    } else if let Some(long) = long_option(typed) {
        hints.push(long);
    }
    hints
}

/// A number with or without suffix, which is then out of range and not meant for another letter.
fn is_number(value: &str) -> bool {
    let rest = value.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < value.len() && rest.chars().count() <= 1
}

/// The same letters in another case, when that is an option.
fn other_case(typed: &str) -> Option<String> {
    let option = typed.strip_prefix('-')?;
    let first = option.chars().next()?;
    let rest: String = option.chars().skip(1).collect();
    let swapped = if first.is_lowercase() {
        first.to_uppercase().to_string()
    } else {
        first.to_lowercase().to_string()
    };
    [
        format!("-{first}{}", rest.to_lowercase()),
        format!("-{first}{}", rest.to_uppercase()),
        format!("-{swapped}{rest}"),
        format!("-{swapped}{}", rest.to_lowercase()),
    ]
    .into_iter()
    .find(|meant| meant != typed && is_option(meant))
}

/// `-Lv` as `-L -v`, when both halves are options.
pub fn split_cluster(name: &str, tail: &str) -> Option<String> {
    let mut parts = vec![format!("-{name}")];
    let mut rest = tail;
    while !rest.is_empty() {
        let whole = format!("-{rest}");
        if is_option(&whole) {
            parts.push(whole);
            rest = "";
        } else {
            let letter = rest.chars().next()?;
            let single = format!("-{letter}");
            if !is_option(&single) {
                return None;
            }
            parts.push(single);
            rest = &rest[letter.len_utf8()..];
        }
    }
    (parts.len() > 1).then(|| parts.join(" "))
}

/// `-help` and `--hlep` for `--help`.
fn long_option(typed: &str) -> Option<String> {
    let name = typed.trim_start_matches('-').to_lowercase();
    let name = name.split_once('=').map_or(name.as_str(), |(name, _)| name);
    let all: Vec<&str> = rows::all().filter(|row| row.is_long()).map(|row| &row.name[1..]).collect();
    let meant = match all.iter().find(|known| **known == name) {
        Some(known) => known,
        // One dash is a letter with its value, which is near to many words.
        None if typed.starts_with("--") => nearest(name, all.iter().copied())?,
        None => return None,
    };
    let is_typed = typed.split('=').next() == Some(&format!("--{meant}"));
    (!is_typed).then(|| format!("did you mean --{meant}?"))
}

/// What a long option that does not exist was probably meant to be.
pub fn named(typed: &str) -> Vec<String> {
    let of_fio = word_of_fio(typed).and_then(|name| said_here(name, None));
    of_fio.or_else(|| long_option(typed)).into_iter().chain(["all options: --help".to_string()]).collect()
}

/// What long options of other programs are here.
fn wish(name: &str) -> Option<&'static str> {
    let name = name.split_once('=').map_or(name, |(name, _)| name);
    Some(match name {
        "force" | "yes" | "assume-yes" | "no-confirm" | "destroy" | "destructive" => {
            "--overwrite PATH names the file or device whose data may be lost"
        }
        "output" | "out" | "outfile" | "output-file" => {
            "--json FILE, --xml FILE, --text FILE and --csv FILE write the result; > FILE keeps standard output"
        }
        "silent" => "--quiet leaves only what DiskSpd prints on standard error",
        "verbose" => "-v tells what is done",
        "threads" => "-t<n>",
        "duration" | "time" => "-d<s>",
        "file" | "target" | "device" => "the file or device is the last word of the line, without an option",
        _ => return None,
    })
}

/// What is legal instead of an unknown option, and hints.
pub fn for_unknown(line: &Arguments, word: &Arg) -> (Option<String>, Vec<String>) {
    let typed = &line.args[word.index];
    let letter: String = typed.chars().skip(1).take(1).collect();
    let mut hints = Vec::new();
    let is_fios = word_of_fio(typed).is_some();
    let forms: Vec<String> = if is_fios {
        Vec::new()
    } else if typed.starts_with("--") {
        rows::all().filter(|row| row.is_long()).map(|row| row.form()).collect()
    } else {
        rows::all()
            .filter(|row| !letter.is_empty() && row.name.starts_with(&letter))
            .map(|row| row.form())
            .collect()
    };
    if typed == "-" {
        hints.push(
            "write the target without a dash in front; for a file whose name begins with a dash, write ./-name"
                .into(),
        );
    } else if is_fios {
        hints.extend(of_fio(line));
    } else if let Some(wish) = typed.strip_prefix("--").and_then(wish) {
        hints.push(wish.into());
    } else if let Some(long) = long_option(typed) {
        hints.push(long);
    } else if let Some(meant) = other_case(typed) {
        hints.push(format!("letters are case sensitive: did you mean {meant}?"));
    }
    hints.push("all options: --help".into());
    ((!forms.is_empty()).then(|| forms.join("  ")), hints)
}

/// Hints for a line without target.
pub fn without_target(line: &Arguments) -> Vec<String> {
    let only_h = line.args.len() == 1 && line.args[0] == "-h";
    let last = line
        .options
        .last()
        .filter(|word| word.row.is_some_and(|row| row.is_long()) && word.value_index > word.index);
    match last {
        _ if only_h => vec!["-h is DiskSpd's old name of -Sh; for help write --help or '-?'".into()],
        Some(word) => vec![format!("'{}' was taken as the value of {}", word.value, line.args[word.index])],
        None => vec![
            "a disk is written '#5', in quotes: outside of them the shell takes # for the beginning of a \
             comment"
                .into(),
            "all options: --help".into(),
        ],
    }
}

/// What an accepted line probably meant otherwise.
pub fn notes(line: &Arguments) -> Vec<String> {
    let mut notes = Vec::new();
    // Without -c a missing file is refused, and the refusal has the hint.
    let makes_files = line.options.iter().any(|word| word.row.is_some_and(|row| row.name == "c"));
    for (i, target) in line.args[line.targets..].iter().enumerate() {
        if makes_files && let Some(plain) = slash_option(target) {
            notes.push(format!("'{target}' is taken as a path; the option is written {plain}"));
        } else if i == 0
            && let Some(word) = line.options.last()
            && let Some(glued) = glued(line, word)
        {
            notes.push(format!("'{target}' is taken as a target; {glued}"));
        }
    }
    notes
}

/// What a target was probably meant to be: `o32` is `-o32`.
pub fn meant(target: &str) -> Option<String> {
    if target.contains(['/', '.', '\\']) || target.starts_with(['-', '#', '*']) {
        return None;
    }
    if target.contains('=') {
        return said_here(target, None).map(|words| words.trim_start_matches('-').to_string());
    }
    if let Some(size) = meant_size(target) {
        return Some(format!(
            "a size follows the letter of its option: -c{size} makes a file of that size, -b{size} is the size of an \
             I/O"
        ));
    }
    let option = format!("-{target}");
    let has_value = target.chars().nth(1).is_some_and(|c| c.is_ascii_digit()) || target.starts_with('S');
    (has_value && target.len() > 1 && is_option(&option)).then(|| format!("the option is written {option}"))
}

/// Refuses a line whose `-c` would make a file for a word that was meant otherwise: others beside it are
/// targets, and no file has this name.
pub fn refuse_strays(args: &[String], program: &str) -> Option<Refusals> {
    let line = Arguments::split(args, program);
    let targets = &line.args[line.targets..];
    if line.has_end_of_options || targets.iter().all(|target| meant(target).is_some()) {
        return None;
    }
    let mut refusals = Vec::new();
    for (at, target) in targets.iter().enumerate() {
        let Some(hint) = meant(target) else { continue };
        if std::fs::symlink_metadata(target).is_ok() {
            continue;
        }
        let what = format!("'{target}' stands where targets stand, and no file has this name");
        refusals.push(
            Refusal::new(RefusalKind::CommandLine, what)
                .at([line.mark_all(line.targets + at, true)])
                .legal("files and devices behind the options")
                .hint(hint)
                .hint(format!("for a new file of just this name write ./{target}")),
        );
    }
    (!refusals.is_empty()).then(|| Refusals::from(refusals).of(program, args))
}

/// An option as it stands in the arguments.
#[derive(Debug, Clone, Copy)]
pub struct Arg<'a> {
    /// Index of the argument with the letters.
    pub index: usize,
    /// Its row, if there is one.
    pub row: Option<&'static Row>,
    pub value: &'a str,
    /// Index of the argument with the value: the next one for `--name value`.
    pub value_index: usize,
    /// Characters of that argument before the value.
    pub lead: usize,
}

/// Options and targets of a command line.
pub struct Arguments<'a> {
    pub program: &'a str,
    pub args: &'a [String],
    pub options: Vec<Arg<'a>>,
    /// Index of the first target; the number of arguments when there is none.
    pub targets: usize,
    /// `--` stands before the targets: whatever they look like, they are no options.
    pub has_end_of_options: bool,
}

impl<'a> Arguments<'a> {
    /// Finds the options, each with its value, and where the targets begin.
    pub fn split(args: &'a [String], program: &'a str) -> Self {
        let mut options = Vec::new();
        let mut index = 0;
        let mut has_end_of_options = false;
        while let Some(option) = args.get(index).and_then(|arg| arg.strip_prefix('-')) {
            if option == "-" {
                has_end_of_options = true;
                index += 1;
                break;
            }
            let option = Arg::new(index, option, args.get(index + 1));
            index = option.value_index.max(index) + 1;
            options.push(option);
        }
        Arguments { program, args, options, targets: index.min(args.len()), has_end_of_options }
    }

    /// The option that names an XML profile.
    pub fn profile_file(&self) -> Option<&Arg<'a>> {
        self.options.iter().find(|option| option.row.is_some_and(|row| row.name == "X"))
    }

    /// The last option that a finding about this switch is about.
    pub fn option_about(&self, switch: &str) -> Option<&Arg<'a>> {
        self.options.iter().rev().find(|option| option.row.is_some_and(|row| row.is_about(switch)))
    }

    /// A caret under a whole argument.
    pub fn mark_all(&self, index: usize, main: bool) -> Caret {
        Caret { word: index, chars: 0..length(&self.args[index]), main }
    }

    /// One refusal with the words.
    pub fn refusal(&self, refusal: Refusal) -> Refusals {
        Refusals::from(refusal).of(self.program, self.args)
    }
}

impl<'a> Arg<'a> {
    /// `option` is the argument without its dash, `next` the argument behind it.
    fn new(index: usize, option: &'a str, next: Option<&'a String>) -> Self {
        let row = rows::find(option);
        let letters = row.filter(|row| !row.is_long()).map_or("", |row| row.name);
        if row.is_none_or(|row| !row.is_long()) {
            let value = option.strip_prefix(letters).unwrap_or_default();
            return Arg { index, row, value, value_index: index, lead: 1 + length(letters) };
        }
        if let Some((name, value)) = option.split_once('=') {
            return Arg { index, row, value, value_index: index, lead: 2 + length(name) };
        }
        let takes_value = row.is_some_and(|row| !row.value.is_empty());
        match next {
            // A dash alone is standard output.
            Some(next) if takes_value && (!next.starts_with('-') || next == "-") => {
                Arg { index, row, value: next, value_index: index + 1, lead: 0 }
            }
            _ => Arg { index, row, value: "", value_index: index, lead: 1 + length(option) },
        }
    }
}

/// Whether a single option word would be accepted on its own.
pub fn is_option(word: &str) -> bool {
    let args = [word.to_string()];
    let line = Arguments::split(&args, "");
    let [option] = line.options.as_slice() else { return false };
    let Some(row) = option.row else { return false };
    let mut draft = Draft::default();
    // What DiskSpd takes for something else is not what anybody means.
    row.read(&mut draft, &Value { text: option.value, word: 0 }).is_ok() && draft.reinterpreted.is_empty()
}

/// How a word is said here.
enum Here {
    /// An option with fio's value, or with this placeholder.
    Option(&'static str, &'static str),
    Words(&'static str),
    /// It depends on the value.
    By(fn(&str) -> String),
}

/// fio's options on a command line. Those that have no counterpart are not in it.
const HERE: &[(&str, Here)] = &[
    ("rw", By(pattern)),
    ("readwrite", By(pattern)),
    ("bs", Opt("-b", "<size>")),
    ("blocksize", Opt("-b", "<size>")),
    ("iodepth", Opt("-o", "<n>")),
    ("numjobs", Opt("-t", "<n>")),
    ("runtime", Opt("-d", "<seconds>")),
    ("ramp_time", Opt("-W", "<seconds>")),
    ("size", Words("-c<size> makes a file of that size; -f<size> tests only so much of an existing one")),
    ("filesize", Words("-c<size> makes a file of that size")),
    ("filename", Words("the file or device is the last word of the line, without an option")),
    ("directory", Words("the file is the last word of the line, without an option")),
    ("name", Words("a run needs no name: leave it out")),
    ("ioengine", By(engine)),
    ("direct", By(direct)),
    ("buffered", Words("through the page cache is the default; -Su is past it")),
    ("sync", Words("-Sw writes through, -Sh also bypasses the page cache")),
    ("fsync", Words("--flush-every <n>: a flush after every <n> writes")),
    ("fdatasync", Words("--flush-every <n>:data: a flush of the data after every <n> writes")),
    ("rwmixread", By(|value| mix(value, |reads| 100 - reads))),
    ("rwmixwrite", By(|value| mix(value, |writes| writes))),
    ("rate_iops", By(|value| format!("-g{}i, for each thread and target", or(value, "<n>")))),
    (
        "rate",
        Words(
            "-g<n> limits to <n> bytes per millisecond, -g<n>i to <n> I/Os per second, for each thread and target",
        ),
    ),
    ("thinktime", Words("-j<ms> with -i<n>: a pause after every <n> I/Os")),
    ("offset", Opt("-B", "<size>")),
    ("offset_increment", Opt("-T", "<size>")),
    ("randseed", Opt("-z", "<seed>")),
    ("cpus_allowed", Opt("-a", "<list>")),
    ("zero_buffers", Words("-Z writes zeros")),
    ("refill_buffers", Words("-Zr fills the buffer with new random bytes before each write")),
    ("prio", Words("-I1 or -I2 lowers the priority")),
    ("output", Words("redirect standard output (> file), or --text FILE, --xml FILE, --json FILE")),
    (
        "output-format",
        By(|value| match value {
            "json" | "json+" => "-Rjson, or --json FILE beside the text".to_string(),
            _ => "-Rtext, -Rxml, -Rjson or -Rcsv".to_string(),
        }),
    ),
    ("time_based", Words("a run always lasts as long as -d says: leave it out")),
    ("group_reporting", Words("totals over all threads are always there: leave it out")),
    ("thread", Words("it always uses threads: leave it out")),
    ("invalidate", Words("-Su bypasses the page cache: leave it out")),
    ("norandommap", Words("random I/O never keeps a map of what it has read: leave it out")),
    ("lat_percentiles", Words("-L measures latencies and shows their percentiles")),
    ("status-interval", Words("-D shows intervals")),
];

/// What a long option of fio is here; `typed` without its dashes, and its value when it stands behind `=` or
/// in the next word.
pub fn said_here(typed: &str, next: Option<&str>) -> Option<String> {
    let (name, value) = typed.split_once('=').unwrap_or((typed, ""));
    let (_, here) = HERE.iter().find(|(known, _)| *known == name)?;
    let value = if value.is_empty() { next.unwrap_or_default() } else { value };
    let words = match here {
        Opt(option, placeholder) => format!("{option}{}", or(value, placeholder)),
        Words(words) => words.to_string(),
        By(of) => of(value),
    };
    Some(format!("--{name} is a word of fio; here: {words}"))
}

fn or<'v>(value: &'v str, placeholder: &'v str) -> &'v str {
    if value.is_empty() { placeholder } else { value }
}

fn pattern(value: &str) -> String {
    let words = match value {
        "read" => "-w0 (sequential is the default)",
        "write" => "-w100 (sequential is the default)",
        "randread" => "-r -w0",
        "randwrite" => "-r -w100",
        "rw" | "readwrite" => "-w50 (sequential is the default; -w is the percentage of writes)",
        "randrw" => "-r -w50 (-w is the percentage of writes)",
        _ => "-r for random, -s for sequential, and -w<pct> for the percentage of writes",
    };
    words.to_string()
}

fn engine(value: &str) -> String {
    match value {
        "libaio" | "io_uring" | "psync" | "mmap" | "null" => format!("--engine {value}"),
        "sync" | "pvsync" | "pvsync2" => "--engine psync".to_string(),
        "posixaio" => "--engine threads".to_string(),
        _ => "--engine NAME; without it the best one runs".to_string(),
    }
}

fn direct(value: &str) -> String {
    match value {
        "0" => "through the page cache is the default: leave it out".to_string(),
        _ => "-Su; -Sh also makes each write durable".to_string(),
    }
}

fn mix(value: &str, writes: fn(u64) -> u64) -> String {
    match value.parse::<u64>().ok().filter(|percent| *percent <= 100) {
        Some(percent) => format!("-w{} (the percentage of writes)", writes(percent)),
        None => "-w<pct>, the percentage of writes".to_string(),
    }
}

/// Every option that is said here.
pub fn fio_names() -> impl Iterator<Item = &'static str> {
    HERE.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_targets_are_known() {
        for (word, says) in [
            ("o32", "the option is written -o32"),
            ("t4", "-t4"),
            ("b4K", "-b4K"),
            ("w100", "-w100"),
            ("Sh", "-Sh"),
            ("1GB", "-c1G makes a file of that size"),
            ("4k", "-b4K is the size of an I/O"),
            ("bs=4k", "-b4k"),
            ("rw=randread", "-r -w0"),
        ] {
            let meant = meant(word).unwrap_or_default();
            assert!(meant.contains(says), "{word}: {meant}");
        }
        for word in
            ["f", "x", "r", "test", "data", "o32.dat", "./o32", "#1", "-o32", "disk1", "a=b", "Daten", "S"]
        {
            assert_eq!(meant(word), None, "{word}");
        }
    }
}

#[cfg(test)]
mod tests_of_fio {
    use super::*;
    use crate::grammar::hints::is_option;

    #[test]
    fn each_hint_begins_with_what_the_parser_takes() {
        for (typed, wanted) in [
            ("rw=randread", "-r -w0"),
            ("readwrite=randrw", "-r -w50"),
            ("bs=4k", "-b4k"),
            ("iodepth=32", "-o32"),
            ("numjobs=4", "-t4"),
            ("runtime=60", "-d60"),
            ("direct=1", "-Su"),
            ("rwmixread=70", "-w30"),
            ("rwmixwrite=70", "-w70"),
            ("rate_iops=1000", "-g1000i"),
            ("ioengine=libaio", "--engine libaio"),
            ("ioengine=sync", "--engine psync"),
        ] {
            let words = said_here(typed, None).unwrap_or_else(|| panic!("{typed}"));
            let here = words.split_once("here: ").expect("says what it is here").1;
            assert!(here.starts_with(wanted), "{typed}: {words}");
            if !wanted.starts_with("--") {
                wanted.split(' ').for_each(|word| assert!(is_option(word), "{word}"));
            }
        }
        assert_eq!(said_here("bs", Some("8k")).as_deref(), Some("--bs is a word of fio; here: -b8k"));
        assert_eq!(said_here("bs", None).as_deref(), Some("--bs is a word of fio; here: -b<size>"));
        assert_eq!(said_here("overwrite", None), None);
    }

    #[test]
    fn no_word_of_fio_is_one_of_ours() {
        for name in fio_names() {
            assert!(said_here(name, None).is_some(), "{name}");
            assert!(crate::grammar::rows::find(&format!("-{name}")).is_none(), "{name}");
        }
    }
}
