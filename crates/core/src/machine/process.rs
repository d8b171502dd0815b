//! Other processes: their state (proc_pid_stat(5)), and which of some programs run (proc_pid_comm(5)).

use super::roots::Roots;
use crate::machine::read::read_word;

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// It runs or waits.
    Alive,
    /// It was stopped, by Ctrl+Z, `kill -STOP` or a debugger.
    Stopped,
    /// It has ended.
    Ended,
}

/// The state of the process with this number.
pub fn state_of(pid: u32, roots: &Roots) -> ProcessState {
    let Ok(stat) = std::fs::read(roots.proc.join(pid.to_string()).join("stat")) else {
        return ProcessState::Ended;
    };
    let stat = String::from_utf8_lossy(&stat);
    // The name of the program, in brackets, may hold brackets and blanks.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    match state {
        Some('T' | 't') => ProcessState::Stopped,
        Some('Z' | 'X') | None => ProcessState::Ended,
        Some(_) => ProcessState::Alive,
    }
}

/// Processes of these programs that do something, with their numbers, in order of these: none that has ended
/// or was stopped. A program is known by the first 15 characters of its name.
pub fn of_programs(names: &[&str], roots: &Roots) -> Vec<(u32, String)> {
    let entries = std::fs::read_dir(&roots.proc).into_iter().flatten().flatten();
    let mut found: Vec<(u32, String)> = entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let name = read_word(&entry.path().join("comm"))?;
            // A recorded tree has no states.
            let acts =
                || !entry.path().join("stat").exists() || matches!(state_of(pid, roots), ProcessState::Alive);
            (names.contains(&name.as_str()) && acts()).then_some((pid, name))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_is_read() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let roots = Roots { proc: dir.path().into(), ..Roots::default() };
        std::fs::create_dir(dir.path().join("7")).expect("it is new");
        let states = [
            ("7 (disk (x) spd) S 1 7 7 0", ProcessState::Alive),
            ("7 (x) R 1", ProcessState::Alive),
            ("7 (x) T 1", ProcessState::Stopped),
            ("7 (x) t 1", ProcessState::Stopped),
            ("7 (x) Z 1", ProcessState::Ended),
            ("", ProcessState::Ended),
        ];
        for (stat, state) in states {
            std::fs::write(dir.path().join("7/stat"), stat).expect("it can be written");
            assert_eq!(state_of(7, &roots), state, "{stat}");
        }
        assert_eq!(state_of(8, &roots), ProcessState::Ended);
        std::fs::write(dir.path().join("7/comm"), "fstrim\n").expect("it can be written");
        assert!(of_programs(&["fstrim", "x"], &roots).is_empty(), "it has ended");
        std::fs::write(dir.path().join("7/stat"), "7 (fstrim) D 1").expect("it can be written");
        assert_eq!(of_programs(&["fstrim", "x"], &roots), [(7, "fstrim".to_string())]);
        assert!(of_programs(&["x"], &roots).is_empty());
        assert_eq!(state_of(std::process::id(), &Roots::default()), ProcessState::Alive);
    }
}
