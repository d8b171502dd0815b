//! Programs that serve targets (FUSE): the requests that wait in them, and the disks that they may use.

use crate::result::ServingProgram;
use truespd_platform::machine::chain::{Layer, LayerKind};
use truespd_platform::machine::device::{BlockDevice, DeviceNumber};
use truespd_platform::machine::mounts::{FuseConnection, read_mounts};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::whole_disks;

/// The programs that serve targets of a run.
#[derive(Debug, Default)]
pub struct Programs(Vec<(String, FuseConnection)>);

impl Programs {
    /// Those of the file systems below the targets.
    pub fn open(chains: &[&[Layer]], roots: &Roots) -> Self {
        let mut points: Vec<String> = Vec::new();
        for layer in chains.iter().flat_map(|chain| chain.iter()).filter(|layer| is_served(layer)) {
            let point = layer.mount.point.as_ref().map(|point| point.display().to_string());
            points.extend(point.filter(|point| !points.contains(point)));
        }
        // The usual case: nothing is read.
        let mounts = if points.is_empty() { Vec::new() } else { read_mounts(roots).unwrap_or_default() };
        let mut programs = Vec::new();
        for point in points {
            // Of several at one place the last is seen.
            let mount = mounts.iter().rfind(|mount| mount.mount_point.display().to_string() == point);
            let connection = mount.and_then(|mount| FuseConnection::find(mount.device, roots));
            programs.extend(connection.map(|connection| (point, connection)));
        }
        Programs(programs)
    }

    /// Requests without an answer, of each.
    pub fn waiting(&self) -> Vec<Option<u64>> {
        self.0.iter().map(|(_, connection)| connection.waiting()).collect()
    }

    /// What a run tells of them, by readings from its middle.
    pub fn tell<'a>(
        &self,
        readings: impl Iterator<Item = &'a Vec<Option<u64>>> + Clone,
    ) -> Vec<ServingProgram> {
        let mut told = Vec::new();
        for (at, (point, _)) in self.0.iter().enumerate() {
            let seen: Vec<u64> = readings.clone().filter_map(|reading| *reading.get(at)?).collect();
            let mean = seen.iter().sum::<u64>() as f64 / seen.len().max(1) as f64;
            told.push(ServingProgram {
                mount_point: point.clone(),
                waiting_mean: (!seen.is_empty()).then_some(mean),
                readings: seen.len() as u64,
            });
        }
        told
    }
}

fn is_served(layer: &Layer) -> bool {
    layer.kind == LayerKind::UserFilesystem && layer.below.is_empty()
}

/// All whole disks of this machine where a program serves a target, because any of them may be what it uses;
/// otherwise none.
pub fn disks_beside(chains: &[&[Layer]], roots: &Roots) -> Vec<(String, DeviceNumber)> {
    if !chains.iter().any(|chain| chain.iter().any(is_served)) {
        return Vec::new();
    }
    let numbered = whole_disks(roots).into_iter().filter_map(|name| {
        let number = BlockDevice::named(&name, roots)?.number()?;
        Some((name, number))
    });
    numbered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_platform::machine::chain::MountedAs;

    #[test]
    fn programs_and_the_disks_beside_them() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        put(
            "proc/self/mountinfo",
            "37 1 0:47 / /far rw - fuse.x x rw\n38 1 0:48 / /s3 rw - fuse.s3fs s3 rw\n",
        );
        put("sys/fs/fuse/connections/47/waiting", "4\n");
        put("sys/block/sda/dev", "8:0\n");
        let served = |kind, point: &str| Layer {
            kind,
            mount: MountedAs { point: Some(point.into()), ..MountedAs::default() },
            ..Layer::default()
        };
        let chain = [served(LayerKind::UserFilesystem, "/far"), served(LayerKind::RemoteFilesystem, "/s3")];
        let programs = Programs::open(&[&chain, &chain], &roots);
        let before = programs.waiting();
        assert_eq!(before, [Some(4)], "each once");
        put("sys/fs/fuse/connections/47/waiting", "7\n");
        let told = programs.tell([before, programs.waiting(), vec![None]].iter());
        let [program] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((program.mount_point.as_str(), program.readings), ("/far", 2));
        assert_eq!(program.waiting_mean, Some(5.5));
        assert_eq!(programs.tell([].iter())[0].waiting_mean, None);

        let number = DeviceNumber { major: 8, minor: 0 };
        assert_eq!(disks_beside(&[&chain], &roots), [("sda".to_string(), number)]);
        assert_eq!(disks_beside(&[&chain[1..]], &roots), []);
    }
}
