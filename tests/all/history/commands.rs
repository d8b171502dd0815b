//! `truespd history`: what each command does, and what it refuses.

use std::fs;

use serde_json::Value;

use super::tools::{Place, Said, assert_whole};

/// Three runs: two of one test with the label `a`, one of another test.
fn three() -> (Place, [String; 3]) {
    let place = Place::new();
    let ids = ["--label a --tag one", "--label a --tag one --tag two -b4K", "-w50 --label b"]
        .map(|o| place.kept(o));
    (place, ids)
}

#[test]
fn a_list_shows_what_is_asked_for() {
    let (place, [a, b, c]) = three();
    assert_eq!(place.ids(""), [c.clone(), b.clone(), a.clone()], "the newest first");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a host has a name");
    for (filter, ids) in [
        ("--label a", vec![&b, &a]),
        ("--tag one", vec![&b, &a]),
        ("--tag one --tag two", vec![&b]),
        ("--label a --tag none", vec![]),
        ("--limit 1", vec![&c]),
        ("--kind mark", vec![]),
        ("--kind result --label b", vec![&c]),
        ("--target .dat --limit 2", vec![&c, &b]),
        ("--target %", vec![]),
        ("--host nobody", vec![]),
        (&format!("--host {} --label b", host.trim()), vec![&c]),
        ("--device no-such-device", vec![]),
        ("--verdict certified", vec![]),
        ("--verdict invalid --label b", vec![&c]),
        ("--since 1h --limit 1", vec![&c]),
        ("--until 1h", vec![]),
        ("--since 2020-01-01 --until 2021-01-01", vec![]),
    ] {
        assert_eq!(place.ids(filter).iter().collect::<Vec<_>>(), ids, "{filter}");
    }
    let text = place.out("history list --limit 2");
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.starts_with("id ") && text.contains("a +one +two"), "{text}");
    let told = place.said("history list --limit 2").err;
    assert!(told.contains("the newest 2 of 3; --limit 0 lists all"), "{told}");
    for (line, words) in [
        ("--since soon", "2026-11-23"),
        ("--verdict good", "certified, suspect, invalid"),
        ("--kind run", "result, mark"),
    ] {
        place.said(&format!("history list {line}")).refused(&[words]);
    }
}

#[test]
fn documents_are_named_by_ids_their_beginnings_and_labels() {
    let (place, [a, ..]) = three();
    let whole = place.out(&format!("history show --json {a}"));
    assert_eq!(place.out(&format!("history show --json {}", &a[..6])), whole);
    assert_eq!(place.out(&format!("history show --json {}", a.to_uppercase())), whole);
    assert!(place.out("history show b").contains("label     b"));
    place.said("history show a").refused(&["several documents have the label 'a'", "give the id of one"]);
    place.said("history show none").refused(&["no document with the id or label 'none'", "history list"]);
    place.said("history rm %").refused(&["no document with the id or label '%'"]);
    // Of so many ids some begin alike, with a letter that is no label.
    let shared = loop {
        let ids = place.ids("");
        let alike = |id: &&String| {
            !"ab".contains(&id[..1]) && ids.iter().filter(|other| other[..1] == id[..1]).count() > 1
        };
        match ids.iter().find(alike) {
            Some(id) => break id.clone(),
            None => place.kept(""),
        };
    };
    place
        .said(&format!("history show {}", &shared[..1]))
        .refused(&["is the beginning of several ids", &shared]);
    let other = Place::new();
    other.said("history show x").refused(&["there is no history"]);
    assert!(!other.path("data").exists(), "looking makes nothing");
}

#[test]
fn what_a_person_says_can_be_changed() {
    let (place, [a, b, c]) = three();
    assert_eq!(place.out(&format!("history label {c} a")), format!("{c}: label a\n"));
    assert_eq!(place.ids("--label a").len(), 3);
    place.out(&format!("history label {c} --remove"));
    assert_eq!(place.ids("--label a"), [b.clone(), a.clone()]);
    assert_eq!(place.out(&format!("history tag {a} +x -one y")), format!("{a}: tags x y\n"));
    let both = place.out("history tag a +group");
    assert!(both.contains(&format!("{a}: tags group x y")) && both.contains(&b), "all with a label: {both}");
    place.out(&format!("history note {a} cold"));
    assert!(place.out(&format!("history show {a}")).contains("note      cold"));
    place.said(&format!("history tag {a} +a,b")).refused(&["begins with a letter or digit"]);
    place.said(&format!("history label {a}")).refused(&["NAME"]);
    assert_eq!(place.out(&format!("history rm {a} {}", &b[..5])), format!("{a}: removed\n{b}: removed\n"));
    assert_eq!(place.ids(""), [c.as_str()]);
    place.said(&format!("history rm {c} {a}")).refused(&[&format!("'{a}'")]);
    assert_eq!(place.ids(""), [c], "all are found before one is removed");
    assert_whole(&place.store());
}

#[test]
fn what_is_exported_is_imported_byte_for_byte() {
    let (place, [a, b, c]) = three();
    place.out(&format!("history note {a} first"));
    assert_eq!(place.out("history export -o all.jsonl"), "3 results exported\n");
    let lines = fs::read_to_string(place.path("all.jsonl")).expect("written");
    assert_eq!(place.out("history export"), lines);
    assert_eq!(place.out("history export --label b").lines().count(), 1);
    let first: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!((first["id"].as_str(), first["given"]["note"].as_str()), (Some(a.as_str()), Some("first")));

    let other = Place::new();
    fs::copy(place.path("all.jsonl"), other.path("all.jsonl")).expect("a copy");
    assert_eq!(other.out("history import all.jsonl"), "3 results imported\n");
    assert_eq!(other.out("history import all.jsonl"), "0 results imported, 3 there already\n");
    assert_eq!(other.out("history list --json"), place.out("history list --json"));
    for id in [&a, &b, &c] {
        let shown = format!("history show --json {id}");
        assert!(other.out(&shown) == place.out(&shown), "{id}");
    }
    assert_eq!(other.out("history export"), lines);
    // What somebody said here stays.
    other.out(&format!("history label {a} mine"));
    other.out("history import all.jsonl");
    assert_eq!(other.ids("--label mine"), [a]);
}

#[test]
fn a_damaged_line_is_told_and_nothing_is_imported() {
    let (place, _) = three();
    let lines = place.out("history export");
    let all: Vec<&str> = lines.lines().collect();
    let other = Place::new();
    let changed = all[1].replacen("4096", "4097", 1);
    for (name, text, words) in [
        ("cut", lines[..lines.len() - 100].to_string(), "line 3: it is not a document"),
        ("changed", format!("{}\n{}\n", all[0], changed), "line 2: it is damaged"),
        ("later", all[0].replacen("\"format_version\":1", "\"format_version\":9", 1), "version 9"),
        ("blank", format!("{}\n\nno\n", all[0]), "line 3"),
        ("no", "hello\n".into(), "is not a TrueSpd result"),
    ] {
        other.write(name, text);
        other.said(&format!("history import {name}")).refused(&[name, words]);
        assert!(!other.store().exists(), "{name}");
    }
    other.said("history import none").refused(&["'none' cannot be read"]);
}

#[test]
fn results_that_no_history_kept_are_imported() {
    let place = Place::new();
    place.run("--no-history --json run.json");
    assert_eq!(place.out("history import run.json"), "1 result imported\n");
    let ids = place.ids("--kind result");
    let shown = place.out(&format!("history show --json {}", ids[0]));
    assert!(shown.as_bytes() == fs::read(place.path("run.json")).expect("there"));
    assert!(place.out("history stats").contains("t.dat"), "its figures are known");
}

#[test]
fn pruning_removes_what_is_old_and_nothing_with_a_name() {
    let place = Place::new();
    let named = place.kept("--label keep");
    let ids = [(); 4].map(|()| place.kept(""));
    place.said("history prune").refused(&["--older-than", "--keep-last"]);
    place.said("history prune --older-than 5").refused(&["90d"]);
    assert_eq!(place.out("history prune --older-than 1d"), "0 results removed\n");
    let listed = place.out("history prune --keep-last 2 --dry-run");
    assert!(listed.contains(&ids[0]) && listed.contains(&ids[1]) && !listed.contains(&named), "{listed}");
    assert_eq!(place.ids("").len(), 5, "only listed");
    assert_eq!(place.out("history prune --keep-last 2"), "2 results removed\n");
    assert_eq!(place.ids(""), [ids[3].clone(), ids[2].clone(), named]);
    assert_whole(&place.store());
}

#[test]
fn statistics_tell_a_distribution_and_where_a_run_stands() {
    let place = Place::new();
    // The same profile: the engine is none of it.
    let ids: Vec<String> = (1..=5)
        .map(|ms| {
            let line = format!("run -c64K -b4K -r -o1 -L -d1 -W0 --engine sim:latency={ms}ms t.dat");
            place.said(&line).done().id()
        })
        .collect();
    place.kept("-w100");
    let told: Value = serde_json::from_str(&place.out("history stats --by host --json")).expect("JSON");
    let groups = told["groups"].as_array().expect("a list");
    assert_eq!(groups.len(), 2, "each profile is one: {told}");
    let group = groups.iter().find(|group| group["spread"]["runs"] == 5).expect("the five");
    let figure = |name: &str| group["spread"][name].as_f64().expect("a number");
    assert!((figure("max") / figure("min") - 5.0).abs() < 0.1, "{group}");
    assert!((figure("median") - 1000.0 / 3.0).abs() < 5.0, "{group}");
    assert!(figure("lower_quartile") < figure("median") && figure("median") < figure("upper_quartile"));
    let percent = |metric: &str, id: &str| {
        let line = format!("history stats --by host --metric {metric} --of {id} --json");
        let told: Value = serde_json::from_str(&place.out(&line)).expect("JSON");
        told["of"][0]["better_than_percent"].as_f64().expect("a number")
    };
    // The first has the lowest latency: more IOPS and less latency are better.
    for metric in ["iops", "latency"] {
        assert_eq!([0, 2, 4].map(|at| percent(metric, &ids[at])), [100.0, 50.0, 0.0], "{metric}");
    }
    let text = place.out(&format!("history stats --of {}", ids[0]));
    assert!(text.contains("better than 100 % of 4 other results with the same profile"), "{text}");
    place.said("history stats --metric speed").refused(&["iops"]);
    place.said("history stats --by planet").refused(&["host, model"]);
}

/// Wherever a result is read, an id or a label stands for it; a file of that name comes first.
#[test]
fn ids_and_labels_stand_wherever_a_result_is_read() {
    let (place, [a, b, c]) = three();
    let whole = place.out(&format!("history show --json {c}"));
    assert_eq!(place.out(&format!("render -Rjson {c}")), whole);
    assert!(place.out("show b").starts_with("b, 20"), "by its label");
    assert!(place.out(&format!("judge {c}")).starts_with(&format!("{c}: ")));
    place.said("show a").refused(&["'a' is the label of 2 kept results", &a, &b]);
    place
        .said("show none")
        .refused(&["'none' cannot be read: No such file", "no kept result has that id or label"]);
    // Without a place for a history there is none to look into: a wrong file is told as that.
    for line in ["show none", "render none", "judge none", "compare none none", "report none -o page.html"] {
        let mut command = place.command(line);
        let said = Said::by(command.env_remove("XDG_DATA_HOME").env_remove("HOME"));
        assert!(!said.err.contains("XDG_DATA_HOME"), "{line}: {}", said.err);
        said.refused(&["'none' cannot be read: No such file"]);
    }
    place.write("wrong.json", "{}");
    let mut command = place.command("show wrong.json");
    Said::by(command.env_remove("XDG_DATA_HOME").env_remove("HOME"))
        .refused(&["'wrong.json' is not the result of a run"]);
    place.out("report a b -o page.html");
    for (number, id) in [(1, &b), (2, &a), (3, &c)] {
        let inside = place.out(&format!("render -Rjson page.html#{number}"));
        assert_eq!(inside, place.out(&format!("history show --json {id}")));
    }
    place.write("b", &whole);
    place.write("c", "hello");
    assert!(place.out("show b").starts_with("b, 20"));
    place.out(&format!("history label {c} c"));
    place.said("show c").refused(&["'c' is not a TrueSpd result"]);
    let equal = place.out("compare --unlike a ./b");
    assert!(equal.contains("A: 2 runs") && equal.contains(&a) && equal.contains(&b), "{equal}");
}
