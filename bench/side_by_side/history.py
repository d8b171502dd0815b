"""Results that are kept, so that the next run on a machine of the same kind tells what has changed since."""

import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from math import log
from pathlib import Path
from typing import Optional

from . import ratio
from .rounds import DECIDING
from .table import MORE_IS_BETTER, WITH_RATIO, Results, number
from .tools import REFERENCE

FORM = 1
WORDS = ("better", "the same", "worse")


def document(results: Results, facts: dict) -> dict:
    """Everything that a later run needs, and what somebody wants to know about the figures: every round, and the ratios
    as they were told."""
    cases = {}
    for case in dict.fromkeys(run.case for run in results.runs):
        cases[case] = {tool: _of_tool(results, case, tool) for tool in results.tools(case)}
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"form": FORM, "date": now, **facts, "cases": cases}


def _of_tool(results: Results, case: str, tool: str) -> dict:
    rounds, ratios = {}, {}
    for figure in WITH_RATIO:
        values = results.values(case, tool, figure)
        if values:
            rounds[figure] = {str(round_number): value for round_number, value in values.items()}
        found = None if tool == REFERENCE else results.ratio(case, tool, figure)
        if found is not None and found.is_known:
            word = ratio.word(found, figure in MORE_IS_BETTER)
            ratios[figure] = {"ratio": found.middle, "low": found.low, "high": found.high, "word": word}
    return {"rounds": rounds, "TrueSpd / it": ratios}


def keep(folder: Path, kept: dict) -> Path:
    """Under a name of its date and processor. Beside its place first, so that no reader sees half of it."""
    folder.mkdir(parents=True, exist_ok=True)
    date = re.sub(r"[-:]|\+00:00", "", kept["date"]) + "Z"
    processor = re.sub(r"\W+", "-", f"{kept['kind']['processor']} {kept['kind']['processors']}".lower()).strip("-")
    path = folder / f"{date}-{processor}.json"
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    part.replace(path)
    return path


def newest(folder: Path, kind: dict, cases: set[str]) -> Optional[dict]:
    """The last document of such a machine that has one of the cases."""
    found = []
    for path in folder.glob("*.json"):
        try:
            kept = json.loads(path.read_text())
            if kept["form"] == FORM and kept["kind"] == kind and cases & kept["cases"].keys():
                found.append((kept["date"], path.name, kept))
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            raise ValueError(f"{path} is no document of this harness ({wrong!r}); remove it") from wrong
    return max(found)[2] if found else None


@dataclass(frozen=True)
class Change:
    """Of a figure since then. Beside a peer: of the ratio to it, so that what became of the machine does not count."""

    case: str
    figure: str
    beside: str  # the peer; "" is TrueSpd by itself
    then: float
    now: float
    change: ratio.Interval  # now / then

    @property
    def word(self) -> str:
        return ratio.word(self.change, self.figure in MORE_IS_BETTER, WORDS)


def changes(kept: dict, before: dict) -> list[Change]:
    """What both have, in the order of the newer one."""
    found = []
    for case, tools in kept["cases"].items():
        tools_before = before["cases"].get(case, {})
        for tool in tools:
            for figure in DECIDING:
                logs = [_logs(one, tool, figure) for one in (tools, tools_before)]
                change = ratio.apart(*logs)
                if change is not None:
                    now, then = (ratio.center(of_one) for of_one in logs)
                    found.append(Change(case, figure, "" if tool == REFERENCE else tool, then, now, change))
    return found


def _logs(tools: dict, tool: str, figure: str) -> list[float]:
    ours, theirs = ((tools.get(name) or {}).get("rounds", {}).get(figure, {}) for name in (REFERENCE, tool))
    if tool == REFERENCE:
        return [log(value) for value in ours.values() if value > 0]
    return ratio.logs_of_pairs(ours, theirs)


def table(kept: dict, before: dict) -> str:
    """For people: what is better or worse, and how much is not."""
    all_changes = changes(kept, before)
    told = [one for one in all_changes if one.word not in (WORDS[1], "")]
    lines = [f"### Since {before['date'][:10]}", "", f"Then: {_which(before)}. Now: {_which(kept)}.", ""]
    if told:
        lines += [
            "Now / then, with its interval. Beside a peer it is the ratio TrueSpd / peer that is compared, which does not",
            "depend on how fast the machine is today; TrueSpd by itself does.",
            "",
            "| case | figure | beside | then | now | now / then |",
            "| --- | --- | --- | ---: | ---: | ---: |",
        ]
    for one in told:
        cell = ratio.cell(one.change, one.figure in MORE_IS_BETTER, words=WORDS)
        beside = one.beside or "by itself"
        lines.append(f"| {one.case} | {one.figure} | {beside} | {number(one.then)} | {number(one.now)} | {cell} |")
    same = sum(one.word == WORDS[1] for one in all_changes)
    single = len(all_changes) - len(told) - same
    counts = [f"{same} of {len(all_changes)} figures are the same within their intervals"]
    counts += [f"{single} cannot be told from single rounds"] if single else []
    return "\n".join([*lines, "", "; ".join(counts) + ". By chance alone one of 20 differs."]) + "\n"


def _which(kept: dict) -> str:
    return ", ".join([kept["revision"], kept["machine"]["kernel"], *kept["tools"].values()])
