//! What a run shows on standard error while it runs: progress of files, dots, verbose lines.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::load::Event;
use crate::profile::Size;

/// Plain progress lines come this far apart when nobody watches a terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Shows events of a run.
#[derive(Debug)]
pub struct Console {
    verbose: bool,
    is_terminal: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    bar: Option<ProgressBar>,
    plain_last: Option<Instant>,
    dots: bool,
}

impl Console {
    /// A console on standard error; `verbose` prints what `-v` asks for.
    pub fn new(verbose: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Console { verbose, is_terminal, state: Mutex::new(State::default()) }
    }

    /// Shows one event. Called from worker threads for dots only.
    pub fn show(&self, event: Event) {
        let Ok(mut state) = self.state.lock() else { return };
        match event {
            Event::Dot => {
                state.dots = true;
                let mut err = std::io::stderr().lock();
                let _ = err.write_all(b".").and_then(|()| err.flush());
            }
            Event::Verbose(words) if self.verbose => {
                eprintln!("{}: {words}", crate::os::host::local_time_now());
            }
            Event::Verbose(_) => {}
            Event::Note(words) => eprintln!("{words}"),
            Event::Fill { path, done_bytes, total_bytes } => {
                self.fill(&mut state, &path, done_bytes, total_bytes);
            }
        }
    }

    fn fill(&self, state: &mut State, path: &str, done_bytes: u64, total_bytes: u64) {
        if self.is_terminal {
            let bar = state.bar.get_or_insert_with(|| new_bar(path, total_bytes));
            bar.set_position(done_bytes);
            if done_bytes >= total_bytes {
                bar.finish_and_clear();
                state.bar = None;
            }
            return;
        }
        let last = *state.plain_last.get_or_insert_with(Instant::now);
        if last.elapsed() >= PLAIN_EVERY {
            state.plain_last = Some(Instant::now());
            let percent = done_bytes * 100 / total_bytes.max(1);
            eprintln!("writing '{path}': {percent} % ({} of {})", Size(done_bytes), Size(total_bytes));
        }
    }

    /// Takes down what is still shown and ends a row of dots.
    pub fn finish(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        if let Some(bar) = state.bar.take() {
            bar.abandon();
        }
        if std::mem::take(&mut state.dots) {
            eprintln!();
        }
    }
}

fn new_bar(path: &str, total_bytes: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total_bytes), ProgressDrawTarget::stderr());
    let style = "writing {msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.set_message(path.to_string());
    bar
}
