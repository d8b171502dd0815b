//! What each shell reads. Bash needs nothing but bash itself, 4.0 or later; fish 3.0 or later.

use clap::{Arg, Command};
use clap_complete::{Shell, generate};

use super::switches::{Switch, switches};
use crate::ask::workload::preset::BUILT_IN;

/// Registers the function of `diskspd`.
pub(super) const BASH_DISKSPD: &str = "
_diskspd() {
    _diskspd_words 1
}
complete -o bashdefault -o default -F _diskspd diskspd
";

/// How `clap_complete` lists paths in bash: a blank in one makes two words of it.
const BASH_PATHS: &str = r#"COMPREPLY=($(compgen -f "${cur}"))"#;

pub(super) const ZSH_DISKSPD: &str = "
_diskspd() {
    _diskspd_words
}
";

/// Completes by the name of the file, when zsh has loaded it from there, or registers the function.
pub(super) const ZSH_DISKSPD_END: &str = r#"
if [ "$funcstack[1]" = "_diskspd" ]; then
    _diskspd "$@"
else
    compdef _diskspd diskspd
fi
"#;

/// What `clap_complete` makes of the subcommands.
fn subcommands(shell: Shell, command: &mut Command, name: &str) -> String {
    let mut script = Vec::new();
    generate(shell, command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The options of `truespd cluster run`, which stand among those of DiskSpd.
fn cluster_options(command: &Command) -> impl Iterator<Item = (&Arg, &str)> {
    let run = command.find_subcommand("cluster").and_then(|cluster| cluster.find_subcommand("run"));
    let args = run.into_iter().flat_map(Command::get_arguments);
    args.filter_map(|arg| Some((arg, arg.get_long()?)))
}

/// The switches of a kind, each in the words of a shell.
fn joined(
    all: &[Switch],
    is_wanted: fn(&Switch) -> bool,
    separator: &str,
    words: fn(&Switch) -> String,
) -> String {
    let words: Vec<String> = all.iter().filter(|switch| is_wanted(switch)).map(words).collect();
    words.join(separator)
}

fn word(switch: &Switch) -> String {
    switch.word.clone()
}

/// What completes `truespd`: the subcommands, and DiskSpd's words behind `run`.
pub(super) fn bash_truespd(command: &mut Command) -> String {
    let cluster: Vec<String> = cluster_options(command)
        .filter(|(_, long)| *long != "help")
        .map(|(_, long)| format!("--{long}"))
        .collect();
    // Only readline knows how to quote a path.
    let script = subcommands(Shell::Bash, command, "truespd").replace(BASH_PATHS, "COMPREPLY=()");
    let loads: Vec<&str> = BUILT_IN.iter().map(|(name, ..)| *name).collect();
    let end = include_str!("scripts/truespd.bash");
    script + &end.replace("@CLUSTER@", &cluster.join(" ")).replace("@LOADS@", &loads.join("|"))
}

pub(super) fn bash_words() -> String {
    let all = switches();
    include_str!("scripts/diskspd.bash")
        .replace("@LONG@", &joined(&all, Switch::is_long, " ", word))
        .replace("@LETTERS@", &joined(&all, |s| !s.is_long(), " ", word))
        .replace("@TAKES_WORD@", &joined(&all, |s| s.is_long() && s.needs_value, "|", word))
        .replace("@OPEN@", &joined(&all, |s| !s.is_long() && s.needs_value, "|", word))
        .replace("@LONG_VALUES@", &joined(&all, has_long_values, "\n", bash_long_values))
        .replace("@PATHS@", &joined(&all, |s| !s.is_long() && s.leads_to_path(), "\n", bash_path))
        .replace("@GLUED@", &joined(&all, has_glued_values, "\n", bash_glued))
}

fn has_long_values(switch: &Switch) -> bool {
    switch.is_long() && !switch.values.is_empty()
}

fn has_glued_values(switch: &Switch) -> bool {
    !switch.is_long() && !switch.values.is_empty()
}

fn bash_long_values(switch: &Switch) -> String {
    let values: Vec<&str> = switch.values.iter().map(|(value, _)| value.as_str()).collect();
    format!(
        "        {})\n            COMPREPLY=($(compgen -W '{}' -- \"$cur\"))\n            return 0 ;;",
        switch.word,
        values.join(" ")
    )
}

/// A path that is part of the word.
fn bash_path(switch: &Switch) -> String {
    let word = &switch.word;
    let (pattern, lead) = if switch.takes_path {
        (format!("{word}*"), word.clone())
    } else {
        (format!("{word}[0-9]*,*"), "${word%%,*},".to_string())
    };
    format!("        {pattern})\n            _diskspd_file \"{lead}\"\n            return 0 ;;")
}

/// The values, once the letters stand there.
fn bash_glued(switch: &Switch) -> String {
    let words: Vec<String> = switch.glued().map(|(word, _)| word).collect();
    format!("    [[ $cur == {}* ]] && words+=' {}'", switch.word, words.join(" "))
}

/// What completes `truespd`: the subcommands, and DiskSpd's words behind `run`.
pub(super) fn zsh_truespd(command: &mut Command) -> String {
    let mut cluster = Vec::new();
    for (arg, long) in cluster_options(command) {
        let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
        cluster.push(format!("            {}", zsh_described(&format!("--{long}"), &about)));
    }
    // Behind a command that takes targets itself, `clap_complete` looks for a subcommand after them.
    let workload = command.find_subcommand_mut("workload");
    let beside = workload.and_then(|workload| workload.find_subcommand_mut("beside"));
    let beside = beside.map_or_else(String::new, |beside| zsh_function(beside, "truespd-workload-beside"));
    let words = include_str!("scripts/truespd.zsh").replace("@CLUSTER@", &cluster.join(" \\\n"));
    format!("{}{beside}{words}", zsh_function(command, "truespd"))
}

/// The function that completes the command `name`, `_name`, without what registers it: that does not know DiskSpd's
/// words.
fn zsh_function(command: &mut Command, name: &str) -> String {
    let script = subcommands(Shell::Zsh, command, name);
    let end = script.rfind("if [ \"$funcstack[1]\"").unwrap_or(script.len());
    script[..end].trim_start_matches(&format!("#compdef {name}")).to_string()
}

pub(super) fn zsh_words() -> String {
    let all = switches();
    include_str!("scripts/diskspd.zsh")
        .replace("@TAKES_WORD@", &joined(&all, |s| s.is_long() && s.needs_value, "|", word))
        .replace("@LONG_VALUES@", &joined(&all, has_long_values, "\n", zsh_long_values))
        .replace("@LONG_PATHS@", &joined(&all, |s| s.is_long() && s.takes_path, "|", word))
        .replace("@PATHS@", &joined(&all, |s| !s.is_long() && s.leads_to_path(), "\n", zsh_path))
        .replace("@OPEN@", &joined(&all, |s| !s.is_long() && s.needs_value, "\n", zsh_line))
        .replace("@CLOSED@", &joined(&all, |s| s.is_long() || !s.needs_value, "\n", zsh_line))
        .replace("@GLUED@", &joined(&all, has_glued_values, "\n", zsh_glued))
}

fn zsh_line(switch: &Switch) -> String {
    format!("        {}", zsh_described(&switch.word, &switch.about))
}

/// `'-b:I/O size'`, as `_describe` reads it.
fn zsh_described(word: &str, about: &str) -> String {
    format!("'{}:{}'", word.replace(':', "\\:"), about.replace('\'', "'\\''").replace('\n', " "))
}

fn zsh_long_values(switch: &Switch) -> String {
    let values: Vec<String> =
        switch.values.iter().map(|(value, about)| zsh_described(value, about)).collect();
    format!("        ({}) glued=({}); _describe 'value' glued; return ;;", switch.word, values.join(" "))
}

fn zsh_path(switch: &Switch) -> String {
    let word = &switch.word;
    if switch.takes_path {
        format!("        ({word}*) compset -P '{word}'; _files; return ;;")
    } else {
        format!("        ({word}[0-9]*,*) compset -P '*,'; _files; return ;;")
    }
}

fn zsh_glued(switch: &Switch) -> String {
    let values: Vec<String> = switch.glued().map(|(word, about)| zsh_described(&word, about)).collect();
    format!("    [[ $PREFIX == {}* ]] && glued+=({})", switch.word, values.join(" "))
}

/// What completes `truespd`: the subcommands, and DiskSpd's words behind `run`.
pub(super) fn fish_truespd(command: &mut Command) -> String {
    let mut text = subcommands(Shell::Fish, command, "truespd");
    push_fish_values(&mut text, command, &[]);
    text + &fish_options("truespd", &["run"]) + &fish_options("truespd", &["cluster", "run"])
}

/// Words of arguments that have no option, which `clap_complete` leaves out for fish.
fn push_fish_values(text: &mut String, command: &Command, path: &[&str]) {
    for positional in command.get_positionals() {
        let mut values: Vec<(String, String)> = Vec::new();
        for value in positional.get_value_parser().possible_values().into_iter().flatten() {
            let about = value.get_help().map(ToString::to_string).unwrap_or_default();
            values.push((value.get_name().to_string(), about));
        }
        if let ([first, rest @ ..], false) = (path, values.is_empty()) {
            let below: String =
                rest.iter().map(|name| format!("; and __fish_seen_subcommand_from {name}")).collect();
            // One of them is enough; files may follow.
            let names: Vec<&str> = values.iter().map(|(value, _)| value.as_str()).collect();
            let condition = format!(
                "__fish_truespd_using_subcommand {first}{below}; and not __fish_seen_subcommand_from {}",
                names.join(" ")
            );
            let values = fish_list(&values);
            text.push_str(&format!("complete -c truespd -n \"{condition}\" -f -a {values}\n"));
        }
    }
    for sub in command.get_subcommands() {
        let below: Vec<&str> = path.iter().copied().chain([sub.get_name()]).collect();
        push_fish_values(text, sub, &below);
    }
}

/// DiskSpd's options for a command, behind these words of it.
pub(super) fn fish_options(command: &str, behind: &[&str]) -> String {
    let condition = format!("-n '{}'", [&["__diskspd_at_options"], behind].concat().join(" "));
    let mut text = format!("\ncomplete -c {command} -k {condition} -a '(__diskspd_letters)'\n");
    for switch in switches().iter().filter(|switch| switch.is_long()) {
        let takes = match switch {
            Switch { needs_value: false, .. } => String::new(),
            Switch { takes_path: true, .. } => " -r -F".to_string(),
            _ if switch.values.is_empty() => " -x".to_string(),
            _ => format!(" -x -a {}", fish_list(&switch.values)),
        };
        let (name, about) = (switch.word.trim_start_matches('-'), fish_quoted(&switch.about));
        text.push_str(&format!("complete -c {command} {condition} -l {name}{takes} -d {about}\n"));
    }
    text
}

pub(super) fn fish_words() -> String {
    let all = switches();
    include_str!("scripts/diskspd.fish")
        .replace("@TAKES_WORD@", &joined(&all, |s| s.is_long() && s.needs_value, " ", word))
        .replace("@PATHS@", &joined(&all, |s| !s.is_long() && s.leads_to_path(), "\n", fish_path))
        .replace("@LETTERS@", &joined(&all, |s| !s.is_long(), "\n", fish_letter))
        .replace("@GLUED@", &joined(&all, has_glued_values, "\n", fish_glued))
}

/// Files, when what stands before them in the word is there.
fn fish_path(switch: &Switch) -> String {
    let word = &switch.word;
    let lead = if switch.takes_path { word.clone() } else { format!("{word}[0-9]+[A-Za-z]?,") };
    let lines = [
        format!("    set -l lead (string match -r -- '^{lead}' $word)"),
        "    and for path in (__fish_complete_path (string sub -s (math 1 + (string length -- $lead)) -- $word))"
            .into(),
        "        printf '%s%s\\n' $lead $path".into(),
        "    end".into(),
        "    and return".into(),
    ];
    lines.join("\n")
}

/// The letters alone; values are more help than letters that stand there and need one.
fn fish_letter(switch: &Switch) -> String {
    let (word, about) = (&switch.word, fish_quoted(&switch.about));
    let unless = if switch.needs_value && !switch.values.is_empty() {
        format!("test \"$word\" = {word}; or ")
    } else {
        String::new()
    };
    format!("    {unless}printf '%s\\t%s\\n' {word} {about}")
}

fn fish_glued(switch: &Switch) -> String {
    let pairs: Vec<String> =
        switch.glued().map(|(word, about)| format!("{word} {}", fish_quoted(about))).collect();
    let word = &switch.word;
    format!("    string match -q -- '{word}*' \"$word\"; and printf '%s\\t%s\\n' {}", pairs.join(" "))
}

fn fish_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Values with what each does, as `complete -a` reads them: it takes quotes and variables for its own.
fn fish_list(values: &[(String, String)]) -> String {
    let mut lines = Vec::new();
    for (value, about) in values {
        lines.push(format!("{value}\\t\"{}\"", about.replace(['"', '$', '\\'], "")));
    }
    format!("'{}'", lines.join("\n").replace('\'', "\\'"))
}
