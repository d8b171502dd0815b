"""Runs one tool once and sees what it costs, from outside and in the same way for every tool."""

import os
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Optional

from .tools import Figures, Job, Tool, Unreadable

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failed(Exception):
    """A tool did not do what it was asked for. `brief` fits in a line."""

    def __init__(self, brief: str, details: str = ""):
        super().__init__(f"{brief}\n{details}" if details else brief)
        self.brief = brief


class Stopped(BaseException):
    """The person wants to stop. No `Exception`, so that nothing takes it for a failure and goes on."""


def stop_on_signals() -> None:
    """From now on a signal raises `Stopped`, once; what is cleaned up after that is not disturbed by another one."""

    def stop(_number: int, _frame: object) -> None:
        for other in STOP_SIGNALS:
            signal.signal(other, signal.SIG_IGN)
        raise Stopped

    for number in STOP_SIGNALS:
        signal.signal(number, stop)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Holds the signals back while something is made and noted down for removal."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True)
class Cost:
    """Of one run. The first group is of the middle of the measured time: what the tool does while it measures,
    without its start and end. The second is of the whole process and its children."""

    cpu_per_wall: Optional[float] = None  # seconds of processor time per second
    switches_per_s: Optional[float] = None
    resident_bytes: Optional[int] = None  # memory shared by its processes counted once

    cpu_s: float = 0.0
    wall_s: float = 0.0
    beyond_s: float = 0.0  # wall time beyond what was asked for: start and end


@dataclass(frozen=True)
class Run:
    """Everything kept of one run."""

    case: str
    tool: str
    round: int
    command: list[str]
    figures: Figures
    cost: Cost
    fill_bytes: int = 0  # written, when that was the point
    core: Optional[int] = None  # the only one that the tool had


@dataclass(frozen=True)
class Sample:
    """A process and its descendants at one moment."""

    at_s: float
    cpu_s: float
    switches: int


def family(pid: int) -> list[int]:
    """The process and all below it."""
    found = [pid]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += [int(child) for child in children.read_text().split()]
            except OSError:
                pass  # ended meanwhile
    return found


def sample(pid: int) -> Sample:
    cpu_s, switches = 0.0, 0
    for member in family(pid):
        try:
            # The clock of all threads of another process, also ended ones, in nanoseconds (clock_getcpuclockid(3)).
            cpu_s += time.clock_gettime((~member << 3) | 2)
            for status in Path(f"/proc/{member}/task").glob("*/status"):
                switches += sum(
                    int(line.split()[1]) for line in status.read_text().splitlines() if "ctxt_switches" in line
                )
        except OSError:
            pass
    return Sample(time.monotonic(), cpu_s, switches)


def resident_bytes(pid: int) -> Optional[int]:
    total = 0
    for member in family(pid):
        try:
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        except OSError:
            pass
    return total or None


def window(seconds: int, warmup: int) -> tuple[float, float]:
    """When to look, in seconds after the start of the process: inside the measured time of a tool that needs up to
    half a second to start."""
    margin = min(0.5, seconds * 0.3)
    return warmup + margin, warmup + seconds - margin / 4


def run(tool: Tool, job: Job, round_number: int) -> Run:
    """Runs it to its end. On a failure or a signal nothing of it is left running."""
    command = tool.command(job)
    child = None
    started = time.monotonic()
    try:
        with undisturbed():
            child = _start(command, job)
        seen = {} if job.case.fill else _watch(child, started, job)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    finally:
        if child is not None:
            _kill(child)
    wall_s = time.monotonic() - started
    out = (job.folder / "out").read_text(errors="replace")
    err = (job.folder / "err").read_text(errors="replace")
    if child.returncode != 0:
        raise _failed(f"ended with {child.returncode}", command, out, err)
    try:
        figures = tool.read(job, out, err)
    except Unreadable as wrong:
        raise _failed(str(wrong), command, out, err) from wrong
    if figures.iops <= 0:
        raise _failed("did no I/O", command, out, err)
    asked_s = 0 if job.case.fill else job.seconds + job.warmup + (1 if tool.program == "t/io_uring" else 0)
    cost = Cost(
        **seen, cpu_s=usage.ru_utime + usage.ru_stime, wall_s=wall_s, beyond_s=0 if job.case.fill else wall_s - asked_s
    )
    written = job.size_bytes if job.case.fill else 0
    return Run(job.case.name, tool.name, round_number, command, figures, cost, written, job.core)


def _start(command: list[str], job: Job) -> subprocess.Popen:
    def before_it_runs() -> None:
        # What taskset does; all that it starts inherits it.
        if job.core is not None:
            os.sched_setaffinity(0, {job.core})
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)

    with (job.folder / "out").open("wb") as out, (job.folder / "err").open("wb") as err:
        return subprocess.Popen(
            command,
            cwd=job.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            # Whatever TrueSpd notes about files goes away with the folder.
            env={**os.environ, "XDG_STATE_HOME": str(job.folder)},
            preexec_fn=before_it_runs,
        )


def _watch(child: subprocess.Popen, started: float, job: Job) -> dict:
    """Two looks inside the measured time."""
    samples = []
    for at in window(job.seconds, job.warmup):
        time.sleep(max(0.0, started + at - time.monotonic()))
        samples.append(sample(child.pid))
    first, last = samples
    # After the last sample, as it holds the process up for a moment.
    resident = resident_bytes(child.pid)
    if last.cpu_s <= 0 or resident is None:
        return {}  # it is gone: its exit code tells why
    wall_s = last.at_s - first.at_s
    return {
        "cpu_per_wall": (last.cpu_s - first.cpu_s) / wall_s,
        "switches_per_s": max(0, last.switches - first.switches) / wall_s,
        "resident_bytes": resident,
    }


def _kill(child: subprocess.Popen) -> None:
    """Ends it and all below it when it has not ended by itself. Not its session: fio's jobs have sessions of their
    own."""
    if child.returncode is not None:
        return
    members = set()
    # Once more after the first ones are dead, for what was started meanwhile.
    for _ in range(2):
        for member in reversed(family(child.pid)):
            members.add(member)
            try:
                os.kill(member, signal.SIGKILL)
            except ProcessLookupError:
                pass
    child.wait()
    # On a busy machine the others die later than it, and have the files open until then.
    limit = time.monotonic() + 5
    while any(_is_running(member) for member in members) and time.monotonic() < limit:
        time.sleep(0.01)


def _is_running(pid: int) -> bool:
    try:
        # What has ended and was not waited for yet has no words any more.
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


def _failed(what: str, command: list[str], out: str, err: str) -> Failed:
    last = [line.strip() for line in (out + "\n" + err).splitlines() if line.strip()][-12:]
    brief = f"{what}: {last[-1]}" if last else what
    return Failed(brief, "\n".join([" ".join(command), *(f"  | {line}" for line in last)]))
