//! Completion for bash. Needs nothing but bash itself, 4.0 or later.

use clap::Command;
use clap_complete::{Shell, generate};

use super::switches::{Switch, switches};
use crate::suite::workload::preset::BUILT_IN;

/// What completes DiskSpd's words. `@VALUES@` and so on come from the switches.
const WORDS: &str = r##"# Words of diskspd from word $1 on; further arguments are options that may stand among them.
_diskspd_words() {
    local i=$1 word cur=${COMP_WORDS[COMP_CWORD]} lead='' option='' more=${*:2}
    COMPREPLY=()
    while (( i < COMP_CWORD )); do
        word=${COMP_WORDS[i]}
        (( i += 1 ))
        case $word in
            --)
                return 0 ;;
            --*)
                # readline takes --engine=NAME for three words.
                if [[ ${COMP_WORDS[i]} == = ]]; then
                    (( i += 1 ))
                    if (( i >= COMP_CWORD )); then
                        option=$word
                        [[ $cur == = ]] && cur=''
                        break
                    fi
                    (( i += 1 ))
                elif _diskspd_takes_word "$word"; then
                    if (( i == COMP_CWORD )); then
                        option=$word
                        break
                    fi
                    (( i += 1 ))
                fi ;;
            -?*) ;;
            *)
                # Behind the first target there are targets only. The start of -:1 is a word for readline.
                [[ $word == - && ${COMP_WORDS[i]} == : ]] || return 0 ;;
        esac
        # So are the parts of -B1M:2M and sim:latency=1ms. What stands before that of the cursor leads to it.
        lead=$word
        while (( i < COMP_CWORD )) && [[ ${COMP_WORDS[i]} == [:=] ]]; do
            lead+=${COMP_WORDS[i]}
            (( i += 1 ))
            (( i >= COMP_CWORD )) || lead+=${COMP_WORDS[i]}
            (( i += 1 ))
        done
        if (( i == COMP_CWORD )) && [[ $cur == [:=] ]]; then
            lead+=$cur
            cur=''
            (( i += 1 ))
        fi
        (( i > COMP_CWORD )) || lead=''
    done
    case $option in
        '') ;;
@LONG_VALUES@
        *)
            # A path, which readline completes by itself, or what only you know.
            return 0 ;;
    esac
    # What is typed, without what quotes it. Behind an open quote, readline replaces what follows that only.
    word=${cur//\\?/}
    case $word in
        *[\"\']*[\"\']*)
            return 0 ;;
        *[\"\']*)
            lead+=${cur%%[\"\']*}
            cur=${cur#*[\"\']} ;;
        *)
            cur=${cur//\\/} ;;
    esac
    word=$lead$cur
    case $word in
@PATHS@
    esac
    [[ -z $lead && $cur == -* ]] || return 0
    local words="@LONG@ $more"
    words+=" @LETTERS@"
@GLUED@
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    # Values are more help than the letter that stands there.
    if (( ${#COMPREPLY[@]} > 1 )); then
        case $cur in
            @OPEN@) for i in "${!COMPREPLY[@]}"; do [[ ${COMPREPLY[i]} == "$cur" ]] && unset 'COMPREPLY[i]'; done
                    COMPREPLY=(${COMPREPLY[@]+"${COMPREPLY[@]}"}) ;;
        esac
    fi
    # A letter that still needs its value is not finished.
    if (( ${#COMPREPLY[@]} == 1 )); then
        case ${COMPREPLY[0]} in
            @OPEN@) compopt -o nospace 2>/dev/null ;;
        esac
    fi
    return 0
}

# Whether the next word is the value of this option.
_diskspd_takes_word() {
    case $1 in
        @TAKES_WORD@) return 0 ;;
    esac
    return 1
}

# Files behind these letters, which are part of the word, of what is typed.
_diskspd_file() {
    local file path=$lead$cur
    path=${path#"$1"}
    # Nothing expands ~ inside a word.
    [[ $path == '~/'* ]] && path=$HOME${path#'~'}
    while IFS= read -r file; do
        if [[ -d $file ]]; then file+=/; fi
        file=$1$file
        COMPREPLY+=("${file#"$lead"}")
    done < <(compgen -f -- "$path")
    # readline quotes what needs it.
    compopt -o filenames 2>/dev/null
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
    return 0
}
"##;

/// Registers the function of `diskspd`.
const DISKSPD: &str = r"
_diskspd() {
    _diskspd_words 1
}
complete -o bashdefault -o default -F _diskspd diskspd
";

/// Registers the function of `truespd`, which hands DiskSpd's words on.
const TRUESPD: &str = r#"
# What follows run are the words of diskspd.
_truespd_or_words() {
    if [[ ${COMP_WORDS[1]-} == run ]] && (( COMP_CWORD > 1 )); then
        _diskspd_words 2
    elif [[ ${COMP_WORDS[1]-} == cluster && ${COMP_WORDS[2]-} == run ]] && (( COMP_CWORD > 2 )); then
        _diskspd_words 3 @CLUSTER@
    else
        local i previous=$3
        # readline takes --preset=NAME for three words.
        if [[ $previous == = ]] && (( COMP_CWORD > 1 )); then previous=${COMP_WORDS[COMP_CWORD - 2]}; fi
        _truespd "$1" "$2" "$previous"
        # Options are offered behind a dash; elsewhere they would hide the files.
        if [[ $2 != -* ]]; then
            for i in "${!COMPREPLY[@]}"; do [[ ${COMPREPLY[i]} == -* ]] && unset 'COMPREPLY[i]'; done
            COMPREPLY=(${COMPREPLY[@]+"${COMPREPLY[@]}"})
        fi
        # One load, and then its files.
        if [[ $2 != -* && $previous != -* ]] && [[ ${COMP_WORDS[1]-} == workload || ${COMP_WORDS[2]-} == workload ]]; then
            for (( i = 2; i < COMP_CWORD; i += 1 )); do
                case ${COMP_WORDS[i]} in
                    @LOADS@) COMPREPLY=() ;;
                esac
            done
        fi
    fi
    return 0
}
complete -o bashdefault -o default -F _truespd_or_words truespd
"#;

/// How `clap_complete` lists paths: a blank in one makes two words of it.
const PATHS: &str = r#"COMPREPLY=($(compgen -f "${cur}"))"#;

pub(super) fn both(command: &mut Command) -> String {
    format!("{}{DISKSPD}{}", words(), subcommands(command))
}

pub(super) fn diskspd() -> String {
    format!("{}{DISKSPD}", words())
}

pub(super) fn truespd(command: &mut Command) -> String {
    format!("{}{}", words(), subcommands(command))
}

fn subcommands(command: &mut Command) -> String {
    let cluster = super::tree::options(command, &["cluster", "run"]);
    let mut script = Vec::new();
    generate(Shell::Bash, command, "truespd", &mut script);
    // Only readline knows how to quote a path.
    let script = String::from_utf8_lossy(&script).replace(PATHS, "COMPREPLY=()");
    let loads: Vec<&str> = BUILT_IN.iter().map(|(name, ..)| *name).collect();
    let end = TRUESPD.replace("@CLUSTER@", &cluster.join(" ")).replace("@LOADS@", &loads.join("|"));
    format!("{script}{end}")
}

fn words() -> String {
    let all = switches();
    let joined = |of: &mut dyn Iterator<Item = String>, by: &str| of.collect::<Vec<_>>().join(by);
    let long = || all.iter().filter(|switch| switch.is_long());
    let letters = || all.iter().filter(|switch| !switch.is_long());
    WORDS
        .replace("@LONG@", &joined(&mut long().map(|switch| switch.word.clone()), " "))
        .replace("@LETTERS@", &joined(&mut letters().map(|switch| switch.word.clone()), " "))
        .replace("@TAKES_WORD@", &joined(&mut long().filter(|s| s.needs_value).map(|s| s.word.clone()), "|"))
        .replace("@OPEN@", &joined(&mut letters().filter(|s| s.needs_value).map(|s| s.word.clone()), "|"))
        .replace(
            "@LONG_VALUES@",
            &joined(&mut long().filter(|s| !s.values.is_empty()).map(long_values), "\n"),
        )
        .replace(
            "@PATHS@",
            &joined(&mut letters().filter(|s| s.takes_path || s.has_path_behind_comma).map(path), "\n"),
        )
        .replace("@GLUED@", &joined(&mut letters().filter(|s| !s.values.is_empty()).map(glued), "\n"))
}

fn long_values(switch: &Switch) -> String {
    let values: Vec<&str> = switch.values.iter().map(|(value, _)| value.as_str()).collect();
    format!(
        "        {})\n            COMPREPLY=($(compgen -W '{}' -- \"$cur\"))\n            return 0 ;;",
        switch.word,
        values.join(" ")
    )
}

/// A path that is part of the word.
fn path(switch: &Switch) -> String {
    let word = &switch.word;
    let (pattern, lead) = if switch.takes_path {
        (format!("{word}*"), word.clone())
    } else {
        (format!("{word}[0-9]*,*"), "${word%%,*},".to_string())
    };
    format!("        {pattern})\n            _diskspd_file \"{lead}\"\n            return 0 ;;")
}

/// The values, once the letters stand there.
fn glued(switch: &Switch) -> String {
    let words: Vec<String> = switch.glued().map(|(word, _)| word).collect();
    let word = &switch.word;
    format!("    [[ $cur == {word}* ]] && words+=' {}'", words.join(" "))
}
