"""How many rounds a case gets, and on which core each runs."""

import os
from dataclasses import dataclass

from .ratio import paired
from .table import Results
from .tools import ALIKE, REFERENCE, Tool

# The figures whose ratios have to be known.
DECIDING = ("IOPS", "CPU µs per I/O")


@dataclass(frozen=True)
class Rule:
    """As many rounds as the spread needs: a row is done when its ratios are known within `half_width`, or after `most`
    rounds. It looks at how narrow the intervals are, never at what they say."""

    least: int = 5
    most: int = 15
    half_width: float = 0.02  # of the ratio

    def is_done(self, results: Results, case: str, tool: str, number: int) -> bool:
        """After so many rounds of the case."""
        if number < min(self.least, self.most):
            return False
        if number >= self.most:
            return True
        for own in {REFERENCE, ALIKE.get(tool, REFERENCE)} - {tool}:
            for figure in DECIDING:
                ratio = paired(results.values(case, own, figure), results.values(case, tool, figure))
                if ratio is not None and ratio.half_width > self.half_width:
                    return False
        return True

    def rows_of_round(self, results: Results, case: str, rows: list[Tool], number: int) -> list[Tool]:
        """Who runs in this round, from 1: all whose ratios are not known yet, and those that they are compared with.
        Nobody: the case is done."""
        going_on = {row.name for row in rows if not self.is_done(results, case, row.name, number - 1)}
        # A case without peers has nothing to be compared with, and gets the least number of rounds.
        if not going_on - {REFERENCE} and number > min(self.least, self.most):
            return []
        needed = going_on | {REFERENCE} | {ALIKE[name] for name in going_on if name in ALIKE}
        return [row for row in rows if row.name in needed]


def two_cores() -> list[int]:
    """The first and the last core that this program may use. The disk's interrupts reach one of them, or neither, and a
    tool is as fast as that lets it be: the figures of one core alone would hold for that core."""
    allowed = sorted(os.sched_getaffinity(0))
    return sorted({allowed[0], allowed[-1]})


def core_of_round(cores: list[int], number: int) -> int:
    """Cores take turns by two rounds, as every second round goes through the tools in reverse. All tools of a round have
    the same one, so ratios do not depend on whose turn it is."""
    return cores[(number - 1) // 2 % len(cores)]
