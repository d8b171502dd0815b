//! Completion for zsh.

use clap::Command;
use clap_complete::{Shell, generate};

use super::switches::{Switch, switches};

/// What completes DiskSpd's words; `words` and `CURRENT` are those of the line, from the name of the command on.
const WORDS: &str = r#"# Words of diskspd; the arguments are options that may stand among them, each with a colon and what it does.
_diskspd_words() {
    local -a open closed glued
    local word option='' i=2
    while (( i < CURRENT )); do
        word=$words[i]
        (( i += 1 ))
        case $word in
            (--) _files; return ;;
            (--*=*) ;;
            (@TAKES_WORD@)
                if (( i == CURRENT )); then option=$word; break; fi
                (( i += 1 )) ;;
            (-?*) ;;
            # Behind the first target there are targets only.
            (*) _files; return ;;
        esac
    done
    if [[ -z $option && $PREFIX == --*=* ]]; then
        option=${PREFIX%%=*}
        compset -P '*='
    fi
    case $option in
        ('') ;;
@LONG_VALUES@
        (@LONG_PATHS@) _files; return ;;
        (*) _message 'value'; return ;;
    esac
    case $PREFIX in
@PATHS@
        (-*) ;;
        (*) _files; return ;;
    esac
    # A value follows the letter without a blank.
    open=(
@OPEN@
    )
    closed=(
@CLOSED@
    "$@" )
@GLUED@
    # Values are more help than the letter that stands there.
    (( $#glued )) && open=(${open:#${PREFIX}:*})
    _describe -o 'option' open -S '' -- closed -- glued
}
"#;

const DISKSPD: &str = r#"
_diskspd() {
    _diskspd_words
}
"#;

/// Completes by the name of the file, when zsh has loaded it from there, or registers the function.
const DISKSPD_END: &str = r#"
if [ "$funcstack[1]" = "_diskspd" ]; then
    _diskspd "$@"
else
    compdef _diskspd diskspd
fi
"#;

const TRUESPD: &str = r#"
# What follows run are the words of diskspd.
_truespd_or_words() {
    if (( CURRENT > 2 )) && [[ $words[2] == run ]]; then
        shift words
        (( CURRENT -= 1 ))
        _diskspd_words
    elif (( CURRENT > 3 )) && [[ $words[2] == cluster && $words[3] == run ]]; then
        shift 2 words
        (( CURRENT -= 2 ))
        _diskspd_words \
@CLUSTER@
    else
        _truespd "$@"
    fi
}

compdef _truespd_or_words truespd
[ "$funcstack[1]" != "_truespd" ] || _truespd_or_words "$@"
"#;

pub(super) fn both(command: &mut Command) -> String {
    format!("{}{DISKSPD}\ncompdef _diskspd diskspd\n{}", words(), subcommands(command))
}

pub(super) fn diskspd() -> String {
    format!("#compdef diskspd\n\n{}{DISKSPD}{DISKSPD_END}", words())
}

pub(super) fn truespd(command: &mut Command) -> String {
    format!("#compdef truespd\n\n{}{}", words(), subcommands(command))
}

fn subcommands(command: &mut Command) -> String {
    let cluster = command.find_subcommand("cluster").and_then(|cluster| cluster.find_subcommand("run"));
    let args = cluster.into_iter().flat_map(Command::get_arguments);
    let option = |arg: &clap::Arg| {
        let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
        arg.get_long().map(|long| format!("            {}", described(&format!("--{long}"), &about)))
    };
    let cluster: Vec<String> = args.filter_map(option).collect();
    let mut script = Vec::new();
    generate(Shell::Zsh, command, "truespd", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    // Its end registers the function that does not know DiskSpd's words.
    let end = script.rfind("if [ \"$funcstack[1]\"").unwrap_or(script.len());
    let script = script[..end].trim_start_matches("#compdef truespd");
    format!("{script}{}", TRUESPD.replace("@CLUSTER@", &cluster.join(" \\\n")))
}

fn words() -> String {
    let all = switches();
    let joined = |of: &mut dyn Iterator<Item = String>, by: &str| of.collect::<Vec<_>>().join(by);
    let long = || all.iter().filter(|switch| switch.is_long());
    let letters = || all.iter().filter(|switch| !switch.is_long());
    let line = |switch: &Switch| format!("        {}", described(&switch.word, &switch.about));
    let closed = || all.iter().filter(|switch| switch.is_long() || !switch.needs_value);
    WORDS
        .replace("@TAKES_WORD@", &joined(&mut long().filter(|s| s.needs_value).map(|s| s.word.clone()), "|"))
        .replace(
            "@LONG_VALUES@",
            &joined(&mut long().filter(|s| !s.values.is_empty()).map(long_values), "\n"),
        )
        .replace("@LONG_PATHS@", &joined(&mut long().filter(|s| s.takes_path).map(|s| s.word.clone()), "|"))
        .replace(
            "@PATHS@",
            &joined(&mut letters().filter(|s| s.takes_path || s.has_path_behind_comma).map(path), "\n"),
        )
        .replace("@OPEN@", &joined(&mut letters().filter(|s| s.needs_value).map(line), "\n"))
        .replace("@CLOSED@", &joined(&mut closed().map(line), "\n"))
        .replace("@GLUED@", &joined(&mut letters().filter(|s| !s.values.is_empty()).map(glued), "\n"))
}

/// `'-b:I/O size'`, as `_describe` reads it.
fn described(word: &str, about: &str) -> String {
    format!("'{}:{}'", word.replace(':', "\\:"), about.replace('\'', "'\\''").replace('\n', " "))
}

fn list(values: impl Iterator<Item = (String, String)>) -> String {
    values.map(|(value, about)| described(&value, &about)).collect::<Vec<_>>().join(" ")
}

fn long_values(switch: &Switch) -> String {
    let values = list(switch.values.iter().cloned());
    format!("        ({}) glued=({values}); _describe 'value' glued; return ;;", switch.word)
}

fn path(switch: &Switch) -> String {
    let word = &switch.word;
    if switch.takes_path {
        format!("        ({word}*) compset -P '{word}'; _files; return ;;")
    } else {
        format!("        ({word}[0-9]*,*) compset -P '*,'; _files; return ;;")
    }
}

fn glued(switch: &Switch) -> String {
    let values = list(switch.glued().map(|(word, about)| (word, about.to_string())));
    format!("    [[ $PREFIX == {}* ]] && glued+=({values})", switch.word)
}
