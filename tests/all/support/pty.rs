//! A terminal for the programs that tests start, and what a person sees on it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// No program of a test takes longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// A terminal of so many columns. Rows have no end at the bottom.
#[derive(Debug, Clone)]
pub struct Screen {
    columns: usize,
    rows: Vec<Vec<char>>,
    at: (usize, usize),
    /// The whole row of the cursor after each change of it, as it was drawn.
    pub drawn: Vec<String>,
    /// Rows that began because the one above was full.
    pub broken: usize,
    escape: Option<String>,
    /// What stood on the terminal before a program took the whole screen, with its cursor.
    below: Option<Below>,
    pub has_cursor: bool,
    /// How often a program took the whole screen.
    pub pictures: usize,
}

/// What stands on a terminal, and its cursor.
type Below = (Vec<Vec<char>>, (usize, usize));

impl Screen {
    fn new(columns: usize) -> Self {
        Screen {
            columns,
            rows: vec![Vec::new()],
            at: (0, 0),
            drawn: Vec::new(),
            broken: 0,
            escape: None,
            below: None,
            has_cursor: true,
            pictures: 0,
        }
    }

    /// Whether a program has the whole screen.
    pub fn is_taken(&self) -> bool {
        self.below.is_some()
    }

    /// Rows without the blanks at their ends.
    pub fn rows(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_string()).collect()
    }

    pub fn text(&self) -> String {
        self.rows().join("\n")
    }

    fn take(&mut self, c: char) {
        // As terminals do: a command that the next one cuts off is dropped. A view that was killed may leave one.
        if c == '\u{1b}' {
            self.escape = Some(String::new());
            return;
        }
        if let Some(mut escape) = self.escape.take() {
            escape.push(c);
            // `[`, parameters, and a letter.
            if c == '[' || c == ';' || c == '?' || c.is_ascii_digit() {
                self.escape = Some(escape);
            } else {
                self.obey(&escape);
                self.rows.resize(self.rows.len().max(self.at.0 + 1), Vec::new());
            }
            return;
        }
        match c {
            '\r' => {
                self.note();
                self.at.1 = 0;
            }
            '\n' => {
                self.note();
                self.at.0 += 1;
            }
            '\t' => self.at.1 = (self.at.1 / 8 + 1) * 8,
            c => self.put(c),
        }
        while self.rows.len() <= self.at.0 {
            self.rows.push(Vec::new());
        }
    }

    fn put(&mut self, c: char) {
        if self.at.1 >= self.columns {
            self.broken += 1;
            self.at = (self.at.0 + 1, 0);
            self.rows.resize(self.rows.len().max(self.at.0 + 1), Vec::new());
        }
        let row = &mut self.rows[self.at.0];
        row.resize(row.len().max(self.at.1 + 1), ' ');
        row[self.at.1] = c;
        self.at.1 += 1;
    }

    fn note(&mut self) {
        let row: String = self.rows[self.at.0].iter().collect();
        let row = row.trim_end().to_string();
        if !row.is_empty() && self.drawn.last() != Some(&row) {
            self.drawn.push(row);
        }
    }

    fn obey(&mut self, escape: &str) {
        let number = |text: &str| text.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(1);
        let row = &mut self.rows[self.at.0];
        match escape {
            "[K" | "[0K" => row.truncate(self.at.1),
            "[2K" => row.clear(),
            "[?1049h" => {
                let before = std::mem::replace(&mut self.rows, vec![Vec::new()]);
                self.below = Some((before, std::mem::take(&mut self.at)));
                self.pictures += 1;
            }
            "[?1049l" => {
                if let Some((rows, at)) = self.below.take() {
                    (self.rows, self.at) = (rows, at);
                }
            }
            "[?25l" => self.has_cursor = false,
            "[?25h" => self.has_cursor = true,
            "[2J" => self.rows.iter_mut().for_each(Vec::clear),
            _ if escape.ends_with('H') => {
                self.note();
                let (row, column) = escape[1..escape.len() - 1].split_once(';').unwrap_or(("1", "1"));
                self.at = (number(row) - 1, number(column) - 1);
            }
            _ if escape.ends_with('m') => {}
            _ if escape.ends_with('A') => self.at.0 = self.at.0.saturating_sub(number(escape)),
            _ if escape.ends_with('B') => self.at.0 += number(escape),
            _ if escape.ends_with(['h', 'l']) => {}
            _ => panic!("no test knows the terminal command {escape:?}"),
        }
    }
}

/// Which streams of a program are the terminal; the others are pipes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// Standard error.
    Stderr,
    /// Both.
    Both,
}

/// A program on a terminal.
pub struct OnTerminal {
    child: Child,
    line: String,
    keyboard: File,
    screen: Arc<Mutex<Screen>>,
    reader: Option<JoinHandle<()>>,
    stdout: Option<JoinHandle<String>>,
    since: Instant,
}

/// How it ended.
pub struct Ended {
    pub status: ExitStatus,
    pub screen: Screen,
    /// Empty when standard output was the terminal.
    pub stdout: String,
}

impl OnTerminal {
    /// Starts the command on a terminal of so many columns, which is its controlling terminal.
    pub fn start(mut command: Command, columns: usize, on: On) -> Self {
        let line = format!("{command:?}");
        let (master, slave) = open(columns);
        command.stdin(slave.try_clone().expect("a descriptor")).env("TERM", "xterm").env_remove("NO_COLOR");
        let is_piped = on == On::Stderr;
        command.stdout(if is_piped {
            Stdio::piped()
        } else {
            slave.try_clone().expect("a descriptor").into()
        });
        command.stderr(slave);
        // SAFETY: two system calls between fork and exec, on the child's own standard input.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            })
        };
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{line}: {error}"));
        // The command keeps copies of the terminal's other end.
        drop(command);
        let stdout = child.stdout.take().map(|mut out| {
            std::thread::spawn(move || {
                let mut text = String::new();
                out.read_to_string(&mut text).expect("output is UTF-8");
                text
            })
        });
        let screen = Arc::new(Mutex::new(Screen::new(columns)));
        let keyboard = master.try_clone().expect("a descriptor");
        let shared = Arc::clone(&screen);
        let reader = std::thread::spawn(move || watch(master, &shared));
        OnTerminal { child, line, keyboard, screen, reader: Some(reader), stdout, since: Instant::now() }
    }

    /// Types characters, e.g. `\u{3}` for Ctrl+C.
    pub fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until one of the rows drawn so far holds the words.
    pub fn wait_for(&self, words: &str) {
        loop {
            let screen = self.screen.lock().expect("not poisoned").clone();
            if screen.drawn.iter().chain(&screen.rows()).any(|row| row.contains(words)) {
                return;
            }
            assert!(self.since.elapsed() < PATIENCE, "{}: never showed '{words}'\n{screen:#?}", self.line);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether keys that are typed are shown.
    pub fn has_echo(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.keyboard).expect("a terminal has modes");
        modes.local_modes.contains(rustix::termios::LocalModes::ECHO)
    }

    /// Waits until the screen is so.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&Screen) -> bool) {
        loop {
            let screen = self.screen.lock().expect("not poisoned").clone();
            if is_so(&screen) {
                return;
            }
            assert!(self.since.elapsed() < PATIENCE, "{}: never {what}\n{screen:#?}", self.line);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn finish(mut self) -> Ended {
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child can be asked") {
                break status;
            }
            assert!(self.since.elapsed() < PATIENCE, "{}: did not end", self.line);
            std::thread::sleep(Duration::from_millis(2));
        };
        let joined = |thread: JoinHandle<String>| thread.join().expect("the reader does not panic");
        let stdout = self.stdout.take().map(joined).unwrap_or_default();
        self.reader.take().expect("taken once").join().expect("the reader does not panic");
        let screen = self.screen.lock().expect("not poisoned").clone();
        Ended { status, screen, stdout }
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // Ended already in the usual case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Shows what comes until the last program has left the terminal.
fn watch(mut master: File, screen: &Mutex<Screen>) {
    let (mut part, mut rest) = ([0; 4096], Vec::new());
    // EIO means that nobody has the terminal open any more.
    while let Ok(len) = master.read(&mut part)
        && len > 0
    {
        rest.extend_from_slice(&part[..len]);
        // A character may come in two parts.
        let whole = match std::str::from_utf8(&rest) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8_lossy(&rest[..whole]).into_owned();
        rest.drain(..whole);
        let mut screen = screen.lock().expect("not poisoned");
        text.chars().for_each(|c| screen.take(c));
    }
}

/// Both ends of a new terminal; neither is inherited by the programs of other tests.
fn open(columns: usize) -> (File, OwnedFd) {
    // SAFETY: numbers, a buffer of the length given, and descriptors that are ours afterwards.
    unsafe {
        let master = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(master >= 0, "a terminal: {}", std::io::Error::last_os_error());
        let mut name = [0; 64];
        let is_ready = libc::grantpt(master) == 0
            && libc::unlockpt(master) == 0
            && libc::ptsname_r(master, name.as_mut_ptr(), name.len()) == 0;
        assert!(is_ready, "a terminal: {}", std::io::Error::last_os_error());
        let slave = libc::open(name.as_ptr(), libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(slave >= 0, "a terminal: {}", std::io::Error::last_os_error());
        let size = libc::winsize { ws_row: 24, ws_col: columns as u16, ws_xpixel: 0, ws_ypixel: 0 };
        assert_eq!(libc::ioctl(slave, libc::TIOCSWINSZ, &raw const size), 0, "a terminal has a size");
        (File::from(OwnedFd::from_raw_fd(master)), OwnedFd::from_raw_fd(slave))
    }
}
