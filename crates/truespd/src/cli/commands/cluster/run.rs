//! One rank of a cluster run, from joining to leaving: its line, its folder, and on rank 0 the sum of all.

use crate::ask::keeping::Keeping;
use crate::cli::commands::cluster::launch::{Joined, Signals, end_as};
use crate::cli::commands::cluster::options::Own;
use diskspd::grammar::parse::{Invocation, parse, refuse_option, refuse_plan};
use diskspd::request::{Output, Request};
use diskspd::run::Ready;
use diskspd::run::outputs::{OutputError, Outputs, Problem, files_of, use_of};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use truespd_cluster::per_rank::shard;
use truespd_cluster::{Cluster, Finished, ThisRank};
use truespd_core::load::{Event, FinishedRun, Note};
use truespd_core::profile::{Target, TimeSpan, hash};
use truespd_core::result::merge::{Merger, Sum};
use truespd_core::result::{Document, LostHow, LostRank, json};
use truespd_front::console::Message;
use truespd_front::console::{Console, ProgressAs, end, say_line, say_message, tell};
use truespd_front::keeping::Keeper;
use truespd_front::program::{
    Program, Shape, Show, VerdictTo, is_empty, keep_result, live_view, load_profile, print_report,
    stop_notice, stopped_unmeasured, tell_how_understood, tell_warnings,
};
use truespd_front::show::can_draw;
use truespd_front::telemetry::{Seldom, Telemetry, Wishes};
use truespd_front::viewer;
use truespd_platform::fault::{ExitCode, Failure, FailureKind, Outcome, Refusal, Refusals};
use truespd_platform::machine::host::uptime_ms;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage;
use truespd_platform::machine::storage::ReadFlags;
use truespd_platform::sys::events::Latch;
use truespd_verdict::judge;

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
    keep: Keeper,
}

impl OneRank<'_> {
    fn me(&self) -> &ThisRank {
        self.cluster.me()
    }

    /// Reads the line, without anything that needs the targets to be checked.
    fn prepare(&self) -> Result<Prepared, Refusals> {
        let name = &self.program.name;
        let line = &self.own.line;
        let words = self.me().values().replaced(line);
        let words = words.map_err(|refusal| Refusals::from(refusal).of(name, line))?;
        let mut request = match parse(&words, name, &uptime_ms)? {
            Invocation::Run(request) if !request.profile_only => *request,
            _ => {
                let message = "a cluster run needs a line that tests something";
                let refusal = Refusal::command_line(message);
                return Err(refusal.hint("truespd run takes all other options of diskspd").into());
            }
        };
        if request.options.exclusive && self.own.options.shared && self.me().standing.local_ranks > 1 {
            let message =
                "--exclusive and --shared exclude each other here: several ranks have the same target";
            let refusal = Refusal::command_line(message).about(&["-exclusive"]);
            return Err(Refusals::from(
                refusal.hint("leave --exclusive out, or start one rank on each host"),
            ));
        }
        let args: Vec<_> = words.iter().map(std::ffi::OsString::from).collect();
        load_profile(self.program, &args, &mut request)?;
        self.cluster.has_profile(hash(&request.profile));
        if self.own.options.shard {
            shard(&mut request.profile, self.me().rank, self.me().ranks, &size_of)
                .map_err(|refusals| refuse_plan(&words, name, &refusals))?;
        }
        request.reinterpreted.extend(bound(self.processors, &request));
        let keep = Keeping::of_run(&request.options.history)?;
        let shape = Shape::of(&request, VerdictTo::UnderResult);
        if self.me().is_hub() {
            tell_warnings(shape.stderr);
        }
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
        let typed = std::iter::once(self.program.name.clone()).chain(self.typed.iter().cloned());
        let ready = match Ready::of(request, typed.collect()) {
            Ok(ready) => ready,
            Err(error) => {
                let (words, name) = (&prepared.words, &self.program.name);
                return self.refuse(refuse_option(words, name, "-engine", &error.to_string()));
            }
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
        let cluster = Arc::clone(self.cluster);
        let ready = ready.telling(Some(PROGRESS_EVERY)).with_ranks(cluster);
        let report = ready.run(&|event| self.see(event, &view, &telemetry), self.stop);
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
                end(end_as(self.cluster.await_end()) as i32)
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
        // At once: whatever happens to the others, and to this rank while it waits for them.
        report.failures.extend(leave_document(self.cluster, &mut report.document, Ok(outputs.rank)));
        if !self.me().is_hub() {
            return self.hand_in(&report, folder);
        }
        let finished = self.cluster.collect();
        if let Some(rank) = &mut report.document.rank
            && !finished.lost.is_empty()
        {
            rank.lost.clone_from(&finished.lost);
            match Outputs::open(&[folder.document()], &prepared.request) {
                Ok(again) => {
                    report.failures.extend(again.write(&report.document).into_iter().map(Failure::from))
                }
                Err(error) => report.failures.push(error.into()),
            }
        }
        if self.is_stopped_early(&report, &finished) {
            return stopped_unmeasured();
        }
        let mut report = sum(report, &finished, self.me());
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

    /// A rank that is not rank 0 sends its document.
    fn hand_in(&self, report: &FinishedRun, folder: &Folder) -> ExitCode {
        let failures = report.failures.iter().map(ToString::to_string).collect();
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
        let is_unmet = request.options.is_unmet(&report.document);
        let show = Show { verdict, shape: *shape, has_all: request.options.verdict, is_unmet };
        let code = print_report(report, outputs, &view.console, &show);
        keep_result(keep.as_deref(), &report.document, shape.stderr);
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

fn threads_of(span: &TimeSpan) -> u32 {
    match span.thread_count {
        0 => span.targets.iter().map(|target| span.threads_on(target)).sum(),
        count => count,
    }
}

/// What to say where the launcher left fewer processors to the rank than it has threads.
fn bound((allowed, online): (usize, usize), request: &Request) -> Option<String> {
    let most = request.profile.time_spans.iter().map(threads_of).max()? as usize;
    (allowed > 0 && allowed < online && allowed < most).then(|| {
        format!(
            "the launcher bound each rank to {allowed} of {online} processors, and a rank has {most} threads: start \
             with mpirun --bind-to none, or srun --cpu-bind=none"
        )
    })
}

/// Size of a target that is there.
fn size_of(target: &Target) -> Option<u64> {
    let roots = Roots::default();
    let path = storage::resolve(&target.path, &roots).ok()?.path;
    Some(storage::open(&path, ReadFlags::CACHED, &roots).ok()?.facts.size_bytes)
}

/// The folder on this host, with the name of this rank's documents.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    path: PathBuf,
    /// Name of a document, without number and ending.
    stem: String,
    is_made: bool,
}

impl Folder {
    /// Makes it, unless it is there. `was_there` before any rank could make it.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn make(given: Option<&Path>, was_there: bool, me: &ThisRank) -> Result<Self, OutputError> {
        let path = match given {
            Some(path) => path.to_path_buf(),
            None => PathBuf::from(format!("truespd-cluster-{}", me.run)),
        };
        if let Err(error) = std::fs::create_dir(&path)
            && !path.is_dir()
        {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let folder = parent.unwrap_or(Path::new(".")).to_path_buf();
            return Err(OutputError {
                option: "documents",
                path: path.display().to_string(),
                problem: Problem::Folder { folder, error },
            });
        }
        let host: String = me.host.chars().map(|c| if c == '/' { '_' } else { c }).collect();
        Ok(Folder { path, stem: format!("rank-{:04}-{host}", me.rank), is_made: !was_there })
    }

    /// The document of the only run of this rank.
    pub(super) fn document(&self) -> Output {
        self.output(format!("{}.json", self.stem))
    }

    /// That of a run of a series, counted from 1.
    pub(super) fn document_of_run(&self, number: u32) -> Output {
        self.output(format!("{}-run-{number:03}.json", self.stem))
    }

    fn output(&self, name: String) -> Output {
        Output { format: "json", path: self.path.join(name).display().to_string() }
    }

    /// Nothing was written, so the folder goes again.
    pub(super) fn take_back(&self) {
        if self.is_made {
            // Ranks may share it: the last one takes it away.
            let _ = std::fs::remove_dir(&self.path);
        }
    }

    /// Whether there are results of ranks.
    pub(super) fn is_there(&self) -> bool {
        self.path.is_dir()
    }

    /// Where the results of the ranks are.
    pub(super) fn words(&self, me: &ThisRank) -> String {
        let folder = self.path.display();
        match me.ranks {
            1 => format!("the result of the only rank is in {folder}"),
            ranks => format!(
                "each of the {ranks} ranks left its own result in {folder} on its host; truespd merge adds them up \
                 again"
            ),
        }
    }
}

/// Signs the document of this rank, judges it and writes it to its file; what could not be written.
pub(super) fn leave_document(
    cluster: &Cluster,
    document: &mut Document,
    outputs: Result<Outputs, OutputError>,
) -> Vec<Failure> {
    cluster.sign(document);
    document.verdict = Some(judge(document));
    let errors = outputs.map_or_else(|error| vec![error], |outputs| outputs.write(document));
    errors.into_iter().map(Failure::from).collect()
}

/// The results of all ranks in one, with what is missing.
pub(super) fn sum(own: FinishedRun, finished: &Finished, me: &ThisRank) -> FinishedRun {
    if me.ranks == 1 {
        return own;
    }
    let FinishedRun { document, mut failures, mut notes } = own;
    let mut sum = match merge(document.clone(), finished) {
        Ok(sum) => {
            // Better all numbers with a failure than none.
            failures.extend(sum.forced.map(|error| unfit(error.to_string())));
            sum.document
        }
        Err(failure) => {
            failures.push(failure);
            document
        }
    };
    sum.verdict = Some(judge(&sum));
    failures.extend(finished.lost.iter().map(lost));
    for (rank, of_rank) in &finished.handed_in {
        if of_rank.document.is_none() {
            // It is among the lost ones.
            continue;
        }
        for words in &of_rank.failures {
            failures.push(Failure::new(FailureKind::Io, format!("rank {rank}: {words}")));
        }
    }
    notes.retain(|note| !note.is_detail);
    notes.push(Note::detail(format!("the sum of {} of {} ranks", sum.sources.len().max(1), me.ranks)));
    FinishedRun { document: sum, failures, notes }
}

fn merge(own: Document, finished: &Finished) -> Result<Sum, Failure> {
    let mut merger = Merger::new(true);
    merger.add("the result of rank 0", own).map_err(|error| failed(error.to_string()))?;
    for (rank, of_rank) in &finished.handed_in {
        let Some(bytes) = &of_rank.document else { continue };
        let document =
            json::read(bytes).map_err(|error| failed(format!("the result of rank {rank} {error}")))?;
        merger
            .add(&format!("the result of rank {rank}"), document)
            .map_err(|error| failed(error.to_string()))?;
    }
    merger.finish().map_err(|error| failed(error.to_string()))
}

fn unfit(why: String) -> Failure {
    Failure::new(FailureKind::Figure, "the results of the ranks do not fit together").because(why)
}

fn failed(what: String) -> Failure {
    Failure::new(FailureKind::Figure, "the results of the ranks cannot be added up").because(what)
}

/// What is said of a rank that is missing.
fn lost(lost: &LostRank) -> Failure {
    let who = format!("rank {} on host {}", lost.rank, lost.host);
    match lost.how {
        LostHow::Silent => {
            let what = format!("{who} does not answer any more; its result is missing");
            Failure::new(FailureKind::Lost, what).hint(
                "look whether the host and the network are up; a result that the rank left there can be added by \
                 truespd merge",
            )
        }
        LostHow::Failed => {
            let failure = Failure::new(FailureKind::Io, format!("{who} has no result"));
            if lost.failures.is_empty() { failure } else { failure.because(lost.failures.join("; ")) }
        }
    }
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
