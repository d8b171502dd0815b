"""What is measured: one row per case. Every tool that can do a case does it with the same figures."""

from dataclasses import dataclass, replace
from typing import Optional

KIB = 1 << 10
MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    """One way of using one place. `about` is the line under the heading of its table."""

    name: str
    about: str
    block_bytes: int = 4 * KIB
    random: bool = True
    depth: int = 32  # of each thread
    direct: bool = False
    write: bool = False
    place: str = "file"  # a row of places.PLACES
    files: int = 1
    threads_per_file: int = 1
    null_engine: bool = False
    rate: Optional[int] = None  # I/Os per second asked for
    fill: bool = False  # a new file, written once from end to end
    one_core: bool = False  # every tool bound to the core of the round

    @property
    def can_be_bound(self) -> bool:
        """Whether it says more when all of a tool runs on one core: not of what is there to be shared by several, and not
        of what a clock or the disk decides."""
        return self.threads == 1 and self.rate is None and not self.fill

    @property
    def threads(self) -> int:
        return self.files * self.threads_per_file

    @property
    def buffers_bytes(self) -> int:
        """What the I/Os in flight need and no tool can save."""
        return self.threads * self.depth * self.block_bytes


def _cached() -> list[Case]:
    return [
        Case(f"cached-4k-rand-read-d{depth}", f"4 KiB random reads from the page cache, depth {depth}", depth=depth)
        for depth in (1, 32, 128)
    ]


def _direct() -> list[Case]:
    return [
        Case(
            f"direct-4k-rand-{way}-d{depth}",
            f"4 KiB random {way}s past the page cache, depth {depth}",
            depth=depth,
            direct=True,
            write=way == "write",
        )
        for way in ("read", "write")
        for depth in (1, 32)
    ]


def _zram() -> list[Case]:
    return [
        Case(
            f"zram-4k-rand-{way}-d{depth}",
            f"4 KiB random direct {way}s of a zram device{content}, depth {depth}",
            depth=depth,
            direct=True,
            write=way == "write",
            place="zram",
        )
        # Zeros, as any other content would measure the compression.
        for way, depth, content in (("read", 1, ""), ("read", 32, ""), ("write", 32, ", zeros"))
    ]


def _threads() -> list[Case]:
    return [
        Case(
            f"{name}-{threads_per_file * files}-threads-{files}-files",
            f"4 KiB random reads {how}, {threads_per_file * files} threads at depth 32 on {files} files",
            direct=name == "direct",
            files=files,
            threads_per_file=threads_per_file,
        )
        for name, how, files, threads_per_file in (
            ("cached", "from the page cache", 2, 1),
            ("cached", "from the page cache", 16, 4),
            ("direct", "past the page cache", 16, 4),
        )
    ]


ONE_CORE = "-one-core"
FREE: list[Case] = [
    *_cached(),
    *_direct(),
    Case(
        "direct-1m-seq-read-d8",
        "1 MiB sequential reads past the page cache, depth 8",
        block_bytes=MIB,
        random=False,
        depth=8,
        direct=True,
    ),
    Case(
        "fill",
        "a new file written once from end to end: -c of TrueSpd, 1 MiB sequential direct writes at depth 8 of fio",
        block_bytes=MIB,
        random=False,
        depth=8,
        direct=True,
        write=True,
        fill=True,
    ),
    *_zram(),
    Case("tmpfs-4k-rand-read-d32", "4 KiB random reads of a tmpfs file, depth 32", place="tmpfs"),
    Case(
        "tmpfs-direct-4k-rand-read-d32",
        "4 KiB random reads of a tmpfs file opened for direct I/O, depth 32",
        place="tmpfs",
        direct=True,
    ),
    *_threads(),
    *(
        Case(f"rate-{rate}", f"{rate:,} I/Os per second asked for, 4 KiB random reads from the page cache", rate=rate)
        for rate in (10, 100, 1_000, 10_000, 100_000, 200_000)
    ),
    Case(
        "null-4k-rand-d32",
        "4 KiB random, depth 32, an engine that does nothing: what the tool itself costs",
        null_engine=True,
    ),
]


def _bound(case: Case) -> Case:
    return replace(case, name=case.name + ONE_CORE, about=f"{case.about}; all tools on one core", one_core=True)


# Each case with its twin on one core beside it.
CASES: list[Case] = [
    twin for case in FREE for twin in ([case, _bound(case)] if case.can_be_bound else [case])
]
