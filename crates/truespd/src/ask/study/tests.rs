//! What studies run.

use super::*;

fn place(word: &str, is_writable: bool) -> StudyTarget {
    StudyTarget {
        word: word.into(),
        shown: word.to_uppercase(),
        is_device: word.starts_with("/dev"),
        is_writable,
    }
}

fn lines(questions: &[Question]) -> Vec<String> {
    questions
        .iter()
        .map(|q| format!("{}: {} | {}", q.title, q.words[0].join(" "), q.words[1].join(" ")))
        .collect()
}

#[test]
fn the_cache_is_passed_and_used() {
    assert_eq!(
        lines(&cache(&[place("f", true), place("/dev/x", false)])),
        [
            "reads, F: -b8K -r -o32 -t1 -w0 -Su f | -b8K -r -o32 -t1 -w0 f",
            "writes, F: -b8K -r -o32 -t1 -w100 -Z1M -Su f | -b8K -r -o32 -t1 -w100 -Z1M f",
            "reads, /DEV/X: -b8K -r -o32 -t1 -w0 -Su /dev/x | -b8K -r -o32 -t1 -w0 /dev/x",
        ]
    );
    assert_eq!(about_cache(&[place("f", true)]).len(), 1);
    assert!(about_cache(&[place("/dev/x", true)])[1].contains("Windows"));
}

#[test]
fn one_target_and_all_of_them() {
    let places = [place("a", true), place("b", true)];
    let questions = write_cache(&places);
    let titles: Vec<&str> = questions.iter().map(|q| q.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "writes, 1 target",
            "durable writes, 1 target",
            "reads, 1 target",
            "writes, 2 targets",
            "durable writes, 2 targets",
            "reads, 2 targets"
        ]
    );
    for question in &questions {
        assert_eq!(question.words[0], question.words[1], "only the setting differs");
        assert!(question.words[0].join(" ").starts_with("-b4K -r -t8 -o40 -L "));
    }
    assert!(lines(&questions)[4].ends_with("-w100 -Z1M -Sh a b"));
    assert_eq!(write_cache(&[place("a", false)]).len(), 1, "what may not be written is read");
    assert!(write_cache(&[]).is_empty());
    assert_eq!(about_write_cache(&[]).len(), 1);
    assert!(about_write_cache(&["nvme0n1".into()])[1].starts_with("On nvme0n1 only the kernel's setting"));
}

#[test]
fn the_first_path_is_compared_with_the_others() {
    let questions = locality(&[place("a", false), place("b", false), place("c", false)]);
    let line = "-b4K -r4K -t4 -o32 -w0 -Sh -L";
    assert_eq!(
        lines(&questions),
        [format!("A against B: {line} a | {line} b"), format!("A against C: {line} a | {line} c")]
    );
    assert!(locality(&[]).is_empty());
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/study-v1.json");
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        published == truespd_core::result::schema::of_kind::<StudyReport>(),
        "renew it: truespd schema study > schema/study-v1.json"
    );
}
