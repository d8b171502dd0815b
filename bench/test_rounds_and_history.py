"""Intervals, how many rounds, on which core, and what changed since, of the side-by-side harness."""

import json
import math
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from side_by_side import history, places, ratio, rounds, table, tools  # noqa: E402
from side_by_side.cases import CASES, ONE_CORE  # noqa: E402
from side_by_side.run import Cost, Run, run  # noqa: E402

CASE = "cached-4k-rand-read-d32"
PEER, BY_ONE = "t/io_uring", "t/io_uring, batches of 1"


class Intervals(unittest.TestCase):
    def test_quantiles_are_those_of_the_tables(self) -> None:
        for freedom, expected in ((1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (14, 2.145), (30, 2.042), (1000, 1.962)):
            self.assertAlmostEqual(ratio.t_quantile(freedom), expected, places=3)
        self.assertTrue(ratio.t_quantile(5) < ratio.t_quantile(4.5) < ratio.t_quantile(4))

    def test_a_pair_of_known_logarithms(self) -> None:
        # Logarithms 0.1, 0.2 and 0.3: mean 0.2, standard error 0.1 / sqrt(3).
        found = ratio.paired({n: math.exp(n / 10) * 7 for n in (1, 2, 3)}, {n: 7 for n in (1, 2, 3)})
        half = 4.30265 * 0.1 / math.sqrt(3)
        self.assertAlmostEqual(found.middle, math.exp(0.2))
        self.assertAlmostEqual(found.low, math.exp(0.2 - half), places=5)
        self.assertAlmostEqual(found.high, math.exp(0.2 + half), places=5)
        self.assertAlmostEqual(found.half_width, math.exp(half) - 1, places=5)

    def test_what_a_round_suffers_both_suffer(self) -> None:
        slow = {1: 1.0, 2: 0.3, 3: 0.8, 4: 0.5, 5: 0.9}
        found = ratio.paired({n: 110 * by for n, by in slow.items()}, {n: 100 * by for n, by in slow.items()})
        self.assertAlmostEqual(found.middle, 1.1)
        self.assertLess(found.half_width, 1e-9)

    def test_rounds_without_a_partner_and_zeros_do_not_count(self) -> None:
        self.assertEqual(ratio.paired({1: 2.0, 2: 3.0, 3: 0.0}, {1: 1.0, 3: 1.0, 4: 1.0}).count, 1)
        self.assertIsNone(ratio.paired({1: 2.0}, {2: 1.0}))

    def test_one_round_tells_no_interval(self) -> None:
        found = ratio.paired({1: 2.0}, {1: 1.0})
        self.assertEqual((found.middle, found.half_width, found.holds(1)), (2, math.inf, True))
        self.assertEqual(ratio.cell(found, True), "2.000")

    def test_words(self) -> None:
        for low, high, more_is_better, word in (
            (1.01, 1.1, True, "ahead"),
            (1.01, 1.1, False, "behind"),
            (0.9, 0.99, True, "behind"),
            (0.9, 0.99, False, "ahead"),
            (0.99, 1.01, True, "level"),
            (1.0, 1.5, True, "level"),
        ):
            self.assertEqual(ratio.word(ratio.Interval(1, low, high, 5), more_is_better), word)

    def test_they_hold_the_truth_as_often_as_they_say(self) -> None:
        chance = random.Random(1)
        held = {"paired": 0, "apart": 0}
        for _ in range(2000):
            weather = [chance.gauss(0, 0.5) for _ in range(6)]
            ours = {n: math.exp(0.3 + of_round + chance.gauss(0, 0.05)) for n, of_round in enumerate(weather)}
            theirs = {n: math.exp(of_round + chance.gauss(0, 0.05)) for n, of_round in enumerate(weather)}
            held["paired"] += ratio.paired(ours, theirs).holds(math.exp(0.3))
            few = [chance.gauss(0.3, 0.2) for _ in range(5)]
            many = [chance.gauss(0, 0.05) for _ in range(12)]
            held["apart"] += ratio.apart(few, many).holds(math.exp(0.3))
        for way, count in held.items():
            self.assertTrue(0.935 < count / 2000 < 0.97, f"{way}: {count}")

    def test_apart_without_spread(self) -> None:
        found = ratio.apart([math.log(2)] * 3, [0.0] * 2)
        self.assertEqual((round(found.low, 9), round(found.high, 9), found.count), (2, 2, 2))
        self.assertEqual(ratio.apart([0.0], [0.0, 1.0]).high, math.inf)
        self.assertIsNone(ratio.apart([], [0.0]))


def ran(tool: str, number: int, iops: float, cpu: float = 1.0, case: str = CASE) -> Run:
    cost = Cost(cpu_per_wall=cpu, switches_per_s=10.0, resident_bytes=3 << 20, beyond_s=0.02)
    return Run(case, tool, number, [tool], tools.Figures(iops, iops / 256), cost)


def row(name: str) -> tools.Tool:
    return tools.Tool(name, "any", lambda job: [], lambda job, out, err: tools.Figures(1, 1))


class HowManyRounds(unittest.TestCase):
    RULE = rounds.Rule(least=3, most=8, half_width=0.02)

    def measure(self, figures, names: list[str], rule: rounds.Rule = RULE) -> dict[str, int]:
        """Rounds that each row took part in; `figures` of row and round."""
        results, rows = table.Results(CASES), [row(name) for name in names]
        for number in range(1, 100):
            running = rule.rows_of_round(results, CASE, rows, number)
            if not running:
                break
            results.runs += [ran(one.name, number, *figures(one.name, number)) for one in running]
        return {name: len(results.values(CASE, name, "IOPS")) for name in names}

    def test_steady_rows_take_the_least_and_others_go_on(self) -> None:
        def figures(name: str, number: int) -> tuple[float, float]:
            noise = 1 + 0.2 * (number % 2) if name == "noisy" else 1
            return 100 * noise, 1.0

        counts = self.measure(figures, [tools.REFERENCE, "steady", "noisy"])
        self.assertEqual(counts, {tools.REFERENCE: 8, "steady": 3, "noisy": 8})
        self.assertEqual(self.measure(figures, [tools.REFERENCE, "steady"]), {tools.REFERENCE: 3, "steady": 3})

    def test_noise_that_all_share_needs_no_more_rounds(self) -> None:
        shared = self.measure(lambda _, number: (100.0 + 50 * (number % 2), 1.0), [tools.REFERENCE, "peer"])
        self.assertEqual(shared["peer"], 3)

    def test_processor_time_counts_as_well(self) -> None:
        def figures(name: str, number: int) -> tuple[float, float]:
            return 100.0, 1 + 0.3 * (number % 2) if name == "peer" else 1.0

        self.assertEqual(self.measure(figures, [tools.REFERENCE, "peer"])["peer"], 8)

    def test_it_stops_as_soon_as_it_is_narrow_enough(self) -> None:
        # One odd round, ever less of the mean.
        counts = self.measure(
            lambda name, number: (101.0 if name == "peer" and number == 1 else 100.0, 1.0),
            [tools.REFERENCE, "peer"],
            rounds.Rule(least=2, most=50, half_width=0.005),
        )
        self.assertTrue(3 < counts["peer"] < 10, counts)

    def test_the_row_that_a_peer_is_like_goes_on_with_it(self) -> None:
        def figures(name: str, number: int) -> tuple[float, float]:
            return 100.0 + (50 * (number % 3) if name == PEER else 0), 1.0

        counts = self.measure(figures, [tools.REFERENCE, tools.BATCHED, PEER, BY_ONE])
        self.assertEqual(counts, {tools.REFERENCE: 8, tools.BATCHED: 8, PEER: 8, BY_ONE: 3})

    def test_without_peers_and_with_one_round(self) -> None:
        steady = lambda name, number: (100.0, 1.0)  # noqa: E731
        self.assertEqual(self.measure(steady, [tools.REFERENCE]), {tools.REFERENCE: 3})
        single = rounds.Rule(least=5, most=1)
        self.assertEqual(self.measure(steady, [tools.REFERENCE, "peer"], single), {tools.REFERENCE: 1, "peer": 1})


class Cores(unittest.TestCase):
    def test_every_core_sees_both_orders(self) -> None:
        self.assertEqual([rounds.core_of_round([3, 7], number) for number in range(1, 7)], [3, 3, 7, 7, 3, 3])
        self.assertTrue(set(rounds.two_cores()) <= os.sched_getaffinity(0))

    def test_twins_differ_by_the_core_only(self) -> None:
        by_name = {case.name: case for case in CASES}
        twins = [case for case in CASES if case.one_core]
        self.assertTrue({CASE + ONE_CORE, "direct-4k-rand-read-d1-one-core"} <= {twin.name for twin in twins})
        for twin in twins:
            free = by_name[twin.name[: -len(ONE_CORE)]]
            self.assertFalse(free.one_core)
            job = [tools.Job(case, ["f"], 1, 0, 1 << 20, Path(".")) for case in (free, twin)]
            for one in tools.rows(tools.Programs("diskspd", "older", "fio", "t/io_uring", "linux", 1)):
                self.assertEqual(one.fits(free), one.fits(twin))
                self.assertEqual(one.command(job[0]), one.command(job[1]))
        for name in ("fill", "rate-1000", "cached-2-threads-2-files"):
            self.assertNotIn(name + ONE_CORE, by_name)

    def test_a_bound_tool_and_its_children_have_that_core_only(self) -> None:
        say = "import os, time; print('core', *os.sched_getaffinity(0)); time.sleep(1)"

        def command(_: tools.Job) -> list[str]:
            # A child of it, as fio's jobs are.
            return ["sh", "-c", f'{sys.executable} -c "{say}"; true']

        def read(_: tools.Job, out: str, _err: str) -> tools.Figures:
            return tools.Figures(iops=len(out.split()) - 1, mib_per_s=1 + float(out.split()[1]))

        tool = tools.Tool("any", "any", command, read)
        case = next(case for case in CASES if case.one_core)
        for core in rounds.two_cores():
            with tempfile.TemporaryDirectory() as folder:
                made = run(tool, tools.Job(case, [], 1, 0, 1, Path(folder), core), 1)
            self.assertEqual((made.figures.iops, made.figures.mib_per_s, made.core), (1, 1 + core, core))


FACTS = {
    "kind": {"architecture": "x86_64", "processor": "AMD EPYC", "processors": 2, "file system": "ext4", "disk": "vda"},
    "machine": {"kernel": "Linux 6.1"},
    "tools": {"TrueSpd": "TrueSpd 0.1.0", "fio": "fio-3.33"},
    "revision": "0123456789ab",
    "settings": {},
}


class History(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "history"

    def kept(self, cpu: float, date: str = "", machine: float = 1.0, count: int = 5, **kind: str) -> dict:
        """TrueSpd needs so much time per I/O; the machine is so fast today."""
        results = table.Results(CASES)
        for number in range(count):
            shake = 1 + 0.01 * (number % 2)
            results.runs.append(ran(tools.REFERENCE, number, 1000 * machine * shake, cpu))
            results.runs.append(ran("fio io_uring", number, 500 * machine, 1.0))
        kept = history.document(results, {**FACTS, "kind": {**FACTS["kind"], **kind}})
        return {**kept, "date": date or kept["date"]}

    def test_a_document_holds_every_round_and_the_ratios(self) -> None:
        kept = json.loads(json.dumps(self.kept(1.0)))
        peer = kept["cases"][CASE]["fio io_uring"]
        self.assertEqual(list(peer["rounds"]["IOPS"].values()), [500] * 5)
        told = peer["TrueSpd / it"]["IOPS"]
        self.assertTrue(told["low"] <= told["ratio"] <= told["high"] and told["word"] == "ahead", told)
        self.assertEqual(kept["cases"][CASE][tools.REFERENCE]["TrueSpd / it"], {})
        self.assertEqual((kept["revision"], kept["kind"]["processor"]), ("0123456789ab", "AMD EPYC"))

    def test_the_newest_of_the_same_kind_of_machine_counts(self) -> None:
        self.assertIsNone(history.newest(self.folder, FACTS["kind"], {CASE}))
        for date in ("2026-03-01T10:00:00+00:00", "2026-02-01T10:00:00+00:00"):
            history.keep(self.folder, self.kept(1.0, date))
        history.keep(self.folder, self.kept(1.0, "2026-04-01T10:00:00+00:00", processor="another"))
        found = history.newest(self.folder, FACTS["kind"], {CASE, "fill"})
        self.assertEqual(found["date"], "2026-03-01T10:00:00+00:00")
        self.assertIsNone(history.newest(self.folder, FACTS["kind"], {"fill"}))
        names = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(names[0], "20260201T100000Z-amd-epyc-2.json")
        self.assertEqual(len(names), 3)

    def test_a_foreign_file_is_named(self) -> None:
        self.folder.mkdir()
        (self.folder / "x.json").write_text("[]")
        with self.assertRaisesRegex(ValueError, "x.json"):
            history.newest(self.folder, FACTS["kind"], {CASE})

    def test_what_changed_is_told_and_what_did_not_is_counted(self) -> None:
        before = self.kept(1.0, "2026-02-01T10:00:00+00:00")
        text = history.table(self.kept(0.9), before)
        self.assertIn("### Since 2026-02-01", text)
        row = r"\| CPU µs per I/O \| fio io_uring \| 0\.49\d* \| 0\.44\d* \| 0\.900 \[0\.8\d+, 0\.9\d+\] better \|"
        self.assertRegex(text, row)
        self.assertIn("| by itself |", text)
        self.assertIn("2 of 4 figures are the same", text)
        self.assertIn(" worse |", history.table(self.kept(1.1), before))

    def test_a_faster_machine_is_no_better_tool(self) -> None:
        before = json.loads(json.dumps(self.kept(1.0, "2026-02-01T10:00:00+00:00")))
        found = {(one.figure, one.beside): one.word for one in history.changes(self.kept(1.0, machine=2.0), before)}
        self.assertEqual(found[("IOPS", "fio io_uring")], "the same")
        self.assertEqual(found[("IOPS", "")], "better")

    def test_single_rounds_tell_nothing(self) -> None:
        text = history.table(self.kept(0.5), self.kept(1.0, count=1))
        self.assertIn("4 cannot be told from single rounds", text)
        self.assertNotIn("better", text)


class Disks(unittest.TestCase):
    def test_the_disk_below_has_a_name(self) -> None:
        self.assertTrue(places.disk_below("/"))


if __name__ == "__main__":
    unittest.main()
