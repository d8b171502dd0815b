//! Completion for fish, 3.0 or later.

use clap::Command;
use clap::builder::PossibleValue;
use clap_complete::{Shell, generate};

use super::switches::{Switch, switches};

/// What completes DiskSpd's words.
const WORDS: &str = r#"# Whether an option of diskspd may stand here: no target yet. The arguments are words before those of diskspd.
function __diskspd_at_options
    set -l words (commandline -opc)
    set -e words[1]
    for word in $argv
        test "$words[1]" = $word
        or return 1
        set -e words[1]
    end
    set -l takes_word @TAKES_WORD@
    set -l is_value 0
    for word in $words
        if test $is_value = 1
            set is_value 0
        else if test "$word" = --
            return 1
        else if contains -- $word $takes_word
            set is_value 1
        else if not string match -q -- '-?*' $word
            return 1
        end
    end
    return 0
end

# Letters of diskspd, and those with a value behind them once the letters stand there. fish keeps what fits.
function __diskspd_letters
    # As it is typed, but without what quotes it.
    set -l word (commandline -ct | string unescape; or commandline -ct)
    string match -q -- '-*' "$word"
    and not string match -q -- '--*' "$word"
    or return
@PATHS@
@LETTERS@
@GLUED@
end
"#;

pub(super) fn both(command: &mut Command) -> String {
    format!("{}{}{}", words(), registered("diskspd", &[]), subcommands(command))
}

pub(super) fn diskspd() -> String {
    format!("{}{}", words(), registered("diskspd", &[]))
}

pub(super) fn truespd(command: &mut Command) -> String {
    format!("{}{}", words(), subcommands(command))
}

fn subcommands(command: &mut Command) -> String {
    let mut script = Vec::new();
    generate(Shell::Fish, command, "truespd", &mut script);
    let mut text = String::from_utf8_lossy(&script).into_owned();
    push_values(&mut text, command, &[]);
    text.push_str(&registered("truespd", &["run"]));
    text.push_str(&registered("truespd", &["cluster", "run"]));
    text
}

/// Words of arguments that have no option, which `clap_complete` leaves out for fish.
fn push_values(text: &mut String, command: &Command, path: &[&str]) {
    for positional in command.get_positionals() {
        let values: Vec<_> = positional.get_value_parser().possible_values().into_iter().flatten().collect();
        let pair = |value: &'_ PossibleValue| {
            (value.get_name().to_string(), value.get_help().map(ToString::to_string).unwrap_or_default())
        };
        let values: Vec<(String, String)> = values.iter().map(pair).collect();
        if let ([first, rest @ ..], false) = (path, values.is_empty()) {
            let below: String =
                rest.iter().map(|name| format!("; and __fish_seen_subcommand_from {name}")).collect();
            // One of them is enough; files may follow.
            let names: Vec<&str> = values.iter().map(|(value, _)| value.as_str()).collect();
            let of = format!(
                "__fish_truespd_using_subcommand {first}{below}; and not __fish_seen_subcommand_from {}",
                names.join(" ")
            );
            let values = listed(values.iter().map(|(value, about)| (value.as_str(), about.clone())));
            text.push_str(&format!("complete -c truespd -n \"{of}\" -f -a {values}\n"));
        }
    }
    for sub in command.get_subcommands() {
        let below: Vec<&str> = path.iter().copied().chain([sub.get_name()]).collect();
        push_values(text, sub, &below);
    }
}

/// DiskSpd's words behind a command and these words of it.
fn registered(command: &str, behind: &[&str]) -> String {
    let condition = format!(
        "-n '{}'",
        ["__diskspd_at_options"].iter().chain(behind).copied().collect::<Vec<_>>().join(" ")
    );
    let mut text = format!("\ncomplete -c {command} -k {condition} -a '(__diskspd_letters)'\n");
    for switch in switches().iter().filter(|switch| switch.is_long()) {
        let values = listed(switch.values.iter().map(|(value, about)| (value.as_str(), about.clone())));
        let takes = match switch {
            Switch { needs_value: false, .. } => String::new(),
            Switch { takes_path: true, .. } => " -r -F".to_string(),
            _ if switch.values.is_empty() => " -x".to_string(),
            _ => format!(" -x -a {values}"),
        };
        let name = switch.word.trim_start_matches('-');
        text.push_str(&format!(
            "complete -c {command} {condition} -l {name}{takes} -d {}\n",
            quoted(&switch.about)
        ));
    }
    text
}

fn words() -> String {
    let all = switches();
    let letters: Vec<&Switch> = all.iter().filter(|switch| !switch.is_long()).collect();
    let takes: Vec<&str> =
        all.iter().filter(|s| s.is_long() && s.needs_value).map(|switch| switch.word.as_str()).collect();
    let paths: Vec<String> = letters
        .iter()
        .filter(|s| s.takes_path || s.has_path_behind_comma)
        .map(|switch| path(switch))
        .collect();
    let alone: Vec<String> = letters.iter().map(|switch| letter(switch)).collect();
    let glued: Vec<String> =
        letters.iter().filter(|s| !s.values.is_empty()).map(|switch| glued(switch)).collect();
    WORDS
        .replace("@TAKES_WORD@", &takes.join(" "))
        .replace("@PATHS@", &paths.join("\n"))
        .replace("@LETTERS@", &alone.join("\n"))
        .replace("@GLUED@", &glued.join("\n"))
}

/// Files, when what stands before them in the word is there.
fn path(switch: &Switch) -> String {
    let word = &switch.word;
    let lead = if switch.takes_path { word.clone() } else { format!("{word}[0-9]+[A-Za-z]?,") };
    let lines = [
        format!("    set -l lead (string match -r -- '^{lead}' $word)"),
        "    and for path in (__fish_complete_path (string sub -s (math 1 + (string length -- $lead)) -- $word))".into(),
        "        printf '%s%s\\n' $lead $path".into(),
        "    end".into(),
        "    and return".into(),
    ];
    lines.join("\n")
}

/// The letters alone; values are more help than letters that stand there and need one.
fn letter(switch: &Switch) -> String {
    let (word, about) = (&switch.word, quoted(&switch.about));
    let unless = if switch.needs_value && !switch.values.is_empty() {
        format!("test \"$word\" = {word}; or ")
    } else {
        String::new()
    };
    format!("    {unless}printf '%s\\t%s\\n' {word} {about}")
}

fn glued(switch: &Switch) -> String {
    let pairs: Vec<String> =
        switch.glued().map(|(word, about)| format!("{word} {}", quoted(about))).collect();
    let word = &switch.word;
    format!("    string match -q -- '{word}*' \"$word\"; and printf '%s\\t%s\\n' {}", pairs.join(" "))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Values with what each does, as `complete -a` reads them: it takes quotes and variables for its own.
fn listed<'a>(values: impl Iterator<Item = (&'a str, String)>) -> String {
    let line =
        |(value, about): (&str, String)| format!("{value}\\t\"{}\"", about.replace(['"', '$', '\\'], ""));
    let lines: Vec<String> = values.map(line).collect();
    format!("'{}'", lines.join("\n").replace('\'', "\\'"))
}
