use super::*;
use crate::made::symlink;
use std::fs;

#[test]
fn all_claimants_are_told_in_one_line() {
    let by = ["it is in use as swap", "it is in exclusive use"].map(Use::plain).to_vec();
    let words = Claim { by, ..Claim::default() }.to_string();
    assert_eq!(words, "it is in use as swap; it is in exclusive use");
}

#[test]
fn programs_are_searched_for_whatever_else_is_not_known_and_once_only() {
    let dir = tempfile::tempdir().unwrap();
    let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
    // Any node will do: it is not opened.
    let known = BlockDevice::all(&Roots::default()).unwrap_or_default();
    let node = |device: &BlockDevice| Some((roots.dev.join(device.node_name()), device.number()?));
    let mut known = known.iter().filter_map(node);
    let Some((node, number)) = known.find(|(node, number)| device_at(node) == Some(*number)) else {
        return;
    };
    for name in ["self", "4194305/fd", "4194305/fdinfo"] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    symlink(node, dir.path().join("4194305/fd/3")).unwrap();
    fs::write(dir.path().join("4194305/fdinfo/3"), "flags:\t02\n").unwrap();
    let mut search = Search { roots: &roots, visited: Vec::new(), missing: Vec::new() };
    search.miss([Missing::new(Fact::Loops, "hidden")]);
    assert_eq!(search.openers(number).len(), 1);
    search.miss([Missing::new(Fact::Programs, "it took too long")]);
    assert_eq!(search.openers(number), [], "the next search would take as long");
    assert_eq!(search.missing.len(), 2);
}

#[test]
fn what_is_no_device_is_told_apart() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = claim(file.as_file(), file.path(), &Roots::default()).unwrap_err();
    assert!(matches!(error, GuardError::Changed { .. }), "{error}");
    let sda = DeviceNumber { major: 8, minor: 0 };
    let error = is_busy(&[file.path()], sda).unwrap_err();
    assert!(matches!(error, GuardError::Changed { .. }), "{error}");
    let error = is_busy(&[Path::new("/no/such"), Path::new("/no/such/too")], sda).unwrap_err();
    assert!(error.to_string().ends_with("No such file or directory"), "{error}");
}
