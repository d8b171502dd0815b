"""Where the packages are made, for which processors, and how programs are called."""

import dataclasses
import os
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DIST = ROOT / "dist"
# Not CARGO_TARGET_DIR: the paths of the assets in crates/truespd/Cargo.toml name it.
WORK = ROOT / "target/packaging"
# What the assets in Cargo.toml name: filled for one processor at a time.
STAGE = WORK / "stage"
TOOLS = ROOT / "target/tools"
# The crate whose manifest says what the packages hold.
CRATE = ROOT / "crates/truespd"
PACKAGE = tomllib.loads((CRATE / "Cargo.toml").read_text())["package"]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


# The MPI libraries that have an object.
LIBRARIES = ("openmpi", "mpich", "abi")


class Missing(Exception):
    """Something that this machine does not have; the text says what to do."""


@dataclasses.dataclass(frozen=True)
class Processor:
    """A kind of processor, by the names that others give it."""

    name: str
    debian: str
    image: str

    @property
    def target(self) -> str:
        """Rust's name of the system."""
        return f"{self.name}-unknown-linux-gnu"

    @property
    def is_this(self) -> bool:
        return os.uname().machine == self.name

    @property
    def emulator(self) -> str:
        return f"qemu-{self.name}-static"

    @property
    def emulated(self) -> list[str]:
        """What runs a dynamic program with the C library of the cross compiler. Not by qemu's -L: that moves `/` for the program, too."""
        libraries = f"/usr/{self.name}-linux-gnu/lib"
        return [self.emulator, f"{libraries}/ld-linux-{self.name}.so.1", "--library-path", libraries]

    def deb(self) -> Path:
        return DIST / f"truespd_{VERSION}-1_{self.debian}.deb"

    def rpm(self) -> Path:
        return DIST / f"truespd-{VERSION}-1.{self.name}.rpm"

    def mpi_deb(self, library: str) -> Path:
        return DIST / f"truespd-mpi-{library}_{VERSION}-1_{self.debian}.deb"

    def mpi_rpm(self, library: str) -> Path:
        return DIST / f"truespd-mpi-{library}-{VERSION}-1.{self.name}.rpm"

    def tarball(self) -> Path:
        return DIST / f"truespd-{VERSION}-{self.name}-linux.tar.gz"

    def oci(self) -> Path:
        return DIST / f"truespd-{VERSION}-{self.name}-oci.tar"


PROCESSORS = {
    "x86_64": Processor("x86_64", "amd64", "amd64"),
    "aarch64": Processor("aarch64", "arm64", "arm64"),
}


def here() -> Processor:
    """The processor of this machine."""
    for processor in PROCESSORS.values():
        if processor.is_this:
            return processor
    raise Missing(f"packages are made on x86_64 and aarch64, and this machine is {os.uname().machine}")


def say(words: str) -> None:
    print(f"ci/package: {words}", flush=True)


def run(*words: object, **options: object) -> None:
    """Runs a program; what it prints is seen, and a failure ends ci/package."""
    subprocess.run([str(word) for word in words], check=True, **options)  # type: ignore[call-overload]


def told(*words: object, **options: object) -> str:
    """What a program prints on standard output, without the last line's end."""
    done = subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]
    return done.stdout.rstrip("\n")


def epoch() -> int:
    """The time that all files get."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or told("git", "-C", ROOT, "log", "-1", "--format=%ct"))
