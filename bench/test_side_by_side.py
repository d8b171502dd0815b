"""Parsers, statistics and command lines of the side-by-side harness: python3 -m unittest discover bench"""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from side_by_side import peers, places, table, targets, tools  # noqa: E402
from side_by_side.cases import CASES, Case  # noqa: E402
from side_by_side.ratio import Interval  # noqa: E402
from side_by_side.run import Cost, Failed, Run, window  # noqa: E402

BY_NAME = {case.name: case for case in CASES}
ALL = tools.Programs("diskspd", "older", "fio", "t/io_uring", "diskspd-for-linux", 2_596_126_000)

T_IO_URING = """\
submitter=0, tid=18031, file=f, nfiles=1, node=-1
polled=0, fixedbufs=1, register_files=1, buffered=0, QD=1
Engine=io_uring, sq_ring=1, cq_ring=1
IOPS=1000, BW=3MiB/s, IOS/call=1/1
IOPS=9260, BW=36MiB/s, IOS/call=1/1
IOPS=103.51K, BW=404MiB/s, IOS/call=1/1
IOPS=1.19M, BW=4.65GiB/s, IOS/call=1/1
Exiting on timeout
Maximum IOPS=1.19M
18031: Latency percentiles:
    percentiles (nsec):
     |  1.0000th=[  1305], 50.0000th=[  1484], 99.0000th=[ 31621],
     | 99.5000th=[104202], 99.9900th=[300154]
18032: Latency percentiles:
    percentiles (usec):
     |  1.0000th=[     2], 50.0000th=[     3], 99.0000th=[    29],
     | 99.5000th=[   104], 99.9900th=[   300]
"""
DISKSPD_FOR_LINUX = """\
Total IO
thread |           bytes |         I/Os |       MB/s |  I/O per s | AvgLat(ms) | LatStdDev  | file
-------------------------------------------------------------------------------------------------------
     0 |      1588269056 |       387761 |     757.35 |  193880.50 |       0.166 |       0.889 | f (268435456B)
-------------------------------------------------------------------------------------------------------
total:        1588269056 |       387761 |     757.35 |  193880.50 |       0.166 |       0.889 

Write IO
total:                 0 |            0 |       0.00 |       0.00 |       0.000 |	   N/A 

  %-ile |	Read (ms) | Write (ms) | Total (ms)
----------------------------------------------
    min |      0.054 |        N/A |      0.054
   50th |      0.062 |        N/A |      0.066
   99th |      4.160 |        N/A |      4.170
3-nines |     12.177 |        N/A |     12.177
"""


class Reading(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def job(self, case: str = "cached-4k-rand-read-d32", seconds: int = 1, warmup: int = 1) -> tools.Job:
        return tools.Job(BY_NAME[case], ["/x/f"], seconds, warmup, 1 << 30, self.folder)

    def test_truespd(self) -> None:
        total = {
            "bytes_per_s": 2 << 20,
            "iops": 512.5,
            "latency": {"mean_ns": 1500.0, "p50_ns": 1000, "p99_ns": 9000},
        }
        (self.folder / "result.json").write_text(json.dumps({"summary": [{"total": total}]}))
        self.assertEqual(tools.read_truespd(self.job(), "", ""), tools.Figures(512.5, 2.0, 1.5, 1.0, 9.0))
        total["response"] = {"p99_ns": 12000}
        (self.folder / "result.json").write_text(json.dumps({"summary": [{"total": total}]}))
        self.assertEqual(tools.read_truespd(self.job(), "", "").response_p99_us, 12)
        total["latency"] = total["response"] = None
        (self.folder / "result.json").write_text(json.dumps({"summary": [{"total": total}]}))
        self.assertEqual(tools.read_truespd(self.job(), "", ""), tools.Figures(512.5, 2.0))
        (self.folder / "result.json").write_text(json.dumps({"summary": [None]}))
        with self.assertRaises(tools.Unreadable):
            tools.read_truespd(self.job(), "", "")

    def test_truespd_filling(self) -> None:
        line = "2026-11-21T08:03:57: 'f' written: 268435456 bytes through direct I/O with io_uring in 0.41 s, 624 MiB/s"
        self.assertEqual(tools.read_truespd(self.job("fill"), "", line).mib_per_s, 624)
        with self.assertRaises(tools.Unreadable):
            tools.read_truespd(self.job("fill"), "", "'f' is used as it is")

    def test_fio(self) -> None:
        read = {"iops": 220263.4, "bw_bytes": 3 << 20}
        read["clat_ns"] = {"N": 9, "mean": 141026.0, "percentile": {"50.000000": 52992, "99.000000": 4145152}}
        text = "fio: a note before it\n" + json.dumps({"jobs": [{"read": read, "write": {"iops": 0, "bw_bytes": 0}}]})
        (self.folder / "fio.json").write_text(text)
        figures = tools.read_fio(self.job(), "", "")
        self.assertEqual(figures, tools.Figures(220263.4, 3.0, 141.026, 52.992, 4145.152))
        self.assertEqual(tools.read_fio(self.job("direct-4k-rand-write-d1"), "", "").iops, 0)
        (self.folder / "fio.json").write_text("fio: nothing else")
        with self.assertRaises(tools.Unreadable):
            tools.read_fio(self.job(), "", "")

    def test_t_io_uring_counts_the_measured_seconds(self) -> None:
        figures = tools.read_t_io_uring(self.job("direct-4k-rand-read-d1", seconds=2), T_IO_URING, "")
        self.assertAlmostEqual(figures.iops, (9260 + 103_510) / 2)
        self.assertAlmostEqual(figures.mean_us, 1e6 / figures.iops)
        self.assertEqual((figures.p50_us, figures.p99_us), (3, 31.621))
        with self.assertRaises(tools.Unreadable):
            tools.read_t_io_uring(self.job(seconds=9), T_IO_URING, "")

    def test_t_io_uring_takes_millions_from_the_bandwidth(self) -> None:
        figures = tools.read_t_io_uring(self.job(seconds=1, warmup=3), T_IO_URING, "")
        self.assertEqual(figures.iops, 4650 * 256)
        self.assertIsNone(figures.mean_us)

    def test_t_io_uring_in_ticks_keeps_no_latency(self) -> None:
        ticks = T_IO_URING.replace("(nsec)", "(tsc ticks)").replace("(usec)", "(tsc ticks)")
        self.assertIsNone(tools.read_t_io_uring(self.job(), ticks, "").p99_us)

    def test_diskspd_for_linux(self) -> None:
        figures = tools.read_diskspd_for_linux(self.job(), DISKSPD_FOR_LINUX, "")
        self.assertEqual(figures, tools.Figures(193880.5, 757.35, 166.0, 62.0, 4160.0))
        with self.assertRaises(tools.Unreadable):
            tools.read_diskspd_for_linux(self.job(), "nothing", "")

    def test_ticks(self) -> None:
        out = "cs: reliable_tsc: yes\ntime  1 cycles[0]=2596000\ntime  1 cycles[1]=2596126\ntime  1 cycles[2]=2600000\n"
        self.assertEqual(tools.ticks_per_second(out), 2_596_126_000)
        self.assertIsNone(tools.ticks_per_second("cs: reliable_tsc: no"))


class Rows(unittest.TestCase):
    def lines(self, case: Case) -> dict[str, list[str]]:
        job = tools.Job(case, [f"/x/f{n}" for n in range(case.files)], 5, 1, 1 << 30, Path("/x"))
        return {row.name: row.command(job) for row in tools.rows(ALL) if row.fits(case)}

    def test_every_case_has_truespd_and_a_peer(self) -> None:
        for case in CASES:
            lines = self.lines(case)
            self.assertIn(tools.REFERENCE, lines)
            self.assertTrue([name for name in lines if "TrueSpd" not in name], case.name)
            for name, line in lines.items():
                self.assertTrue(all(isinstance(word, str) for word in line), name)
                for number in range(case.files):
                    self.assertTrue(any(word.endswith(f"/x/f{number}") for word in line) or case.null_engine, name)

    def test_no_peer_writes_in_a_case_of_reads(self) -> None:
        for case in CASES:
            for name, line in self.lines(case).items():
                writes = any(word in ("-w100", "--rw=randwrite", "--rw=write") for word in line)
                writes |= any(word.startswith("-c") and name.endswith("TrueSpd -L") for word in line)
                self.assertEqual(writes, case.write, f"{case.name}: {name}")

    def test_peers_never_make_files(self) -> None:
        for case in CASES:
            for name, line in self.lines(case).items():
                if name.startswith("fio") and not case.fill:
                    self.assertIn("--allow_file_create=0", line, case.name)

    def test_absent_programs_have_no_rows(self) -> None:
        names = [row.name for row in tools.rows(tools.Programs("diskspd"))]
        self.assertEqual(names, [tools.REFERENCE, tools.BY_ONE, tools.BY_FOUR, tools.BATCHED, tools.BARE])

    def test_batches_are_no_larger_than_the_depth(self) -> None:
        line = self.lines(BY_NAME["direct-1m-seq-read-d8"])
        self.assertIn("-s8", line["t/io_uring"])
        self.assertIn("--iodepth_batch_submit=8", line["fio io_uring tuned, batched"])
        self.assertIn("-s32", self.lines(BY_NAME["cached-4k-rand-read-d128"])["t/io_uring"])


def ran(tool: str, number: int, iops: float, cpu: float = 1.0, case: str = "cached-4k-rand-read-d32", **more) -> Run:
    cost = Cost(cpu_per_wall=cpu, switches_per_s=10.0, resident_bytes=more.pop("resident", 3 << 20), beyond_s=0.02)
    return Run(case, tool, number, [tool], tools.Figures(iops, iops / 256, **more), cost)


class Statistics(unittest.TestCase):
    def setUp(self) -> None:
        self.results = table.Results(CASES)
        self.case = "cached-4k-rand-read-d32"

    def test_medians_and_spread(self) -> None:
        self.results.runs = [ran("TrueSpd -L", n, iops) for n, iops in enumerate([90, 110, 100])]
        found = self.results.spread(self.case, "TrueSpd -L", "IOPS")
        self.assertEqual((found.middle, found.low, found.high, found.percent), (100, 90, 110, 10))

    def test_ratios_are_of_pairs_within_rounds(self) -> None:
        for n, (ours, theirs) in enumerate([(100, 50), (200, 50), (60, 60)]):
            self.results.runs += [ran("TrueSpd -L", n, ours), ran("fio io_uring", n, theirs)]
        self.results.runs.append(ran("TrueSpd -L", 3, 1e9))  # nothing to compare it with
        ratio = self.results.ratio(self.case, "fio io_uring", "IOPS")
        self.assertAlmostEqual(ratio.middle, 2)
        self.assertEqual(ratio.count, 3)
        self.assertTrue(ratio.low < 1 and ratio.high > 4)
        self.assertIsNone(self.results.ratio(self.case, "fio io_uring", "mean µs"))
        self.assertIsNone(self.results.ratio(self.case, "t/io_uring", "IOPS"))

    def test_processor_time_per_io(self) -> None:
        self.results.runs = [ran("TrueSpd -L", 1, iops=1000, cpu=0.5)]
        self.assertEqual(self.results.spread(self.case, "TrueSpd -L", "CPU µs per I/O").middle, 500)
        self.assertEqual(self.results.spread(self.case, "TrueSpd -L", "switches per 1000 I/Os").middle, 10)

    def test_memory_per_thread_is_without_buffers(self) -> None:
        case = "cached-64-threads-16-files"
        self.results.runs = [ran("TrueSpd -L", 1, 1, case=case, resident=(8 << 20) + 64 * 1024 * 100)]
        self.assertEqual(self.results.spread(case, "TrueSpd -L", "KiB per thread").middle, 100)

    def test_rate(self) -> None:
        self.results.runs = [ran("TrueSpd -L", 1, 999.0, case="rate-1000")]
        self.assertAlmostEqual(self.results.spread("rate-1000", "TrueSpd -L", "rate off by %").middle, 0.1)

    def test_near_zero_the_extremes_say_more(self) -> None:
        self.results.runs = [ran("TrueSpd -L", n, iops, case="rate-1000") for n, iops in enumerate([1000, 1000, 1001])]
        self.assertIn("| 0 (0..0.1) |", table.case_table(self.results, BY_NAME["rate-1000"]))

    def test_table_and_targets(self) -> None:
        self.results.runs = [ran("TrueSpd -L", n, 1000) for n in (1, 2)]
        self.results.runs += [ran("t/io_uring", n, 900) for n in (1, 2)]
        self.results.runs += [ran("t/io_uring, batches of 4", n, 1250) for n in (1, 2)]
        self.results.left_out.append((self.case, "fio io_uring", "ended with 1"))
        text = table.case_table(self.results, BY_NAME[self.case])
        rows = [line for line in text.splitlines() if line.startswith("|")]
        self.assertEqual({line.count("|") for line in rows}, {rows[0].count("|")})
        self.assertNotIn("alike", text)
        self.assertIn("| t/io_uring | 900 ±0.0% | 1.111 [1.111, 1.111] ahead |", text)
        self.assertIn("| 1,111 ±0.0% | 0.900 [0.900, 0.900] ahead |", text)
        self.assertIn("Left out: fio io_uring: ended with 1", text)
        # The peer hardest to reach counts.
        text = targets.targets_table(self.results)
        self.assertIn("| IOPS at least 1 of t/io_uring | 0.8 [0.8, 0.8] | t/io_uring, batches of 4 | no |", text)
        self.assertNotIn("diskspd-for-linux", text)

    def test_batches_have_targets_of_their_own(self) -> None:
        self.results.runs = [ran("TrueSpd -L", 1, 1000), ran("TrueSpd -L -u", 1, 1500), ran("t/io_uring", 1, 1250)]
        text = targets.targets_table(self.results)
        self.assertIn("| IOPS at least 1 of t/io_uring | 0.8 | t/io_uring | no (one round) |", text)
        self.assertIn("| IOPS at least 1 of t/io_uring (TrueSpd -L -u) | 1.2 | t/io_uring | yes (one round) |", text)

    def test_only_ios_in_flight_can_be_batched(self) -> None:
        [batched] = [row for row in tools.rows(tools.Programs("diskspd")) if row.name == tools.BATCHED]
        fitting = {case.name for case in CASES if batched.fits(case)}
        self.assertIn("cached-4k-rand-read-d128", fitting)
        self.assertFalse({"cached-4k-rand-read-d1", "fill", "rate-1000", "null-4k-rand-d32"} & fitting)
        job = tools.Job(BY_NAME["cached-4k-rand-read-d128"], ["f"], 1, 0, 1 << 20, Path("."))
        self.assertIn("-u32", batched.command(job))

    def test_alike_hands_over_as_many_at_a_time(self) -> None:
        case = BY_NAME["direct-4k-rand-read-d32"]
        rows = {row.name: row for row in tools.rows(ALL) if row.fits(case)}
        job = tools.Job(case, ["f"], 1, 0, 1 << 20, Path("."))
        for peer, words, own_words in (
            ("t/io_uring, batches of 1", {"-s1", "-c1"}, {"-u1"}),
            ("t/io_uring, batches of 4", {"-s4", "-c4"}, {"-u4"}),
            ("t/io_uring", {"-s32", "-c32"}, {"-u32"}),
            ("fio io_uring tuned, batched", {"--iodepth_batch_submit=32"}, {"-u32"}),
        ):
            self.assertLessEqual(words, set(rows[peer].command(job)))
            own = rows[tools.ALIKE[peer]].command(job)
            self.assertEqual({word for word in own if word.startswith("-u")}, own_words)
            self.assertIn("-L", own)
        for name, runs in ((tools.BY_FOUR, 200), ("t/io_uring, batches of 4", 100)):
            self.results.runs += [ran(name, n, runs, case=case.name) for n in (1, 2)]
        self.assertIn(
            "\n| TrueSpd -L -u4 / t/io_uring, batches of 4 | 2.000 [2.000, 2.000] ahead | 0.500 [0.500, 0.500] ahead |",
            table.case_table(self.results, case),
        )

    def test_threads_are_measured_by_what_one_does(self) -> None:
        self.results.runs = [ran("TrueSpd -L", 1, 1000), ran("TrueSpd -L", 1, 1500, case="cached-2-threads-2-files")]
        text = targets.targets_table(self.results)
        self.assertIn("| cached-2-threads-2-files | IOPS at least", text)
        self.assertIn("| 1.5 |  | no (one round) |", text)

    def test_every_run_is_kept(self) -> None:
        self.results.runs = [ran("TrueSpd -L", 1, 1000.0, mean_us=3.5), ran("fio io_uring", 1, 900.0)]
        kept = json.loads(table.as_json(self.results, {"kernel": "x"}))
        self.assertEqual([(run["tool"], run["IOPS"], run["mean µs"]) for run in kept["runs"]][0], ("TrueSpd -L", 1000, 3.5))
        self.assertEqual(kept["machine"], {"kernel": "x"})
        head, first, second = table.as_csv(self.results).splitlines()
        self.assertEqual({line.count(",") for line in (head, first, second)}, {head.count(",")})

    def test_targets_are_judged_by_the_interval(self) -> None:
        at_least = targets.Target(self.case, "IOPS", 1.2, True)
        at_most = targets.Target(self.case, targets.CPU, 1.2, False)
        for low, high, words in ((1.21, 1.4, ("yes", "no")), (1.0, 1.19, ("no", "yes")), (1.1, 1.3, ("open", "open"))):
            value = Interval((low + high) / 2, low, high, 5)
            for target, word in zip((at_least, at_most), words):
                self.assertEqual(targets.is_met(target, value).split(":")[0], word)

        level = targets.Target(self.case, "IOPS", 1, True, peers=lambda tool: True, peers_words="any")
        self.assertEqual(targets.is_met(level, Interval(1, 0.99, 1.01, 5)), "level")

    def test_targets_name_cases_and_rows_that_exist(self) -> None:
        names = [row.name for row in tools.rows(ALL)]
        for target in targets.TARGETS:
            self.assertIn(target.case, BY_NAME)
            self.assertIn(target.figure, table.FIGURES)
            self.assertIn(target.of_case or target.case, BY_NAME)
            if target.peers:
                fits = [row.name for row in tools.rows(ALL) if row.fits(BY_NAME[target.case])]
                self.assertTrue([name for name in names if name in fits and target.peers(name)], target)


class Places(unittest.TestCase):
    def test_sizes(self) -> None:
        self.assertEqual([places.size_in_bytes(text) for text in ("4096", "64k", "2G")], [4096, 65536, 2 << 30])
        for text in ("", "0", "-1", "1.5G", "2 GiB"):
            with self.assertRaises(ValueError):
                places.size_in_bytes(text)

    def test_the_looks_are_inside_the_measured_time(self) -> None:
        for seconds in (1, 2, 5, 60):
            first, last = window(seconds, warmup=1)
            self.assertTrue(1 < first < last < 1 + seconds)


class Peers(unittest.TestCase):
    def test_what_was_made_is_used_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "t-io_uring-3.33").touch()
            path = peers.t_io_uring(Path(folder), self.fail)
        self.assertEqual(Path(path).name, "t-io_uring-3.33")
        self.assertEqual(peers.version_of_t_io_uring(path), "of fio-3.33")
        self.assertEqual(peers.version_of_t_io_uring("t/io_uring"), "of unknown version")

    def test_a_machine_without_tools_says_what_is_missing(self) -> None:
        path, os.environ["PATH"] = os.environ["PATH"], "/nowhere"
        try:
            with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(Failed, "apt-get and tar and make and gcc"):
                peers.t_io_uring(Path(folder) / "kept", self.fail)
        finally:
            os.environ["PATH"] = path


if __name__ == "__main__":
    unittest.main()
