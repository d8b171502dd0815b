
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
