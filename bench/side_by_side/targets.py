"""The ratios TrueSpd is meant to reach on a machine with two processors, and whether it did: by their intervals."""

import os
from dataclasses import dataclass, replace
from math import log
from typing import Callable, Optional

from .cases import CASES, ONE_CORE
from .ratio import Interval, alone, apart
from .table import Results, number
from .tools import BATCHED, REFERENCE


@dataclass(frozen=True)
class Target:
    """One line of the list. `peers` chooses the rows; the one hardest to reach counts. No peers: the figure itself, or
    as a multiple of TrueSpd's own in another case."""

    case: str
    figure: str
    bound: float
    at_least: bool
    peers: Optional[Callable[[str], bool]] = None
    peers_words: str = ""
    of_case: str = ""
    own: str = REFERENCE

    @property
    def words(self) -> str:
        limit = f"{self.figure} {'at least' if self.at_least else 'at most'} {number(self.bound)}"
        other = self.of_case or self.peers_words
        return (f"{limit} of {other}" if other else limit) + ("" if self.own == REFERENCE else f" ({self.own})")


def _named(*names: str) -> Callable[[str], bool]:
    return lambda tool: tool in names


def _starts(*starts: str) -> Callable[[str], bool]:
    return lambda tool: tool.startswith(starts)


def _fio_with_latencies(tool: str) -> bool:
    return tool.startswith("fio io_uring") and "no latencies" not in tool


def _any_peer(tool: str) -> bool:
    return "TrueSpd" not in tool


CPU, MEAN, P99 = "CPU µs per I/O", "mean µs", "p99 µs"
FREE: list[Target] = [
    Target("null-4k-rand-d32", CPU, 0.030, False),
    Target("null-4k-rand-d32", "IOPS", 8, True, _starts("fio null"), "fio's null engine"),
    *(
        Target("cached-4k-rand-read-d32", "IOPS", bound, True, peers, words, own=own)
        for own in (REFERENCE, BATCHED)
        for bound, peers, words in (
            (1, _starts("t/io_uring"), "t/io_uring"),
            (1.2, _fio_with_latencies, "the best fio io_uring with latencies"),
            (2, _named("fio io_uring"), "fio io_uring as it comes"),
            (5, _starts("diskspd-for-linux"), "diskspd-for-linux"),
        )
    ),
    Target("direct-4k-rand-read-d32", "IOPS", 1, True, _any_peer, "the best peer"),
    *(
        Target("direct-4k-rand-read-d32", CPU, bound, False, peers, words, own=own)
        for own in (REFERENCE, BATCHED)
        for bound, peers, words in (
            (1, _starts("t/io_uring"), "t/io_uring"),
            (0.7, _fio_with_latencies, "fio io_uring with latencies"),
        )
    ),
    Target("direct-4k-rand-write-d32", "IOPS", 1, True, _any_peer, "the best peer"),
    Target("direct-4k-rand-write-d32", CPU, 0.7, False, _fio_with_latencies, "fio io_uring with latencies"),
    *(
        Target(f"{kind}-4k-rand-read-d1", figure, 1.01, False, _starts("t/io_uring", "fio psync"), words)
        for kind in ("cached", "direct")
        for figure, words in ((MEAN, "t/io_uring and fio psync"), (P99, "t/io_uring -t1 and fio psync"))
    ),
    Target("direct-4k-rand-write-d1", MEAN, 1.01, False, _named("fio psync"), "fio psync"),
    Target("direct-4k-rand-write-d1", P99, 1.01, False, _named("fio psync"), "fio psync"),
    Target("fill", "MiB/s", 0.95, True, _starts("fio"), "fio writing 1 MiB at depth 8"),
    *(Target(f"rate-{rate}", "rate off by %", 0.1, False) for rate in (10, 100, 1000, 10_000, 100_000, 200_000)),
    Target("cached-64-threads-16-files", "KiB per thread", 256, False),
    Target("cached-64-threads-16-files", "start and end ms", 300, False),
    # Threads scale: what one thread reaches times the processors, less what sharing them takes.
    *(
        Target(case, "IOPS", 0.85 * min(threads, os.cpu_count() or 1), True, of_case="cached-4k-rand-read-d32")
        for case, threads in (("cached-2-threads-2-files", 2), ("cached-64-threads-16-files", 64))
    ),
    Target("cached-64-threads-16-files", CPU, 1, False, _starts("t/io_uring"), "t/io_uring"),
]


def _with_twin(target: Target) -> list[Target]:
    """On one core the same is asked for, but where several cases are compared."""
    twin = target.case + ONE_CORE
    there = not target.of_case and any(case.name == twin for case in CASES)
    return [target, replace(target, case=twin)] if there else [target]


TARGETS: list[Target] = [twin for target in FREE for twin in _with_twin(target)]


def reached(target: Target, results: Results) -> Optional[tuple[str, Interval]]:
    """The peer hardest to reach and the ratio to it, or the figure itself; None when the run holds neither."""
    own = list(results.values(target.case, target.own, target.figure).values())
    if target.of_case:
        other = list(results.values(target.of_case, target.own, target.figure).values())
        found = apart([log(value) for value in own], [log(value) for value in other])
        return found and ("", found)
    if target.peers is None:
        found = alone(own)
        return found and ("", found)
    ratios = []
    for tool in results.tools(target.case):
        if target.peers(tool):
            ratio = results.ratio(target.case, tool, target.figure, target.own)
            if ratio is not None:
                ratios.append((tool, ratio))
    if not ratios:
        return None
    return (min if target.at_least else max)(ratios, key=lambda pair: pair[1].middle)


def is_met(target: Target, value: Interval) -> str:
    """Yes and no are for intervals that lie on one side of what was asked for."""
    if value.is_known and value.low < target.bound < value.high:
        return "level" if target.bound == 1 else "open: within the interval"
    met = value.middle >= target.bound if target.at_least else value.middle <= target.bound
    return ("yes" if met else "no") + ("" if value.is_known else " (one round)")


def targets_table(results: Results) -> str:
    lines = [
        "### Targets",
        "",
        f"Of {REFERENCE} unless another row is named; a ratio is TrueSpd / the peer named. A target is met when the whole",
        "interval (in brackets) meets it, and open while the interval holds it (level, where no more than that is asked for).",
        "",
        "| case | target | reached | beside | met |",
        "| --- | --- | ---: | --- | --- |",
    ]
    for target in TARGETS:
        got = reached(target, results)
        if got is None:
            continue
        peer, value = got
        numbers = number(value.middle)
        if value.is_known:
            numbers += f" [{number(value.low)}, {number(value.high)}]"
        lines.append(f"| {target.case} | {target.words} | {numbers} | {peer} | {is_met(target, value)} |")
    return "\n".join(lines) + "\n" if len(lines) > 7 else ""
