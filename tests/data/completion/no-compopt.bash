# compopt works only while readline completes.
compopt() { :; }
