"""The command: which cases, which tools, how often; prints Markdown."""

import argparse
import fnmatch
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Optional

from . import history, peers, places, table, tools
from .cases import CASES, Case
from .rounds import Rule, core_of_round, two_cores
from .run import Failed, Stopped, run, stop_on_signals
from .targets import targets_table

ROOT = Path(__file__).resolve().parents[2]
HISTORY = ROOT / "bench" / "history"


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/side-by-side",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="TrueSpd beside fio, t/io_uring and diskspd-for-linux on one machine: same files or device, block size,\n"
        "depth, caching and duration. In every round all tools of a case run one after the other, every second\n"
        "round in reverse, so that what changes on the machine meanwhile meets all of them. A tool takes part in as\n"
        "many rounds as its ratios need to be known. Cases whose names end in -one-core bind all tools to one core.",
        epilog="FOLDER decides what is measured (a disk, a file system); it needs twice the size as free room. Everything\n"
        "there is in a folder of its own that is removed at the end, also by Ctrl+C. The zram and tmpfs cases make\n"
        "their own device and mount and need root. fio is installed with apt-get when it is absent, and\n"
        "t/io_uring made of its source, in target/side-by-side. Leave tools out with --tools.",
    )
    add = parser.add_argument
    add("folder", metavar="FOLDER", nargs="?", type=Path)
    add("cases", metavar="CASE", nargs="*", help="names or patterns like 'cached*' (all)")
    add("--rounds", type=_count, default=15, help="rounds at most, of each tool (15)")
    add("--rounds-min", type=_count, default=5, help="rounds at least (5)")
    add(
        "--half-width",
        type=_percent,
        default=2,
        metavar="PERCENT",
        help="a tool is done when the ratios of IOPS and processor time to it are known to plus and minus so much (2)",
    )
    add(
        "--core",
        type=int,
        action="append",
        dest="cores",
        metavar="CORE",
        help="core of the cases on one core; several take turns (the first and the last)",
    )
    add("--seconds", type=_count, default=5, help="measured seconds of each run (5)")
    add("--warmup", type=_count_or_none, default=1, help="seconds before that (1)")
    add("--size", type=_size, default="2G", help="size of the test file (2G); zram has at most 256M, tmpfs 1G")
    add("--tools", metavar="PATTERN", action="append", help=f"only these rows beside '{tools.REFERENCE}', e.g. 'fio*'")
    add("--save", metavar="FILE", type=Path, help="every single run: CSV if it ends in .csv, otherwise JSON")
    add("--history", action="store_true", help="keep the results in bench/history, and tell what changed since the last")
    add("--history-folder", metavar="FOLDER", type=Path, help="the same in another folder")
    add("--diskspd", metavar="PATH", help="the command to measure (target/release/diskspd, built when absent)")
    add("--other-diskspd", metavar="PATH", help="another build of it, for before and after")
    add("--fio", metavar="PATH", help="fio (the one on the path)")
    add("--t-io-uring", metavar="PATH", help="t/io_uring of fio's sources (made of Debian's when absent)")
    add("--diskspd-for-linux", metavar="PATH", help="Microsoft's diskspd-for-linux")
    add("--list", action="store_true", help="show the cases and leave")
    options = parser.parse_args(words)
    unknown = [word for word in options.cases if not fnmatch.filter([case.name for case in CASES], word)]
    if unknown:
        parser.error(f"no case {unknown[0]}; see --list")
    if not options.list and (options.folder is None or not options.folder.is_dir()):
        parser.error(f"{options.folder} is not a folder" if options.folder else "FOLDER is missing")
    options.cores = options.cores or two_cores()
    foreign = [core for core in options.cores if core not in os.sched_getaffinity(0)]
    if foreign:
        parser.error(f"core {foreign[0]} is none that this program may use")
    if options.history and options.history_folder is None:
        options.history_folder = HISTORY
    if options.save and not options.save.parent.is_dir():
        parser.error(f"{options.save.parent} is not a folder")
    return options


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


def _percent(text: str) -> float:
    value = float(text)
    if not 0 < value < 100:
        raise argparse.ArgumentTypeError("more than 0 and less than 100")
    return value


def _count_or_none(text: str) -> int:
    return 0 if text == "0" else _count(text)


def _size(text: str) -> int:
    try:
        return places.size_in_bytes(text)
    except ValueError as wrong:
        raise argparse.ArgumentTypeError(str(wrong)) from wrong


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def chosen(options: argparse.Namespace) -> list[Case]:
    patterns = options.cases or ["*"]
    return [case for case in CASES if any(fnmatch.fnmatchcase(case.name, pattern) for pattern in patterns)]


def wants(options: argparse.Namespace, tool: str) -> bool:
    return not options.tools or any(fnmatch.fnmatchcase(tool, pattern) for pattern in options.tools)


def find_programs(options: argparse.Namespace) -> tools.Programs:
    def given(path: Optional[str]) -> Optional[str]:
        if path is None:
            return None
        found = shutil.which(path)
        if found is None:
            raise Failed(f"{path} is no program")
        return os.path.abspath(found)

    fio = given(options.fio or shutil.which("fio"))
    everything = tools.rows(tools.Programs("", fio="fio", t_io_uring="t/io_uring"))
    wanted = {row.program for row in everything if wants(options, row.name)}
    if fio is None and "fio" in wanted:
        fio = given(peers.install_fio(say))
    t_io_uring = given(options.t_io_uring)
    if t_io_uring is None and "t/io_uring" in wanted:
        try:
            t_io_uring = peers.t_io_uring(target_folder() / "side-by-side", say)
        except Failed as why:
            say(f"without t/io_uring: {why}")
    ticks = None
    if fio and t_io_uring:
        test = subprocess.run([fio, "--debug=time", "--cpuclock-test"], capture_output=True, text=True, check=False)
        ticks = tools.ticks_per_second(test.stdout)
    return tools.Programs(
        given(options.diskspd) or build(),
        given(options.other_diskspd),
        fio if "fio" in wanted else None,
        t_io_uring,
        given(options.diskspd_for_linux),
        ticks,
    )


def target_folder() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build() -> str:
    command = ["cargo", "build", "--release", "--locked", "-p", "diskspd"]
    if subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False).returncode != 0:
        raise Failed("TrueSpd could not be built")
    return str(target_folder() / "release" / "diskspd")


def facts_of(options: argparse.Namespace, programs: tools.Programs) -> dict:
    """What to know about the figures, and which machines are of the same kind: those whose figures can be compared."""

    def first_line(*command: str) -> str:
        out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
        return out.splitlines()[0] if out else "unknown"

    cpu = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    folder = str(options.folder.resolve())
    versions = {"TrueSpd": first_line(programs.truespd, "-V")}
    if programs.fio:
        versions["fio"] = first_line(programs.fio, "--version")
    if programs.t_io_uring:
        versions["t/io_uring"] = f"t/io_uring {peers.version_of_t_io_uring(programs.t_io_uring)}"
    changed = first_line("git", "status", "--porcelain", "--", ".", ":!bench/history") != "unknown"
    return {
        "kind": {
            "architecture": platform.machine(),
            "processor": cpu[0].split(":", 1)[1].strip() if cpu else "unknown",
            "processors": os.cpu_count(),
            "file system": first_line("stat", "-f", "-c", "%T", folder),
            "disk": places.disk_below(folder),
        },
        "machine": {"kernel": f"{platform.system()} {platform.release()} {platform.machine()}"},
        "tools": versions,
        "revision": first_line("git", "rev-parse", "--short=12", "HEAD") + (" with changes" if changed else ""),
        "settings": {
            "rounds": [min(options.rounds_min, options.rounds), options.rounds],
            "half width %": options.half_width,
            "seconds": options.seconds,
            "warm-up seconds": options.warmup,
            "file bytes": options.size,
            "cores": options.cores,
        },
    }


def head(facts: dict) -> str:
    kind, settings = facts["kind"], facts["settings"]
    least, most = settings["rounds"]
    rounds = f"{least} to {most} rounds" if least < most else f"{most} rounds"
    return (
        f"{facts['machine']['kernel']}, {kind['processors']} processors ({kind['processor']}), {kind['file system']} on "
        f"{kind['disk']}; {', '.join(facts['tools'].values())}; TrueSpd's sources at {facts['revision']}; {rounds} of "
        f"{settings['seconds']} s after {settings['warm-up seconds']} s, file of {settings['file bytes'] >> 20} MiB, "
        f"cores {', '.join(map(str, settings['cores']))}.\n\n{table.LEGEND}\n"
    )


def save(path: Path, results: table.Results, facts: dict) -> None:
    """Beside its place first, so that no reader sees half of it."""
    text = table.as_csv(results) if path.suffix == ".csv" else table.as_json(results, facts)
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.replace(path)


def captured(state: Path) -> dict:
    """How programs run that are not measured; TrueSpd's notes about files go away with the folder."""
    env = {**os.environ, "XDG_STATE_HOME": str(state)}
    return {"capture_output": True, "text": True, "env": env, "stdin": subprocess.DEVNULL}


def measure(
    case: Case, options: argparse.Namespace, rows: list[tools.Tool], place: places.Places, results: table.Results
) -> None:
    """All rounds of one case."""
    targets = place.targets(case)
    polled = not case.fill and places.offers_polling(targets[0])
    fitting = [row for row in rows if row.fits(case) and (polled or not row.needs_polling)]
    rule = Rule(options.rounds_min, options.rounds, options.half_width / 100)
    for number in range(1, options.rounds + 1):
        running = rule.rows_of_round(results, case.name, fitting, number)
        if not running:
            break
        core = core_of_round(options.cores, number) if case.one_core else None
        where = "" if core is None else f", core {core}"
        say(f"{case.name}: round {number} of {options.rounds} at most, {len(running)} tools{where}, on {targets[0]}")
        for row in running if number % 2 else reversed(running):
            if case.fill:
                targets = place.targets(case)
            elif not case.direct:
                # Before each of them: some machines take memory back all the time (DAMON), and whoever comes next
                # would read from the disk what the one before still found.
                places.warm(targets)
            job = tools.Job(case, targets, options.seconds, options.warmup, options.size, place.run_folder(), core)
            try:
                results.runs.append(run(row, job, number))
            except Failed as why:
                if row.program == "TrueSpd":
                    raise
                # A peer that cannot do this here must not cost the rest of a long run.
                say(f"{row.name}: {why}")
                results.left_out.append((case.name, row.name, why.brief))
                fitting.remove(row)
    # In the order of the rows, whichever ran first.
    order = [row.name for row in rows]
    results.runs.sort(key=lambda run: (order.index(run.tool), run.round))
    place.done_with(case)


def work(options: argparse.Namespace) -> None:
    programs = find_programs(options)
    rows = [row for row in tools.rows(programs) if row.name == tools.REFERENCE or wants(options, row.name)]
    facts = facts_of(options, programs)
    results = table.Results(CASES)

    def make_files(paths: list[str], size_bytes: int) -> None:
        say(f"filling {len(paths)} x {size_bytes >> 20} MiB")
        # It has to run after that, for a second and with next to no load.
        command = [programs.truespd, f"-c{size_bytes}", "-b1M", "-g1i", "-o1", "-d1", "-W0", *paths]
        made = subprocess.run(command, **captured(place.scratch), check=False)
        if made.returncode != 0:
            raise Failed("the files could not be made", f"{' '.join(command)}\n{made.stderr}")

    print(head(facts), flush=True)
    with places.Places(options.folder, options.size, make_files) as place:
        for case in chosen(options):
            try:
                measure(case, options, rows, place, results)
            except places.Unavailable as why:
                results.left_out.append((case.name, "", str(why)))
            print(table.case_table(results, case), flush=True)
            if options.save:
                save(options.save, results, facts)
    print(targets_table(results), flush=True)
    if options.history_folder and results.runs:
        print(with_history(options.history_folder, history.document(results, facts)), end="", flush=True)


def with_history(folder: Path, kept: dict) -> str:
    """Keeps the document, and tells what changed since the one before."""
    try:
        before = history.newest(folder, kept["kind"], set(kept["cases"]))
    except ValueError as wrong:
        raise Failed(str(wrong)) from wrong
    say(f"kept as {history.keep(folder, kept)}")
    if before is None:
        return "There are no earlier results of such a machine.\n"
    return history.table(kept, before)


def main(words: list[str]) -> int:
    options = arguments(words)
    if options.list:
        print("\n".join(f"{case.name:32}{case.about}" for case in CASES))
        return 0
    stop_on_signals()
    try:
        work(options)
        return 0
    except Failed as why:
        say(f"side-by-side: {why}")
        return 1
    except Stopped:
        say("side-by-side: stopped; what it made is removed")
        return 130
