//! On which memory node pages lie, and which policy decides that.
//!
//! Sources: `move_pages(2)`, `get_mempolicy(2)`. Containers may refuse both.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io;
use std::ptr;

use super::buffer::IoBuffer;

/// Pages of each node among `samples` pages spread evenly over the buffer, its first and last among them;
/// fewer where it has fewer. Pages that were never touched lie nowhere and are left out.
///
/// # Errors
/// What `move_pages(2)` says: `ENOSYS` without NUMA in the kernel, `EPERM` in containers.
pub fn nodes_of(buffer: &IoBuffer, samples: usize) -> io::Result<BTreeMap<u32, usize>> {
    let page_bytes = rustix::param::page_size();
    let last = buffer.len().div_ceil(page_bytes).saturating_sub(1);
    let count = samples.min(last + 1).max(1);
    let mut addresses: Vec<*mut c_void> = (0..count)
        .map(|at| if count == 1 { 0 } else { last * at / (count - 1) })
        .map(|page| buffer.as_ptr().wrapping_add(page * page_bytes).cast())
        .collect();
    let mut found = vec![0 as libc::c_int; count];
    // SAFETY: the kernel reads `count` addresses, which it looks up and never follows, and writes `count`
    // numbers. Without nodes to go to it moves nothing. Process 0 is the caller.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            count,
            addresses.as_mut_ptr(),
            ptr::null::<libc::c_int>(),
            found.as_mut_ptr(),
            0,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut nodes = BTreeMap::new();
    // A negative number is why this page has no node.
    for node in found.into_iter().filter_map(|node| u32::try_from(node).ok()) {
        *nodes.entry(node).or_default() += 1;
    }
    Ok(nodes)
}

/// Whether somebody gave the calling thread a policy for its memory, as `numactl` does; `None` where the
/// kernel does not tell.
pub fn has_memory_policy() -> Option<bool> {
    let mut mode: libc::c_int = 0;
    // SAFETY: the kernel writes one number into `mode`, and no nodes without a mask for them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            ptr::null_mut::<c_void>(),
            0,
            ptr::null::<c_void>(),
            0,
        )
    };
    (result == 0).then_some(mode != libc::MPOL_DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_pages_lie_on_a_node_and_others_nowhere() {
        let pages = 8;
        let buffer = IoBuffer::in_small_pages(pages * rustix::param::page_size()).unwrap();
        let nothing = match nodes_of(&buffer, 4) {
            Ok(nodes) => nodes,
            // A kernel without NUMA, or a container.
            Err(e) => return assert!(matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)), "{e}"),
        };
        assert_eq!(nothing, BTreeMap::new());
        buffer.with_slice_mut(0, buffer.len(), |all| all.fill(1));
        for (samples, seen) in [(1, 1), (4, 4), (pages, pages), (100, pages)] {
            assert_eq!(nodes_of(&buffer, samples).unwrap().values().sum::<usize>(), seen, "{samples}");
        }
        let half = IoBuffer::in_small_pages(pages * rustix::param::page_size()).unwrap();
        half.with_slice_mut(0, half.len() / 2, |part| part.fill(1));
        assert_eq!(nodes_of(&half, pages).unwrap().values().sum::<usize>(), pages / 2);
        assert_eq!(nodes_of(&half, 2).unwrap().values().sum::<usize>(), 1, "the first and the last");
    }

    #[test]
    fn the_policy_is_that_of_the_thread() {
        let own = || {
            let Some(before) = has_memory_policy() else { return };
            assert!(!before, "tests run without one");
            // SAFETY: a policy without nodes; it ends with the thread.
            let set =
                unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_LOCAL, ptr::null::<c_void>(), 0) };
            if set == 0 {
                assert_eq!(has_memory_policy(), Some(true));
            }
        };
        std::thread::spawn(own).join().unwrap();
    }
}
