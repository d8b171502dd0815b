//! One rank of a cluster run, from joining to leaving.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::options::Own;
use crate::cli::Invocation;
use crate::cli::beside::Told;
use crate::cli::commands::diskspd::{
    ExitCode, Program, Shape, Show, VerdictTo, live_view, load_profile, print_report, stop_notice,
    tell_how_understood,
};
use crate::cli::commands::keeping::{Keeper, Keeping};
use crate::cli::console::{Console, ProgressAs, say_beside, say_line, tell};
use crate::cli::grammar::parse::{parse, refuse_option, refuse_plan};
use crate::cli::live::viewer;
use crate::cli::show::live::can_draw;
use crate::cluster::transport::Open;
use crate::cluster::{Cluster, Finished, JoinError, Joining, Me, shard};
use crate::fault::{Failure, FailureKind, Outcome, Refusal, Refusals};
use crate::load::{Event, FinishedRun, Note};
use crate::machine::host::uptime_ms;
use crate::machine::roots::Roots;
use crate::machine::storage::{self, ReadFlags};
use crate::profile::{Target, hash};
use crate::request::{Output, Request};
use crate::result::merge::Merger;
use crate::result::{Document, LostHow, LostRank, json};
use crate::session::outputs::{OutputError, Outputs, files_of, use_of};
use crate::session::run::Ready;
use crate::session::signals::stop_on_signals;
use crate::session::telemetry::{Seldom, Telemetry, Wishes};
use crate::sys::thread::keep_to_processors;
use crate::sys::wake::Latch;
use crate::verdict::judge;

/// How often each rank tells rank 0 how it goes.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Runs the line as one rank. `words` are all words after the command, as typed.
pub(super) fn run(program: &Program, words: &[String], own: Own, open: Open) -> ExitCode {
    let signals = Signals::default();
    let stop = match stop_on_signals(signals.notice()) {
        Ok(stop) => stop,
        Err(refusal) => return tell(refusal),
    };
    // Before any rank can make it.
    let has_folder = own.options.documents.as_ref().is_some_and(|folder| folder.exists());
    let joining = Joining {
        open,
        words: words.to_vec(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        patience: Duration::from_secs(own.options.patience),
        ranks_per_host: own.options.ranks_per_host,
        is_sharing_meant: own.options.shared || own.options.shard,
        stop: stop.clone(),
    };
    let cluster = match Cluster::join(joining) {
        Ok(cluster) => Arc::new(cluster),
        Err(JoinError::Transport(refusal)) => return tell(refusal),
        Err(JoinError::Refused(refusals)) => return tell(Refusals::from(refusals)),
        Err(JoinError::Dismissed(code)) => return end_as(code),
    };
    if let Some(processors) = &cluster.me().processors {
        // All threads that are started from here on inherit it. Without it, ranks of one host share processors.
        let _ = keep_to_processors(processors);
    }
    let (cluster, stop, signals) = (&cluster, &stop, &signals);
    let rank = OneRank { program, typed: words, own: &own, has_folder, cluster, stop, signals };
    match rank.prepare() {
        Ok(prepared) => rank.measure(&prepared),
        Err(refusals) => rank.refuse(refusals),
    }
}

/// The exit code that rank 0 told, or that of a run without rank 0.
fn end_as(code: Option<u8>) -> ExitCode {
    match code.and_then(ExitCode::of_number) {
        Some(code) => code,
        None => tell(Failure::new(FailureKind::Lost, "rank 0 does not answer any more")),
    }
}

/// What Ctrl+C says, once there is something to say it with.
#[derive(Default)]
struct Signals(Arc<std::sync::OnceLock<Box<dyn Fn() + Send + Sync>>>);

impl Signals {
    fn notice(&self) -> impl Fn() + Send + 'static {
        let notice = Arc::clone(&self.0);
        move || {
            if let Some(notice) = notice.get() {
                notice();
            }
        }
    }

    fn say_by(&self, notice: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.set(Box::new(notice));
    }
}

/// A rank, while it runs the line.
struct OneRank<'a> {
    program: &'a Program,
    typed: &'a [String],
    own: &'a Own,
    /// The folder for documents was there before the run.
    has_folder: bool,
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
    keeping: Keeping,
}

/// The folder of the ranks' documents on this host, with the file of this one.
struct Place {
    folder: PathBuf,
    file: String,
    is_made: bool,
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
        let keeping = Keeping::of(&request.options.history, Keeper::TrueSpd)?;
        let shape = Shape::of(&request, VerdictTo::UnderResult);
        Ok(Prepared { words, request, shape, keeping })
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
        self.cluster.dismiss_refused();
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
        let opened = self.place().and_then(|place| {
            let outputs = self.outputs(&place, request);
            let told = outputs.and_then(|outputs| Ok((outputs, self.telemetry(prepared, &view)?)));
            told.map(|(outputs, telemetry)| (place.clone_for_end(), outputs, telemetry)).map_err(|error| {
                place.take_back();
                error
            })
        });
        let (place, outputs, telemetry) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.refuse(Refusal::from(error).into()),
        };
        view.begin(self, prepared);
        let on_event = |event: Event| self.see(event, &view, &telemetry);
        let companions = Arc::clone(self.cluster);
        let report = ready.telling(Some(PROGRESS_EVERY)).beside(companions).run(&on_event, self.stop);
        viewer::leave();
        view.console.finish();
        let code = match report {
            Ok(report) => self.conclude(prepared, report, outputs, &place, &view, &telemetry),
            Err(refusals) => {
                drop(outputs);
                place.take_back();
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
            return end_as(self.cluster.hand_in(None, Vec::new()));
        }
        say_line(format_args!("stopped before anything was measured"));
        self.cluster.collect();
        self.cluster.dismiss(failed);
        failed
    }

    /// What a rank does with an event of its run.
    fn see(&self, event: Event, view: &View, telemetry: &Telemetry) {
        let event = match event {
            Event::Progress(own) => Event::Progress(self.cluster.progress(&own)),
            Event::Counted(own) => Event::Counted(self.cluster.counted(own)),
            Event::GivenUp(failure) if !self.me().is_hub() => {
                self.cluster.hand_in(None, vec![failure.to_string()]);
                std::process::exit(ExitCode::Failed as i32)
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
        place: &Place,
        view: &View,
        telemetry: &Telemetry,
    ) -> ExitCode {
        self.cluster.sign(&mut report.document);
        report.document.verdict = Some(judge(&report.document));
        if !self.me().is_hub() {
            return self.hand_in(&report, outputs, place);
        }
        let finished = self.cluster.collect();
        if let Some(rank) = &mut report.document.rank {
            rank.lost.clone_from(&finished.lost);
        }
        let unwritten = outputs.rank.write(&report.document);
        let mut report = match self.me().ranks {
            1 => report,
            _ => sum(report, finished, self.me()),
        };
        report.failures.extend(unwritten.into_iter().map(Failure::from));
        report.notes.extend(self.cluster.notes().into_iter().map(Note::worth_telling));
        telemetry.result(&report.document);
        let code = self.show(prepared, &report, outputs.sum, view);
        say_beside(prepared.shape.beside, Told::Kept, &place.words(self.me()));
        self.cluster.dismiss(code);
        code
    }

    /// A rank that is not rank 0 writes its document and sends it.
    fn hand_in(&self, report: &FinishedRun, outputs: OutputsOfRank, place: &Place) -> ExitCode {
        let mut failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
        let errors = outputs.rank.write(&report.document);
        failures.extend(errors.iter().map(ToString::to_string));
        let document = json::write(&report.document).into_bytes();
        let has_result = report.document.measured().next().is_some();
        let code = self.cluster.hand_in(has_result.then_some(document), failures);
        if code.is_none() {
            let path = place.folder.join(&place.file);
            say_line(format_args!("rank {}: its own result is in {}", self.me().rank, path.display()));
        }
        end_as(code)
    }

    fn show(&self, prepared: &Prepared, report: &FinishedRun, outputs: Outputs, view: &View) -> ExitCode {
        let Prepared { request, shape, keeping, .. } = prepared;
        let verdict = report.document.verdict.clone().unwrap_or_default();
        let is_unmet = request.options.require.is_some_and(|required| verdict.grade > required);
        let show = Show { verdict, shape: *shape, has_all: request.options.verdict, is_unmet };
        let code = print_report(report, outputs, &view.console, &show);
        keeping.keep_result(&report.document, shape.beside);
        match code {
            ExitCode::Done if is_unmet => ExitCode::of(Outcome::Unmet),
            code => code,
        }
    }

    /// Where this rank leaves its document.
    fn place(&self) -> Result<Place, OutputError> {
        let me = self.me();
        let usual = || PathBuf::from(format!("truespd-cluster-{}", me.run));
        let folder = self.own.options.documents.clone().unwrap_or_else(usual);
        if let Err(error) = std::fs::create_dir(&folder)
            && !folder.is_dir()
        {
            let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
            return Err(OutputError::Folder {
                option: "documents",
                path: folder.display().to_string(),
                folder: parent.unwrap_or(Path::new(".")).to_path_buf(),
                error,
            });
        }
        let safe: String = me.host.chars().map(|c| if c == '/' { '_' } else { c }).collect();
        Ok(Place { folder, file: format!("rank-{:04}-{safe}.json", me.rank), is_made: !self.has_folder })
    }

    /// Files for the document of this rank, and on rank 0 for the sum.
    fn outputs(&self, place: &Place, request: &Request) -> Result<OutputsOfRank, OutputError> {
        let path = place.folder.join(&place.file).display().to_string();
        let rank = Outputs::open(&[Output { format: "json", path }], request)?;
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

impl Place {
    fn clone_for_end(&self) -> Place {
        Place { folder: self.folder.clone(), file: self.file.clone(), is_made: self.is_made }
    }

    /// Nothing was written, so the folder goes again.
    fn take_back(&self) {
        if self.is_made {
            // Ranks may share it: the last one takes it away.
            let _ = std::fs::remove_dir(&self.folder);
        }
    }

    fn words(&self, me: &Me) -> String {
        let folder = self.folder.display();
        match me.ranks {
            1 => format!("this rank's own result is {folder}/{}", self.file),
            ranks => format!(
                "each of the {ranks} ranks left its own result in {folder} on its host; truespd merge adds them up again"
            ),
        }
    }
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
        let progress_as = match shape.beside.tells(Told::Progress) {
            true if rank.me().is_hub() && !is_live => {
                ProgressAs::of_stderr(options.progress || options.live, request.profile.progress_ios > 0)
            }
            _ => ProgressAs::Nothing,
        };
        let console = Arc::new(Console::new(request.profile.verbose, progress_as, shape.beside));
        View { console, seldom: Seldom::every(progress_as.every()), is_live }
    }

    /// Rank 0 tells how the line was understood, and what Ctrl+C does.
    fn begin(&self, rank: &OneRank<'_>, prepared: &Prepared) {
        if !rank.me().is_hub() {
            return;
        }
        let shape = prepared.shape;
        tell_how_understood(&prepared.request, shape.beside);
        rank.signals.say_by(stop_notice(shape, &self.console));
        self.console.begin();
    }
}

/// Size of a target that is there.
fn size_of(target: &Target) -> Option<u64> {
    let roots = Roots::default();
    let path = storage::resolve(&target.path, &roots).ok()?.path;
    Some(storage::open(&path, ReadFlags::CACHED, &roots).ok()?.facts.size_bytes)
}

/// The results of all ranks in one, with what is missing.
fn sum(own: FinishedRun, finished: Finished, me: &Me) -> FinishedRun {
    let FinishedRun { document, mut failures, mut notes } = own;
    let mut merged = merge(document.clone(), &finished, false);
    if let Err(failure) = &merged {
        // Better all numbers with a warning than none.
        failures.push(failure.clone());
        merged = merge(document.clone(), &finished, true);
    }
    let mut sum = match merged {
        Ok(sum) => sum,
        Err(failure) => {
            failures.push(failure);
            document
        }
    };
    sum.verdict = Some(judge(&sum));
    failures.extend(finished.lost.iter().map(lost));
    for (rank, of_rank) in &finished.handed_in {
        let is_told = of_rank.document.is_none();
        let told = of_rank.failures.iter().filter(|_| !is_told);
        failures.extend(told.map(|words| Failure::new(FailureKind::Io, format!("rank {rank}: {words}"))));
    }
    notes.retain(|note| !note.is_detail);
    notes.push(Note::detail(format!("the sum of {} of {} ranks", sum.sources.len().max(1), me.ranks)));
    FinishedRun { document: sum, failures, notes }
}

fn merge(own: Document, finished: &Finished, force: bool) -> Result<Document, Failure> {
    let failed = |what: String| {
        Failure::new(FailureKind::Figure, "the results of the ranks cannot be added up").because(what)
    };
    let mut merger = Merger::new(force);
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

/// What is said of a rank that is missing.
fn lost(lost: &LostRank) -> Failure {
    let who = format!("rank {} on host {}", lost.rank, lost.host);
    match lost.how {
        LostHow::Silent => Failure::new(FailureKind::Lost, format!("{who} does not answer any more; its result is missing"))
            .hint("look whether the host and the network are up; a result that the rank left there can be added by truespd merge"),
        LostHow::Failed => {
            let failure = Failure::new(FailureKind::Io, format!("{who} has no result"));
            match lost.failures.is_empty() {
                true => failure,
                false => failure.because(lost.failures.join("; ")),
            }
        }
    }
}
