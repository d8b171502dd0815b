# Completion of diskspd and truespd, made by truespd completions.

# Words of diskspd from word $1 on; further arguments are options that may stand among them.
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
