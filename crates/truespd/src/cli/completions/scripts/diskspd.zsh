# Completion of diskspd and truespd, made by truespd completions.

# Words of diskspd; the arguments are options that may stand among them, each with a colon and what it does.
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
