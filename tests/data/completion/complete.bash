# complete.bash LINE...: what bash completes at the end of each line, in the words and with the function that readline
# would use. The scripts were read before ($SCRIPTS).
for script in $SCRIPTS; do source "$script"; done
for line in "$@"; do
    COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
    # As readline splits a line: at blanks, and around = and :.
    spaced=${line//=/ = }
    spaced=${spaced//:/ : }
    read -ra COMP_WORDS <<<"$spaced"
    [[ $line == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    function=$(complete -p "${COMP_WORDS[0]}") || exit 1
    function=${function##*-F }
    "${function%% *}" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '> %s\n' "$line"
    (( ${#COMPREPLY[@]} )) && printf '%s\n' "${COMPREPLY[@]}"
done
exit 0
