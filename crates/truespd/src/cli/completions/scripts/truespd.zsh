
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
    elif (( CURRENT > 3 )) && [[ $words[2] == workload && $words[3] == beside ]]; then
        shift 2 words
        (( CURRENT -= 2 ))
        _truespd-workload-beside
    else
        _truespd "$@"
    fi
}

compdef _truespd_or_words truespd
[ "$funcstack[1]" != "_truespd" ] || _truespd_or_words "$@"
