# complete.zsh OUT LINE...: what zsh completes at the end of each line. A second zsh has a terminal of its own and runs the
# real widget; every match is written to OUT as it is added. $SCRIPTS are read, or found in the folder $FOLDER.
out=$1
shift
zmodload zsh/zpty || exit 1
: > $out
zpty child zsh -f -i
tell() { zpty -w child "$1" }
# Until the last line of OUT is this one.
await() {
    integer i
    for (( i = 0; i < 1200; i++ )); do
        [[ "$(tail -n 1 $out)" == $1 ]] && return 0
        zpty -r -t child told 2>/dev/null
        sleep 0.05
    done
    return 1
}
tell "PS1= PS2= ; fpath=($FOLDER \$fpath) ; autoload -Uz compinit && compinit -u -D"
for script in ${=SCRIPTS}; do tell "source $script"; done
tell "compadd() { if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd \"\$@\"; return \$?; fi; local -a hits; builtin compadd -A hits \"\$@\"; (( \$#hits )) && print -rl -- \$IPREFIX\${^hits} >> $out; builtin compadd \"\$@\" }"
tell "complete-and-say() { zle complete-word; print END >> $out; zle kill-buffer }; zle -N complete-and-say; bindkey '^T' complete-and-say"
tell "LISTMAX=100000; print READY >> $out"
await READY || { print "zsh does not answer"; exit 1 }
for line; do
    : > $out
    zpty -w -n child "$line"$'\x14'
    await END || { print "zsh does not complete '$line'"; exit 1 }
    print -r -- "> $line"
    grep -vx -e END -e '' $out | sort -u
done
zpty -d child
