//! That what is told of fio's words is what the parser takes.

#[cfg(test)]
mod tests {
    use crate::cli::grammar::arguments::is_option;
    use crate::import::said_here;

    /// Words of fio that are said here.
    const NAMES: &[&str] = &[
        "rw",
        "readwrite",
        "bs",
        "blocksize",
        "iodepth",
        "numjobs",
        "runtime",
        "ramp_time",
        "size",
        "filesize",
        "filename",
        "directory",
        "name",
        "ioengine",
        "direct",
        "buffered",
        "sync",
        "fsync",
        "fdatasync",
        "rwmixread",
        "rwmixwrite",
        "rate_iops",
        "rate",
        "thinktime",
        "offset",
        "offset_increment",
        "randseed",
        "cpus_allowed",
        "zero_buffers",
        "refill_buffers",
        "prio",
        "output",
        "output-format",
        "time_based",
        "group_reporting",
        "thread",
        "invalidate",
        "norandommap",
        "lat_percentiles",
        "status-interval",
    ];

    #[test]
    fn each_hint_begins_with_what_the_parser_takes() {
        for (typed, wanted) in [
            ("rw=randread", "-r -w0"),
            ("readwrite=randrw", "-r -w50"),
            ("bs=4k", "-b4k"),
            ("iodepth=32", "-o32"),
            ("numjobs=4", "-t4"),
            ("runtime=60", "-d60"),
            ("direct=1", "-Su"),
            ("rwmixread=70", "-w30"),
            ("rwmixwrite=70", "-w70"),
            ("rate_iops=1000", "-g1000i"),
            ("ioengine=libaio", "--engine libaio"),
            ("ioengine=sync", "--engine psync"),
        ] {
            let words = said_here(typed, None).unwrap_or_else(|| panic!("{typed}"));
            let here = words.split_once("here: ").expect("says what it is here").1;
            assert!(here.starts_with(wanted), "{typed}: {words}");
            if !wanted.starts_with("--") {
                wanted.split(' ').for_each(|word| assert!(is_option(word), "{word}"));
            }
        }
        assert_eq!(said_here("bs", Some("8k")).as_deref(), Some("--bs is a word of fio; here: -b8k"));
        assert_eq!(said_here("bs", None).as_deref(), Some("--bs is a word of fio; here: -b<size>"));
        assert_eq!(said_here("overwrite", None), None);
    }

    #[test]
    fn no_word_of_fio_is_one_of_ours() {
        for name in NAMES {
            assert!(said_here(name, None).is_some(), "{name}");
            assert!(crate::cli::grammar::rows::find(&format!("-{name}")).is_none(), "{name}");
        }
    }
}
