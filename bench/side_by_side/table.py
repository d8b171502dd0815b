"""Medians, spreads and ratios of many runs, as Markdown, JSON or CSV."""

import csv
import io
import json
from dataclasses import dataclass
from statistics import median
from typing import Callable, Iterable, Optional

from . import ratio
from .cases import Case
from .ratio import Interval
from .run import Run
from .tools import ALIKE, REFERENCE

# What can be compared: name and unit, and how it follows from a run. None: the tool does not keep it.
FIGURES: dict[str, Callable[[Run, Case], Optional[float]]] = {
    "IOPS": lambda run, case: run.figures.iops,
    "MiB/s": lambda run, case: run.figures.mib_per_s,
    "CPU µs per I/O": lambda run, case: _cpu_us(run, case),
    "mean µs": lambda run, case: run.figures.mean_us,
    "p50 µs": lambda run, case: run.figures.p50_us,
    "p99 µs": lambda run, case: run.figures.p99_us,
    "resident MiB": lambda run, case: _scaled(run.cost.resident_bytes, 1 / (1 << 20)),
    "switches per 1000 I/Os": lambda run, case: _per_io(run.cost.switches_per_s, run, 1000),
    "start and end ms": lambda run, case: None if case.fill else run.cost.beyond_s * 1000,
    "response p99 µs": lambda run, case: run.figures.response_p99_us,
    "rate off by %": lambda run, case: case.rate and abs(run.figures.iops / case.rate - 1) * 100,
    "KiB per thread": lambda run, case: _per_thread_kib(run, case),
}
MORE_IS_BETTER = ("IOPS", "MiB/s")
# Figures with a column of ratios beside them, and those that only some cases have.
WITH_RATIO = ("IOPS", "CPU µs per I/O", "mean µs", "p99 µs")
ONLY_WITH: dict[str, Callable[[Case], bool]] = {
    "response p99 µs": lambda case: case.rate is not None,
    "rate off by %": lambda case: case.rate is not None,
    # Of a few threads it would be the program itself.
    "KiB per thread": lambda case: case.threads >= 16,
}


def _scaled(value: Optional[float], factor: float) -> Optional[float]:
    return None if value is None else value * factor


def _per_io(per_s: Optional[float], run: Run, factor: float) -> Optional[float]:
    return None if per_s is None or run.figures.iops <= 0 else per_s / run.figures.iops * factor


def _cpu_us(run: Run, case: Case) -> Optional[float]:
    if case.fill:  # the whole process, as the file is written once
        return run.cost.cpu_s * 1e6 / max(1, run.fill_bytes // case.block_bytes)
    return _per_io(run.cost.cpu_per_wall, run, 1e6)


def _per_thread_kib(run: Run, case: Case) -> Optional[float]:
    """All of the process's memory but the buffers, shared out among its threads."""
    if run.cost.resident_bytes is None:
        return None
    return (run.cost.resident_bytes - case.buffers_bytes) / case.threads / 1024


@dataclass(frozen=True)
class Spread:
    """Of the runs of one tool in one case."""

    middle: float
    low: float
    high: float
    count: int = 1

    @property
    def percent(self) -> float:
        """Half the distance of the extremes, of the median."""
        return abs((self.high - self.low) / 2 / self.middle * 100) if self.middle else 0.0


def spread(values: Iterable[float]) -> Optional[Spread]:
    values = list(values)
    return Spread(median(values), min(values), max(values), len(values)) if values else None


class Results:
    """Runs by case, tool and round."""

    def __init__(self, cases: list[Case]):
        self.cases = {case.name: case for case in cases}
        self.runs: list[Run] = []
        self.left_out: list[tuple[str, str, str]] = []  # case, tool ("" for all), why

    def tools(self, case: str) -> list[str]:
        return list(dict.fromkeys(run.tool for run in self.runs if run.case == case))

    def values(self, case: str, tool: str, figure: str) -> dict[int, float]:
        """By round, of the rounds that have it."""
        found = {}
        for run in self.runs:
            if (run.case, run.tool) == (case, tool):
                value = FIGURES[figure](run, self.cases[case])
                if value is not None:
                    found[run.round] = value
        return found

    def spread(self, case: str, tool: str, figure: str) -> Optional[Spread]:
        return spread(self.values(case, tool, figure).values())

    def ratio(self, case: str, peer: str, figure: str, own: str = REFERENCE) -> Optional[Interval]:
        """TrueSpd / peer, by the rounds that have both."""
        return ratio.paired(self.values(case, own, figure), self.values(case, peer, figure))


def number(value: float) -> str:
    """Four figures that count, and all digits of whole thousands."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _cell(found: Optional[Spread]) -> str:
    if found is None:
        return "-"
    if found.count == 1:
        return number(found.middle)
    # Of figures near zero a percentage says nothing.
    wide = found.percent > 100 or found.middle == 0
    spread_words = f"({number(found.low)}..{number(found.high)})" if wide else f"±{found.percent:.1f}%"
    return f"{number(found.middle)} {spread_words}"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


LEGEND = """Medians of the rounds; ± is half the distance between the smallest and the largest, which are in brackets where that is
more than the median. TrueSpd / it: the ratio of TrueSpd -L to the row, as the geometric mean of the ratios within each
round, with the interval that holds it in 95 of 100 such measurements (Student's t). It is called level when the interval
holds 1, otherwise ahead (TrueSpd is better) or behind. Alike: TrueSpd's row that hands over as many I/Os at a time as the
peer does. Cases on one core bind every tool to the same core, which changes after two rounds; in the other cases the
kernel chooses. CPU, memory and switches are those of all processes and threads of a tool in the middle of the measured
time (of a fill: of the whole run); memory shared by its processes counts once. Latencies are the tools' own and mean
different things: t/io_uring's mean is the time between two I/Os, its percentiles are exact to 1.6 %; fio takes the stamp
of an io_uring batch after the call that handed it over, so what the page cache answers within that call is not in it.
Response: from the moment an I/O was due, with a rate. Start and end: wall time beyond what was asked for. KiB per thread:
everything but the buffers, divided by the threads."""


def case_table(results: Results, case: Case) -> str:
    columns = [figure for figure in FIGURES if figure not in ONLY_WITH or ONLY_WITH[figure](case)]
    head = ["tool"]
    for figure in columns:
        head += [figure, "TrueSpd / it"] if figure in WITH_RATIO else [figure]
    lines = [f"### {case.name}", "", case.about + ".", "", _row(head), _row(["---"] + ["---:"] * (len(head) - 1))]
    for tool in results.tools(case.name):
        cells = [tool]
        for figure in columns:
            cells.append(_cell(results.spread(case.name, tool, figure)))
            if figure in WITH_RATIO:
                beside = None if tool == REFERENCE else results.ratio(case.name, tool, figure)
                cells.append(ratio.cell(beside, figure in MORE_IS_BETTER))
        lines.append(_row(cells))
    lines += _alike_table(results, case)
    lines += [f"\nLeft out: {tool or 'all'}: {why}" for name, tool, why in results.left_out if name == case.name]
    return "\n".join(lines) + "\n"


def _alike_table(results: Results, case: Case) -> list[str]:
    """Like beside like: as many I/Os handed over at a time, latencies kept or not. Without latencies, which the tools
    count from different moments."""
    figures = WITH_RATIO[:2]
    lines = []
    for tool in results.tools(case.name):
        found = [results.ratio(case.name, tool, figure, ALIKE[tool]) for figure in figures] if tool in ALIKE else []
        if any(found):
            cells = [ratio.cell(one, figure in MORE_IS_BETTER) for one, figure in zip(found, figures)]
            lines.append(_row([f"{ALIKE[tool]} / {tool}", *cells]))
    return ["", _row(["alike", *figures]), _row(["---"] + ["---:"] * len(figures)), *lines] if lines else []


# --- every run, to keep --------------------------------------------------------------------------------------------


def _flat(results: Results, run: Run) -> dict:
    case = results.cases[run.case]
    figures = {figure: of(run, case) for figure, of in FIGURES.items()}
    whole = {"CPU s of the whole run": run.cost.cpu_s, "wall s of the whole run": run.cost.wall_s}
    who = {"case": run.case, "tool": run.tool, "round": run.round, "core": run.core}
    return {**who, **figures, **whole, "command": run.command}


def as_json(results: Results, machine: dict) -> str:
    runs = [_flat(results, run) for run in results.runs]
    left_out = [{"case": case, "tool": tool, "why": why} for case, tool, why in results.left_out]
    return json.dumps({"machine": machine, "runs": runs, "left_out": left_out}, indent=1, ensure_ascii=False) + "\n"


def as_csv(results: Results) -> str:
    text = io.StringIO()
    flat = [_flat(results, run) for run in results.runs]
    if flat:
        writer = csv.DictWriter(text, fieldnames=list(flat[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, "command": " ".join(row["command"])} for row in flat)
    return text.getvalue()
