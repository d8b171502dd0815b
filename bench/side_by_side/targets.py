"""The ratios TrueSpd is meant to reach (of medians in one run, on a machine with two processors), and whether it did."""

import os
from dataclasses import dataclass
from typing import Callable, Optional

from .table import Results, Spread, number
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
TARGETS: list[Target] = [
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
    Target("direct-4k-rand-read-d32", "IOPS", 1, True, _any_peer, "the best peer (within noise)"),
    *(
        Target("direct-4k-rand-read-d32", CPU, bound, False, peers, words, own=own)
        for own in (REFERENCE, BATCHED)
        for bound, peers, words in (
            (1, _starts("t/io_uring"), "t/io_uring"),
            (0.7, _fio_with_latencies, "fio io_uring with latencies"),
        )
    ),
    Target("direct-4k-rand-write-d32", "IOPS", 1, True, _any_peer, "the best peer (within noise)"),
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


def reached(target: Target, results: Results) -> Optional[tuple[str, Spread]]:
    """The peer hardest to reach and the ratio to it, or the figure itself; None when the run holds neither."""
    if target.of_case:
        own, other = (results.spread(case, target.own, target.figure) for case in (target.case, target.of_case))
        if own is None or other is None:
            return None
        ratios = (own.middle / other.middle, own.low / other.high, own.high / other.low)
        return "", Spread(*ratios, own.count)
    if target.peers is None:
        own = results.spread(target.case, target.own, target.figure)
        return own and ("", own)
    found = []
    for tool in results.tools(target.case):
        if target.peers(tool):
            ratio = results.ratio(target.case, tool, target.figure, target.own)
            if ratio is not None:
                found.append((tool, ratio))
    if not found:
        return None
    return (min if target.at_least else max)(found, key=lambda pair: pair[1].middle)


def targets_table(results: Results) -> str:
    lines = [
        "### Targets",
        "",
        f"Of {REFERENCE} unless another row is named; a ratio is TrueSpd / the peer named, and in brackets are the extremes",
        "of the ratios within a round.",
        "",
        "| case | target | reached | beside | met |",
        "| --- | --- | ---: | --- | --- |",
    ]
    for target in TARGETS:
        got = reached(target, results)
        if got is None:
            continue
        peer, value = got
        met = value.middle >= target.bound if target.at_least else value.middle <= target.bound
        close = value.low <= target.bound <= value.high
        verdict = ("yes" if met else "no") + (", within the spread" if close and value.low != value.high else "")
        numbers = f"{number(value.middle)} ({number(value.low)}..{number(value.high)})"
        lines.append(f"| {target.case} | {target.words} | {numbers} | {peer} | {verdict} |")
    return "\n".join(lines) + "\n" if len(lines) > 7 else ""
