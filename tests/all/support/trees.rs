//! Recorded trees of machines (`tests/data/trees`), unpacked for a test.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use truespd_platform::machine::chain;
use truespd_platform::machine::chain::Layer;
use truespd_platform::machine::device::DeviceNumber;
use truespd_platform::machine::mounts::read_mounts;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{Filesystem, TargetFacts, TargetKind};

/// A machine's trees in a directory of their own.
pub struct Tree {
    pub roots: Roots,
    _dir: tempfile::TempDir,
}

impl Tree {
    /// Unpacks `tests/data/trees/<name>.txt`; the format is described in the folder's README.
    pub fn load(name: &str) -> Self {
        let folder = Path::new(crate::support::ROOT).join("tests/data/trees");
        let text = fs::read_to_string(folder.join(format!("{name}.txt"))).expect("the tree is readable");
        let dir = tempfile::tempdir().expect("a temporary directory");
        let top = dir.path();
        let mut section = PathBuf::new();
        let mut devices = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(inside) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                section = PathBuf::from(inside);
            } else if let Some(name) = line.strip_suffix(" <<") {
                let body: Vec<&str> = lines.by_ref().take_while(|l| *l != ">>").collect();
                put(&top.join(&section).join(name), &format!("{}\n", body.join("\n")));
            } else if let Some((at, to)) = line.split_once(" -> ") {
                link(&top.join(&section).join(at), &top.join(to));
            } else if let Some((at, content)) = line.split_once(" = ") {
                put(&top.join(&section).join(at), &format!("{content}\n"));
                if at == "dev" {
                    devices.push((section.clone(), content.to_string()));
                }
            } else {
                panic!("{name}: what is {line:?}?");
            }
        }
        // The kernel makes these for every device.
        for (at, number) in devices {
            let name = at.file_name().expect("a device has a name");
            link(&top.join("sys/dev/block").join(number), &top.join(&at));
            link(&top.join("sys/class/block").join(name), &top.join(&at));
            if !top.join(&at).join("partition").exists() {
                link(&top.join("sys/block").join(name), &top.join(&at));
            }
        }
        let roots = Roots { proc: top.join("proc"), sys: top.join("sys"), dev: top.join("dev") };
        Tree { roots, _dir: dir }
    }

    /// Chain of a file at `path`, found by its mount.
    pub fn file(&self, path: &str) -> Vec<Layer> {
        let mounts = read_mounts(&self.roots).expect("mounts");
        let inside = mounts.iter().filter(|m| Path::new(path).starts_with(&m.mount_point));
        let mount = inside.max_by_key(|m| m.mount_point.components().count()).expect("a mount");
        let filesystem = Filesystem {
            name: mount.fs_type.clone(),
            source: Some(mount.source.clone()),
            mount_point: Some(mount.mount_point.clone()),
            mount_options: Some(mount.options.clone()),
            is_remote: false,
            is_memory: false,
            block_bytes: 4096,
        };
        self.chain(path, TargetKind::Regular, mount.device, Some(filesystem))
    }

    /// Chain of a device by its kernel name.
    pub fn device(&self, name: &str) -> Vec<Layer> {
        let number = fs::read_to_string(self.roots.sys.join("class/block").join(name).join("dev"));
        let number = number.expect("a device").parse().expect("its number");
        self.chain(&format!("/dev/{name}"), TargetKind::Block, number, None)
    }

    fn chain(
        &self,
        path: &str,
        kind: TargetKind,
        device: DeviceNumber,
        filesystem: Option<Filesystem>,
    ) -> Vec<Layer> {
        let facts = TargetFacts {
            path: path.into(),
            kind,
            size_bytes: 1 << 30,
            device,
            inode: 12,
            device_name: None,
            sectors: None,
            direct: None,
            filesystem,
            scheduler: None,
            write_cache: None,
            namespace: None,
        };
        chain::of_facts(&facts, &self.roots)
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("inside the tree")).expect("a directory");
    fs::write(path, text).expect("a file");
}

fn link(at: &Path, to: &Path) {
    fs::create_dir_all(at.parent().expect("inside the tree")).expect("a directory");
    symlink(to, at).expect("a symbolic link");
}

/// The layers as an indented list; a layer reached a second time is only named.
pub fn outline(layers: &[Layer]) -> String {
    let mut text = String::new();
    let mut seen = vec![false; layers.len()];
    walk(layers, 0, 0, &mut seen, &mut text);
    text
}

fn walk(layers: &[Layer], at: usize, depth: usize, seen: &mut [bool], text: &mut String) {
    let layer = &layers[at];
    let mut words = vec![format!("{:?} {}", layer.kind, layer.name)];
    if !std::mem::replace(&mut seen[at], true) {
        let and = |what: &str, value: &Option<String>| value.as_ref().map(|v| format!("{what}{v}"));
        words.extend(and("", &layer.detail));
        words.extend(layer.starts_at_bytes.map(|start| format!("at byte {start}")));
        words.extend(and("model ", &layer.model));
        words.extend(and("firmware ", &layer.firmware));
        words.extend(and("by ", &layer.transport));
        words.extend(and("from ", &layer.server));
        words.extend(and("compresses ", &layer.compression));
        words.extend(layer.deduplicates.map(|d| format!("deduplicates {d}")));
        text.push_str(&format!("{:1$}{2}\n", "", depth * 2, words.join("; ")));
        for &below in &layer.below {
            walk(layers, below, depth + 1, seen, text);
        }
    } else {
        text.push_str(&format!("{:1$}{2} (as above)\n", "", depth * 2, words[0]));
    }
}
