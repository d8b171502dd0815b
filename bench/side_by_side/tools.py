"""What measures: the command line of every tool for a case, and how to read what it leaves.

A row is a variant that somebody who wants the best figure would use. Left out on purpose: kernel threads that
submit (fio's sqthread_poll), as they take a second processor for themselves.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Callable, Optional

from .cases import Case

PEER_BATCH_MAX = 32


class Unreadable(Exception):
    """A tool left something that does not hold its figures."""


@dataclass(frozen=True)
class Figures:
    """What a tool says of one run. Latencies from handing over to seeing the completion, where it keeps them."""

    iops: float
    mib_per_s: float
    mean_us: Optional[float] = None
    p50_us: Optional[float] = None
    p99_us: Optional[float] = None
    response_p99_us: Optional[float] = None  # from the intended start, with a rate


@dataclass(frozen=True)
class Job:
    """One run to be made: where, how long, and where the tool may leave files."""

    case: Case
    targets: list[str]
    seconds: int
    warmup: int
    size_bytes: int  # of the file of a fill, and of a file that is only pretended
    folder: Path  # of this run alone
    core: Optional[int] = None  # the only one that the tool may use


@dataclass(frozen=True)
class Tool:
    """A row of the tables."""

    name: str
    program: str
    command: Callable[[Job], list[str]]
    read: Callable[[Job, str, str], Figures]  # of what came out of standard output and standard error
    fits: Callable[[Case], bool] = field(default=lambda case: True)
    needs_polling: bool = False


# --- TrueSpd ---------------------------------------------------------------------------------------------------


def _truespd_command(program: str, words: list[str], batch: int = 0) -> Callable[[Job], list[str]]:
    def command(job: Job) -> list[str]:
        case = job.case
        # -n: no other tool binds its threads by itself, and bound to the processor that does not get the disk's
        # interrupts a tool loses a quarter of its IOPS at depth 1.
        line = [program, "-n", f"-b{case.block_bytes}", "--json", str(job.folder / "result.json")]
        if case.fill:
            # The file is the point; what follows has to be something, and is next to nothing.
            return [*line, f"-c{job.size_bytes}", "-v", "-g1i", "-o1", "-d1", "-W0", *job.targets]
        line += [f"-o{case.depth}", f"-t{case.threads_per_file}", f"-d{job.seconds}", f"-W{job.warmup}"]
        line += ["-r" if case.random else "-s", *words]
        if batch:
            line += [f"-u{min(case.depth, batch)}"]
        if case.direct:
            line += ["-Su"]
        if case.null_engine:
            line += ["--engine", "null"]
        if case.rate is not None:
            line += [f"-g{case.rate}i"]
        if case.write:
            line += ["-w100"]
            if case.place == "zram":
                line += ["-Z"]
            # Other tools wrote there since; all targets are the harness's own.
            for target in job.targets:
                line += ["--overwrite", target]
        return [*line, *job.targets]

    return command


def read_truespd(job: Job, _out: str, err: str) -> Figures:
    if job.case.fill:
        return read_truespd_fill(job, err)
    try:
        [span] = json.loads((job.folder / "result.json").read_text())["summary"]
        total = span["total"]
        latency = total["latency"] or {}
        micro = [latency[name] / 1000 if name in latency else None for name in ("mean_ns", "p50_ns", "p99_ns")]
        response = total.get("response")  # older builds have none
        micro.append(response["p99_ns"] / 1000 if response else None)
        return Figures(total["iops"], total["bytes_per_s"] / (1 << 20), *micro)
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        raise Unreadable(f"no summary in the result document ({wrong!r})") from wrong


def read_truespd_fill(job: Job, err: str) -> Figures:
    """Of the line of -v that tells how the file was written: from the layout to the end of the flush."""
    found = re.search(r"written: (\d+) bytes .* in [\d.]+ s, (\d+) MiB/s", err)
    if not found:
        raise Unreadable("-v names no file that was written")
    mib_per_s = float(found[2])
    return Figures(mib_per_s * (1 << 20) / job.case.block_bytes, mib_per_s)


# --- fio -------------------------------------------------------------------------------------------------------


def _fio_command(program: str, words: list[str], batched: bool = False) -> Callable[[Job], list[str]]:
    def command(job: Job) -> list[str]:
        case = job.case
        way = ("rand" if case.random else "") + ("write" if case.write else "read")
        line = [program, "--output-format=json", f"--output={job.folder / 'fio.json'}", "--name=global"]
        line += [f"--rw={way}", f"--bs={case.block_bytes}", f"--iodepth={case.depth}", f"--direct={case.direct:d}"]
        line += ["--group_reporting", *words]
        if batched:
            batch = min(case.depth, PEER_BATCH_MAX)
            line += [f"--iodepth_batch_submit={batch}", "--iodepth_batch_complete_min=1"]
            line += [f"--iodepth_batch_complete_max={batch}"]
        if case.null_engine:
            line += ["--ioengine=null", f"--size={job.size_bytes}"]
        if case.rate is not None:
            line += [f"--rate_iops={case.rate}"]
        if case.place == "zram" and case.write:
            line += ["--zero_buffers"]
        if case.fill:
            line += [f"--size={job.size_bytes}", "--end_fsync=1"]
        else:
            line += ["--allow_file_create=0", "--invalidate=0", "--time_based"]
            line += [f"--runtime={job.seconds}", f"--ramp_time={job.warmup}"]
        for number, target in enumerate(job.targets):
            line += [f"--name=job{number}", f"--filename={target}", f"--numjobs={case.threads_per_file}"]
        return line

    return command


def read_fio(job: Job, _out: str, _err: str) -> Figures:
    try:
        text = (job.folder / "fio.json").read_text()
        # Notes may stand before the document.
        [group] = json.loads(text[text.index("{") :])["jobs"]
        found = group["write" if job.case.write else "read"]
        latency = found.get("clat_ns", {})
        percentiles = latency.get("percentile", {})
        kept = bool(latency.get("N"))
        return Figures(
            found["iops"],
            found["bw_bytes"] / (1 << 20),
            latency["mean"] / 1000 if kept else None,
            percentiles["50.000000"] / 1000 if kept and percentiles else None,
            percentiles["99.000000"] / 1000 if kept and percentiles else None,
        )
    except (OSError, ValueError, KeyError) as wrong:
        raise Unreadable(f"no figures in fio's document ({wrong!r})") from wrong


# --- fio's t/io_uring --------------------------------------------------------------------------------------------


def _t_io_uring_command(program: str, batch: Optional[int], words: list[str]) -> Callable[[Job], list[str]]:
    def command(job: Job) -> list[str]:
        case = job.case
        at_once = min(case.depth, PEER_BATCH_MAX if batch is None else batch)
        line = [program, f"-d{case.depth}", f"-s{at_once}", f"-c{at_once}", f"-b{case.block_bytes}"]
        line += [f"-O{case.direct:d}", f"-R{case.random:d}", f"-n{case.threads}", f"-N{case.null_engine:d}"]
        # One line for each second, none for the last one.
        return [*line, f"-r{job.warmup + job.seconds + 1}", *words, *job.targets]

    return command


def read_t_io_uring(job: Job, out: str, _err: str) -> Figures:
    """The mean of the lines of the measured seconds."""
    rates = [_t_io_uring_rate(line, job.case.block_bytes) for line in re.findall(r"^IOPS=.*", out, re.M)]
    measured = rates[job.warmup : job.warmup + job.seconds]
    if len(measured) < job.seconds:
        raise Unreadable(f"{len(rates)} lines of IOPS, {job.warmup + job.seconds} expected")
    iops = mean(measured)
    p50, p99 = (_t_io_uring_percentile(out, at) for at in ("50.0000", "99.0000"))
    # One at a time, an I/O can take no longer than the time between two.
    one_at_a_time = job.case.depth == 1 and job.case.threads == 1 and iops > 0
    return Figures(iops, iops * job.case.block_bytes / (1 << 20), 1e6 / iops if one_at_a_time else None, p50, p99)


def _t_io_uring_rate(line: str, block_bytes: int) -> float:
    number, unit = re.match(r"IOPS=([\d.]+)([KM]?)", line).groups()
    if unit == "M":
        # Two digits after millions are one percent; the bandwidth is printed four times as exactly.
        bandwidth = re.search(r"BW=([\d.]+)GiB/s", line)
        if bandwidth and block_bytes <= 1 << 20:
            return float(bandwidth[1]) * 1000 * ((1 << 20) // block_bytes)
    return float(number) * {"": 1, "K": 1e3, "M": 1e6}[unit]


def _t_io_uring_percentile(out: str, at: str) -> Optional[float]:
    """Microseconds; the largest of all threads, each of which chooses its unit. Without a counter's rate the tool prints
    ticks, which help nobody."""
    values = []
    for unit, rows in re.findall(r"percentiles \((nsec|usec)\):\n((?: +\|.*\n?)+)", out):
        found = re.search(rf"(?<![\d.]){re.escape(at)}th=\[\s*(\d+)\]", rows)
        if found:
            values.append(int(found[1]) / (1000 if unit == "nsec" else 1))
    return max(values, default=None)


# --- diskspd-for-linux -----------------------------------------------------------------------------------------------


def _diskspd_for_linux_command(program: str) -> Callable[[Job], list[str]]:
    def command(job: Job) -> list[str]:
        case = job.case
        line = [program, f"-b{case.block_bytes}", f"-o{case.depth}", f"-t{case.threads_per_file}", "-n", "-L"]
        line += [f"-d{job.seconds}", f"-W{job.warmup}", f"-w{100 if case.write else 0}"]
        # Alone -r means multiples of 64 KiB, whatever -b says, and alone -s is refused; sequential is the default.
        line += [f"-r{case.block_bytes}"] if case.random else []
        if case.direct:
            line += ["-Sd"]
        return [*line, *job.targets]

    return command


def read_diskspd_for_linux(job: Job, out: str, _err: str) -> Figures:
    total = re.search(r"^total:(.*)$", out, re.M)
    if not total:
        raise Unreadable("no line of totals")
    columns = [column.strip() for column in total[1].split("|")]
    percentile = {}
    for name, reads, writes in re.findall(r"^\s*(\S+) \|\s*(\S+) \|\s*(\S+) \|\s*\S+$", out, re.M):
        # The third column counts some I/Os several times.
        percentile[name] = writes if job.case.write else reads
    try:
        mib_per_s, iops, mean_ms = float(columns[2]), float(columns[3]), float(columns[4])
        return Figures(
            iops, mib_per_s, mean_ms * 1000, float(percentile["50th"]) * 1000, float(percentile["99th"]) * 1000
        )
    except (IndexError, KeyError, ValueError) as wrong:
        raise Unreadable(f"totals or percentiles are missing ({wrong!r})") from wrong


# --- the rows ------------------------------------------------------------------------------------------------------

FIO_URING = ["--ioengine=io_uring"]
# No map of blocks visited (nothing else keeps one), threads instead of processes, nothing that looks into the data,
# only the latency that has percentiles.
FIO_TUNED = [
    *FIO_URING,
    *("--registerfiles", "--fixedbufs", "--norandommap", "--thread", "--disk_util=0", "--scramble_buffers=0"),
    *("--disable_slat=1", "--disable_lat=1"),
]


def ticks_per_second(cpuclock_test: str) -> Optional[int]:
    """The processor's counter as measured by `fio --debug=time --cpuclock-test`, which t/io_uring cannot do."""
    per_ms = [int(number) for number in re.findall(r"cycles\[\d+\]=(\d+)", cpuclock_test)]
    return round(median(per_ms)) * 1000 if per_ms else None


@dataclass(frozen=True)
class Programs:
    """Where the tools are; without a path a tool is left out."""

    truespd: str
    other_truespd: Optional[str] = None
    fio: Optional[str] = None
    t_io_uring: Optional[str] = None
    diskspd_for_linux: Optional[str] = None
    ticks_per_second: Optional[int] = None


REFERENCE = "TrueSpd -L"
# Handing over as many I/Os at a time as the peers do, instead of one by one as DiskSpd does with -L.
BATCHED = "TrueSpd -L -u"
BY_FOUR = "TrueSpd -L -u4"
BY_ONE = "TrueSpd -L -u1"
BARE = "TrueSpd"
# Which of TrueSpd's rows hands over as many I/Os at a time as a peer's, and keeps latencies or not as it does.
ALIKE = {
    "fio io_uring tuned": REFERENCE,
    "fio io_uring tuned, batched": BATCHED,
    "fio io_uring tuned, no latencies": BARE,
    "fio psync": REFERENCE,
    "t/io_uring, batches of 1": BY_ONE,
    "t/io_uring, batches of 4": BY_FOUR,
    "t/io_uring": BATCHED,
    "t/io_uring -t1": BATCHED,
}


def rows(programs: Programs) -> list[Tool]:
    """All tools there are, the one that ratios refer to first."""

    def batched(name: str, batch: int, depth_min: int) -> Tool:
        return Tool(
            name,
            "TrueSpd",
            _truespd_command(programs.truespd, ["-L"], batch),
            read_truespd,
            fits=lambda case: case.depth >= depth_min and not (case.fill or case.null_engine or case.rate is not None),
        )

    found = [
        Tool(REFERENCE, "TrueSpd", _truespd_command(programs.truespd, ["-L"]), read_truespd),
        batched(BY_ONE, 1, 2),
        batched(BY_FOUR, 4, 5),
        batched(BATCHED, PEER_BATCH_MAX, 2),
        Tool(
            BARE,
            "TrueSpd",
            _truespd_command(programs.truespd, []),
            read_truespd,
            fits=lambda case: not case.fill and case.rate is None,
        ),
    ]
    if programs.other_truespd:
        command = _truespd_command(programs.other_truespd, ["-L"])
        found.append(Tool("other TrueSpd -L", "TrueSpd", command, read_truespd))
    if programs.fio:
        found += _fio_rows(programs.fio)
    if programs.t_io_uring:
        found += _t_io_uring_rows(programs.t_io_uring, programs.ticks_per_second)
    if programs.diskspd_for_linux:
        found.append(
            Tool(
                "diskspd-for-linux -L",
                "diskspd-for-linux",
                _diskspd_for_linux_command(programs.diskspd_for_linux),
                read_diskspd_for_linux,
                # It wants a disk with a scheduler below. Its rates are bytes per millisecond, which cannot say most of
                # ours.
                fits=lambda case: case.place == "file"
                and not (case.null_engine or case.fill or case.rate is not None),
            )
        )
    return found


def _fio_rows(fio: str) -> list[Tool]:
    def real(case: Case) -> bool:
        return not case.null_engine

    def free(case: Case) -> bool:
        return real(case) and not case.fill and case.rate is None

    def row(name: str, words: list[str], fits: Callable[[Case], bool], batched: bool = False, **more: bool) -> Tool:
        return Tool(name, "fio", _fio_command(fio, words, batched), read_fio, fits, **more)

    return [
        row("fio io_uring", FIO_URING, real),
        # With disable_slat and disable_lat, fio 3.33 does no I/O at all when a rate is set.
        row("fio io_uring tuned", FIO_TUNED, lambda case: real(case) and case.rate is None),
        row("fio io_uring tuned, batched", FIO_TUNED, lambda case: free(case) and case.depth > 1, batched=True),
        row(
            "fio io_uring tuned, no latencies",
            [*FIO_TUNED, "--gtod_reduce=1"],
            free,
            batched=True,
        ),
        row(
            "fio io_uring tuned, polled",
            [*FIO_TUNED, "--hipri"],
            lambda case: free(case) and case.direct,
            needs_polling=True,
        ),
        row("fio psync", ["--ioengine=psync"], lambda case: free(case) and case.depth == 1),
        row("fio null", [], lambda case: case.null_engine),
        row(
            "fio null tuned",
            [word for word in FIO_TUNED if word not in ("--registerfiles", "--fixedbufs", *FIO_URING)],
            lambda case: case.null_engine,
        ),
    ]


def _t_io_uring_rows(program: str, ticks: Optional[int]) -> list[Tool]:
    def reads(case: Case) -> bool:
        return not case.write and case.rate is None and not case.null_engine

    def row(name: str, batch: Optional[int], words: list[str], fits: Callable[[Case], bool], **more: bool) -> Tool:
        return Tool(name, "t/io_uring", _t_io_uring_command(program, batch, words), read_t_io_uring, fits, **more)

    interrupts = ["-p0"]
    found = [
        row("t/io_uring", None, interrupts, reads),
        row("t/io_uring, batches of 4", 4, interrupts, lambda c: reads(c) and c.depth > 4),
        row("t/io_uring, batches of 1", 1, interrupts, lambda c: reads(c) and c.depth > 1),
        row(
            "t/io_uring, polled",
            None,
            ["-p1"],
            lambda case: reads(case) and case.direct,
            needs_polling=True,
        ),
        row("t/io_uring -N1 (no-ops of the kernel)", None, interrupts, lambda c: c.null_engine),
    ]
    if ticks:
        found.insert(1, row("t/io_uring -t1", None, [*interrupts, "-t1", f"-T{ticks}"], reads))
    return found
