# Completion of diskspd and truespd, made by truespd completions.

# Whether an option of diskspd may stand here: no target yet. The arguments are words before those of diskspd.
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
