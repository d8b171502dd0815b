//! Names of the disks that stand for one path each of an NVMe namespace that has several (the kernel's
//! `drivers/nvme/host/core.c`): `nvme1c2n1` is `nvme1n1` by the controller `nvme2`.

/// The controller by which `path` leads to the namespace `disk`, e.g. `nvme2` for `nvme1c2n1` of `nvme1n1`.
/// `None` when it is no path of it.
pub(crate) fn controller_of_path(path: &str, disk: &str) -> Option<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (subsystem, namespace) = disk.strip_prefix("nvme")?.split_once('n')?;
    let rest = path.strip_prefix("nvme")?.strip_prefix(subsystem)?.strip_prefix('c')?;
    let (controller, of) = rest.split_once('n')?;
    let is_path = [subsystem, namespace, controller].into_iter().all(is_number) && of == namespace;
    is_path.then(|| format!("nvme{controller}"))
}

/// Whether `path` leads to the namespace `disk`.
pub(crate) fn is_path_of(path: &str, disk: &str) -> bool {
    controller_of_path(path, disk).is_some()
}

#[cfg(test)]
mod tests {
    use super::controller_of_path;

    #[test]
    fn paths_belong_to_one_namespace() {
        let of = |path: &str| controller_of_path(path, "nvme1n1");
        assert_eq!(of("nvme1c0n1").as_deref(), Some("nvme0"));
        assert_eq!(of("nvme1c12n1").as_deref(), Some("nvme12"));
        for other in ["nvme1n1", "nvme1c0n12", "nvme11c0n1", "nvme1cn1", "nvme1cxn1", "sda", ""] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(controller_of_path("nvme1c0n1p1", "nvme1n1p1"), None);
    }
}
