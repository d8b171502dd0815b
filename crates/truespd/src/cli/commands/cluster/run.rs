//! One rank of a cluster run, from joining to leaving.

use std::sync::Arc;
use std::time::Duration;

use super::folder::Folder;
use super::join::{Joined, Signals, end_as};
use super::options::Own;
use super::sum::sum;
use crate::cli::commands::keeping::Keeping;
use crate::cluster::{Cluster, Finished, Me, shard};
use diskspd::console::{Console, ProgressAs, say_line, say_message, tell};
use diskspd::grammar::parse::Invocation;
use diskspd::grammar::parse::{parse, refuse_option, refuse_plan};
use diskspd::keeping::Keep;
use diskspd::program::{
    ExitCode, Program, Shape, Show, VerdictTo, is_empty, keep_result, live_view, load_profile, print_report,
    stop_notice, stopped_unmeasured, tell_how_understood,
};
use diskspd::request::Request;
use diskspd::run::Ready;
use diskspd::run::outputs::{OutputError, Outputs, files_of, use_of};
use diskspd::show::live::can_draw;
use diskspd::standard_error::Message;
use diskspd::telemetry::{Seldom, Telemetry, Wishes};
use diskspd::viewer;
use truespd_core::fault::{Failure, FailureKind, Outcome, Refusal, Refusals};
use truespd_core::load::{Event, FinishedRun, Note};
use truespd_core::machine::host::uptime_ms;
use truespd_core::machine::roots::Roots;
use truespd_core::machine::storage::{self, ReadFlags};
use truespd_core::profile::{Target, TimeSpan, hash};
use truespd_core::sys::wake::Latch;
use truespd_core::verdict::judge;

/// How often each rank tells rank 0 how it goes.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Runs the line as one rank that has joined. `typed` are all words after `truespd`.
pub(super) fn run(program: &Program, typed: &[String], own: &Own, joined: &Joined) -> ExitCode {
    let Joined { cluster, stop, signals, processors, has_folder } = joined;
    let (has_folder, processors) = (*has_folder, *processors);
    let rank = OneRank { program, typed, own, has_folder, processors, cluster, stop, signals };
    match rank.prepare() {
        Ok(prepared) => rank.measure(&prepared),
        Err(refusals) => rank.refuse(refusals),
    }
}

/// A rank, while it runs the line.
struct OneRank<'a> {
    program: &'a Program,
    typed: &'a [String],
    own: &'a Own,
    /// The folder for documents was there before the run.
    has_folder: bool,
    /// Processors that the launcher left to this rank, and those of the machine.
    processors: (usize, usize),
    cluster: &'a Arc<Cluster>,
    stop: &'a Latch,
    signals: &'a Signals,
}

/// A line that can be run here.
struct Prepared {
    /// DiskSpd's words on this rank.
    words: Vec<String>,
    request: Request,
    shape: Shape,
    keep: Option<Keep>,
}

impl OneRank<'_> {
    fn me(&self) -> &Me {
        self.cluster.me()
    }

    /// Reads the line, without anything that needs the targets to be checked.
    fn prepare(&self) -> Result<Prepared, Refusals> {
        let name = &self.program.name;
        let line = &self.own.line;
        let marked = |refusal: Refusal| Refusals::from(refusal).of(name, line);
        let words = self.me().values().replaced(line).map_err(marked)?;
        let mut request = match parse(&words, name, &uptime_ms)? {
            Invocation::Run(request) if !request.profile_only => *request,
            _ => {
                let message = "a cluster run needs a line that tests something";
                let refusal = Refusal::command_line(message);
                return Err(refusal.hint("truespd run takes all other options of diskspd").into());
            }
        };
        let args: Vec<_> = words.iter().map(std::ffi::OsString::from).collect();
        load_profile(self.program, &args, &mut request)?;
        self.cluster.has_profile(hash(&request.profile));
        if self.own.options.shard {
            shard::shard(&mut request.profile, self.me().rank, self.me().ranks, &size_of)
                .map_err(|refusals| refuse_plan(&words, name, &refusals))?;
        }
        request.reinterpreted.extend(bound(self.processors, &request));
        let keep = Keeping::of_run(&request.options.history)?;
        let shape = Shape::of(&request, VerdictTo::UnderResult);
        Ok(Prepared { words, request, shape, keep })
    }

    /// Nothing was changed. Rank 0 says why, for all.
    fn refuse(&self, own: Refusals) -> ExitCode {
        self.cluster.refuse(&own.all);
        self.refused(own)
    }

    /// The same when the others know it.
    fn refused(&self, own: Refusals) -> ExitCode {
        if !self.me().is_hub() {
            return end_as(self.cluster.await_end());
        }
        viewer::leave();
        let others = self.cluster.refusals_of_others();
        let all: Vec<Refusal> = own.all.iter().chain(&others).cloned().collect();
        if !own.all.is_empty() {
            tell(own);
        }
        if !others.is_empty() {
            tell(Refusals::from(others));
        }
        ExitCode::of(Outcome::Refused(Refusals::from(all).kind()))
    }

    fn measure(&self, prepared: &Prepared) -> ExitCode {
        let request = &prepared.request;
        let by_engine = |error: &dyn std::fmt::Display| {
            refuse_option(&prepared.words, &self.program.name, "-engine", &error.to_string())
        };
        let typed = std::iter::once(self.program.name.clone()).chain(self.typed.iter().cloned());
        let ready = match Ready::of(request, typed.collect()) {
            Ok(ready) => ready,
            Err(error) => return self.refuse(by_engine(&error)),
        };
        let view = View::of(self, prepared);
        let opened = self.folder().and_then(|folder| {
            let outputs = self.outputs(&folder, request);
            let all = outputs.and_then(|outputs| Ok((outputs, self.telemetry(prepared, &view)?)));
            if all.is_err() {
                folder.take_back();
            }
            all.map(|(outputs, telemetry)| (folder, outputs, telemetry))
        });
        let (folder, outputs, telemetry) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.refuse(Refusal::from(error).into()),
        };
        view.begin(self, prepared);
        let on_event = |event: Event| self.see(event, &view, &telemetry);
        let companions = Arc::clone(self.cluster);
        let report =
            ready.telling(Some(PROGRESS_EVERY)).with_companions(companions).run(&on_event, self.stop);
        viewer::leave();
        view.console.finish();
        let code = match report {
            Ok(report) => self.conclude(prepared, report, outputs, &folder, &view, &telemetry),
            Err(refusals) => {
                drop(outputs);
                folder.take_back();
                self.without_result(prepared, &refusals)
            }
        };
        telemetry.end().into_iter().fold(code, |_, error| tell(Failure::from(error)))
    }

    /// Refused by somebody, or stopped before it began.
    fn without_result(&self, prepared: &Prepared, refusals: &[Refusal]) -> ExitCode {
        let own = refuse_plan(&prepared.words, &self.program.name, refusals);
        let is_refused = !refusals.is_empty() || !self.cluster.refusals_of_others().is_empty();
        if is_refused {
            return self.refused(own);
        }
        let failed = ExitCode::of(Outcome::Failed(FailureKind::Interrupted));
        if !self.me().is_hub() {
            self.cluster.hand_in_nothing(Vec::new());
            return end_as(self.cluster.await_end());
        }
        say_line(format_args!("stopped before anything was measured"));
        self.cluster.collect();
        failed
    }

    /// What a rank does with an event of its run.
    fn see(&self, event: Event, view: &View, telemetry: &Telemetry) {
        let event = match event {
            Event::Progress(own) => Event::Progress(self.cluster.progress(&own)),
            Event::Counted(own) => Event::Counted(self.cluster.counted(own)),
            Event::GivenUp(failure) if !self.me().is_hub() => {
                self.cluster.hand_in_nothing(vec![failure.to_string()]);
                std::process::exit(end_as(self.cluster.await_end()) as i32)
            }
            other => other,
        };
        if self.me().is_hub() {
            telemetry.see(&event);
            if view.seldom.passes(&event) {
                view.console.show(event);
            }
        }
    }

    /// The run is over here: keeps the document, hands it in or gathers those of the others.
    fn conclude(
        &self,
        prepared: &Prepared,
        mut report: FinishedRun,
        outputs: OutputsOfRank,
        folder: &Folder,
        view: &View,
        telemetry: &Telemetry,
    ) -> ExitCode {
        self.cluster.sign(&mut report.document);
        report.document.verdict = Some(judge(&report.document));
        if !self.me().is_hub() {
            return self.hand_in(&report, outputs, folder);
        }
        // At once: whatever happens to the others, and to this rank while it waits for them.
        let mut unwritten = outputs.rank.write(&report.document);
        let finished = self.cluster.collect();
        if let Some(rank) = report.document.rank.as_mut().filter(|_| !finished.lost.is_empty()) {
            rank.lost.clone_from(&finished.lost);
            match Outputs::open(&[folder.document()], &prepared.request) {
                Ok(again) => unwritten.extend(again.write(&report.document)),
                Err(error) => unwritten.push(error),
            }
        }
        if self.is_stopped_early(&report, &finished) {
            return stopped_unmeasured();
        }
        let mut report = sum(report, &finished, self.me());
        report.failures.extend(unwritten.into_iter().map(Failure::from));
        report.notes.extend(self.cluster.notes().into_iter().map(Note::worth_telling));
        telemetry.result(&report.document);
        let code = self.show(prepared, &report, outputs.sum, view);
        say_message(prepared.shape.stderr, Message::Kept, &folder.words(self.me()));
        code
    }

    /// The run was stopped, nobody failed, and nobody has measured anything.
    fn is_stopped_early(&self, report: &FinishedRun, finished: &Finished) -> bool {
        let has_none = finished.handed_in.values().all(|of_rank| !of_rank.has_measured);
        self.stop.is_set() && is_empty(report) && has_none && finished.lost.is_empty()
    }

    /// A rank that is not rank 0 writes its document and sends it.
    fn hand_in(&self, report: &FinishedRun, outputs: OutputsOfRank, folder: &Folder) -> ExitCode {
        let mut failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
        let errors = outputs.rank.write(&report.document);
        failures.extend(errors.iter().map(ToString::to_string));
        self.cluster.hand_in(&report.document, failures);
        let code = self.cluster.await_end();
        if code.is_none() {
            let path = folder.document().path;
            say_line(format_args!("rank {}: its own result is in {path}", self.me().rank));
        }
        end_as(code)
    }

    fn show(&self, prepared: &Prepared, report: &FinishedRun, outputs: Outputs, view: &View) -> ExitCode {
        let Prepared { request, shape, keep, .. } = prepared;
        let verdict = report.document.verdict.clone().unwrap_or_default();
        let is_unmet = request.options.require.is_some_and(|required| verdict.grade > required);
        let show = Show { verdict, shape: *shape, has_all: request.options.verdict, is_unmet };
        let code = print_report(report, outputs, &view.console, &show);
        keep_result(keep.as_ref(), &report.document, shape.stderr);
        match code {
            ExitCode::Done if is_unmet => ExitCode::of(Outcome::Unmet),
            code => code,
        }
    }

    /// Where this rank leaves its document.
    fn folder(&self) -> Result<Folder, OutputError> {
        Folder::make(self.own.options.documents.as_deref(), self.has_folder, self.me())
    }

    /// Files for the document of this rank, and on rank 0 for the sum.
    fn outputs(&self, folder: &Folder, request: &Request) -> Result<OutputsOfRank, OutputError> {
        let rank = Outputs::open(&[folder.document()], request)?;
        let of_sum = if self.me().is_hub() { &request.options.outputs[..] } else { &[] };
        Ok(OutputsOfRank { rank, sum: Outputs::open(of_sum, request)? })
    }

    /// What other programs are told; on rank 0.
    fn telemetry(&self, prepared: &Prepared, view: &View) -> Result<Telemetry, OutputError> {
        if !self.me().is_hub() {
            return Ok(Telemetry::default());
        }
        let options = &prepared.request.options;
        let wishes = Wishes { metrics: options.metrics.clone(), events: options.events.clone() };
        let taken = files_of(&prepared.request).chain(options.outputs.iter().map(use_of));
        let typed = std::iter::once(self.program.name.clone()).chain(self.typed.iter().cloned());
        Telemetry::open(&wishes, &typed.collect::<Vec<_>>(), taken, live_view(view.is_live))
    }
}

/// The files of a rank.
struct OutputsOfRank {
    /// Its own document.
    rank: Outputs,
    /// The sum; on rank 0.
    sum: Outputs,
}

/// What rank 0 shows while it runs.
struct View {
    console: Arc<Console>,
    seldom: Seldom,
    is_live: bool,
}

impl View {
    fn of(rank: &OneRank<'_>, prepared: &Prepared) -> Self {
        let Prepared { request, shape, .. } = prepared;
        let options = &request.options;
        let is_live = rank.me().is_hub() && options.live && can_draw();
        let progress_as = if shape.stderr.shows(Message::Progress) && rank.me().is_hub() && !is_live {
            ProgressAs::of_stderr(options.progress || options.live, request.profile.progress_ios > 0)
        } else {
            ProgressAs::Nothing
        };
        let console = Arc::new(Console::new(request.profile.verbose, progress_as, shape.stderr));
        View { console, seldom: Seldom::every(progress_as.every()), is_live }
    }

    /// Rank 0 tells how the line was understood, and what Ctrl+C does.
    fn begin(&self, rank: &OneRank<'_>, prepared: &Prepared) {
        if !rank.me().is_hub() {
            return;
        }
        let shape = prepared.shape;
        tell_how_understood(&prepared.request, shape.stderr);
        rank.signals.say_by(stop_notice(shape, &self.console));
        self.console.begin();
    }
}

/// What to say where the launcher left fewer processors to the rank than it has threads.
fn bound((allowed, online): (usize, usize), request: &Request) -> Option<String> {
    let threads = |span: &TimeSpan| match span.thread_count {
        0 => span.targets.iter().map(|target| span.threads_on(target)).sum(),
        count => count,
    };
    let most = request.profile.time_spans.iter().map(threads).max()? as usize;
    (allowed > 0 && allowed < online && allowed < most).then(|| {
        format!(
            "the launcher bound each rank to {allowed} of {online} processors, and a rank has {most} threads: start with \
             mpirun --bind-to none, or srun --cpu-bind=none"
        )
    })
}

/// Size of a target that is there.
fn size_of(target: &Target) -> Option<u64> {
    let roots = Roots::default();
    let path = storage::resolve(&target.path, &roots).ok()?.path;
    Some(storage::open(&path, ReadFlags::CACHED, &roots).ok()?.facts.size_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::profile::Profile;

    #[test]
    fn a_launcher_that_binds_ranks_too_tightly_is_named() {
        let targets = vec![Target { threads_per_file: 4, ..Target::default() }];
        let time_spans = vec![TimeSpan { targets, ..TimeSpan::default() }];
        let request = Request { profile: Profile { time_spans, ..Profile::default() }, ..Request::default() };
        let says = bound((1, 16), &request).expect("one processor for four threads");
        assert!(says.contains("1 of 16 processors") && says.contains("--bind-to none"), "{says}");
        for fine in [(4, 16), (2, 2), (0, 0)] {
            assert_eq!(bound(fine, &request), None, "{fine:?}");
        }
    }
}
