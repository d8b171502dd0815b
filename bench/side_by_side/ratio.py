"""Ratios with intervals: how sure rounds make one.

All intervals hold the true value in 95 of 100 such measurements, if what disturbs one round does not disturb the next
(Student's t, of logarithms, as ratios multiply). Whoever stops when an interval is narrow enough, whatever it says,
hardly spoils that; whoever stopped when it says something pleasant would."""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, stdev, variance
from typing import Optional

CONFIDENCE = 0.95
BESIDE_A_PEER = ("ahead", "level", "behind")


@dataclass(frozen=True)
class Interval:
    """A ratio, or another figure, and where it may lie. One round alone tells no interval: it may lie anywhere."""

    middle: float
    low: float
    high: float
    count: int  # rounds

    @property
    def is_known(self) -> bool:
        return self.count > 1

    @property
    def half_width(self) -> float:
        """Of a ratio: 0.02 is plus and minus two percent."""
        return math.sqrt(self.high / self.low) - 1 if self.is_known and self.low > 0 else math.inf

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


@lru_cache(maxsize=None)
def t_quantile(freedom: float) -> float:
    """What Student's t with these degrees of freedom (1 or more) stays below in size with the probability CONFIDENCE."""
    # With t = sqrt(freedom) * tan(angle), its density is that of cos(angle) ** (freedom - 1).
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)

    def within(angle: float) -> float:
        steps = 200  # Simpson's rule
        heights = [math.cos(angle * step / steps) ** (freedom - 1) for step in range(steps + 1)]
        area = heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])
        return 2 * scale * area * angle / steps / 3

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < CONFIDENCE else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def alone(values: list[float]) -> Optional[Interval]:
    """The mean of a figure."""
    if not values:
        return None
    middle, count = fmean(values), len(values)
    if count == 1:
        return Interval(middle, -math.inf, math.inf, 1)
    half = t_quantile(count - 1) * stdev(values) / math.sqrt(count)
    return Interval(middle, middle - half, middle + half, count)


def paired(ours: dict[int, float], theirs: dict[int, float]) -> Optional[Interval]:
    """Ours by theirs, of the rounds (the keys) that have both: what a round suffers, both of it suffer."""
    return _of_logs(alone(logs_of_pairs(ours, theirs)))


def logs_of_pairs(ours: dict[int, float], theirs: dict[int, float]) -> list[float]:
    return [
        math.log(ours[number] / theirs[number]) for number in ours if ours[number] > 0 and theirs.get(number, 0) > 0
    ]


def center(logs: list[float]) -> float:
    """Geometric mean, of logarithms."""
    return math.exp(fmean(logs))


def apart(ours: list[float], theirs: list[float]) -> Optional[Interval]:
    """Ours by theirs, of logarithms that do not belong together in pairs (Welch)."""
    if not ours or not theirs:
        return None
    middle, count = fmean(ours) - fmean(theirs), min(len(ours), len(theirs))
    if count == 1:
        return _of_logs(Interval(middle, -math.inf, math.inf, 1))
    parts = [variance(values) / len(values) for values in (ours, theirs)]
    if sum(parts) == 0:
        return _of_logs(Interval(middle, middle, middle, count))
    freedom = sum(parts) ** 2 / sum(part**2 / (len(values) - 1) for part, values in zip(parts, (ours, theirs)))
    half = t_quantile(round(freedom, 2)) * math.sqrt(sum(parts))
    return _of_logs(Interval(middle, middle - half, middle + half, count))


def _of_logs(found: Optional[Interval]) -> Optional[Interval]:
    if found is None:
        return None
    return Interval(math.exp(found.middle), math.exp(found.low), _exp(found.high), found.count)


def _exp(value: float) -> float:
    """Also of an interval that is as wide as two rounds apart can make it."""
    return math.exp(value) if value < 700 else math.inf


def word(ratio: Interval, more_is_better: bool, words: tuple[str, str, str] = BESIDE_A_PEER) -> str:
    """What a ratio means: better, not to be told apart, worse; nothing after a single round."""
    if not ratio.is_known:
        return ""
    if ratio.holds(1):
        return words[1]
    return words[0] if (ratio.low > 1) == more_is_better else words[2]


def cell(ratio: Optional[Interval], more_is_better: bool, words: tuple[str, str, str] = BESIDE_A_PEER) -> str:
    """For a table."""
    if ratio is None:
        return ""
    if not ratio.is_known:
        return f"{ratio.middle:.3f}"
    return f"{ratio.middle:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] {word(ratio, more_is_better, words)}"
