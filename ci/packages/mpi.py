"""What the objects are built with: headers, library and compiler of each MPI library, for each processor.

For Open MPI and MPICH that is what Debian has: installed for this processor, unpacked in target/packaging/mpi-root-PROCESSOR for
another one. A library with the ABI of MPI 5 is in no Debian yet; it is that of the wheel `mpich`, which also has its mpiexec. The
wheel is under MPICH's own licence, a permissive one, with libfabric and UCX (BSD) within. No package holds a part of it: an object has
numbers of its header only, as of any other library's.
"""

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

from . import toolchain
from .place import ROOT, WORK, Missing, Processor, run, say, told

# MPICH 5.0.0 and 5.0.1 call their library libmpi_abi.so.0 by mistake.
WHEEL = "mpich==5.0.2"
HASHES = {
    "x86_64": "8fed465ebff269ea2ebac179a25de02671ddf8df476e0f115be089015015cfd4",
    "aarch64": "992ae6ebb0da97d49d7a67000ae8112da9a3825da1bb1e6f1d196428a0410f2d",
}
# Below the root of Debian's packages, with the processor's name: headers, and where the library is. And its name for the linker.
PLACES = {
    "openmpi": ("usr/lib/{}-linux-gnu/openmpi/include", "usr/lib/{}-linux-gnu/openmpi/lib", "mpi"),
    "mpich": ("usr/include/{}-linux-gnu/mpich", "usr/lib/{}-linux-gnu", "mpich"),
}


def variables(processor: Processor, library: str) -> dict[str, str]:
    """What tells the crate `mpi` how to build with a library."""
    if library == "abi":
        own = {"MPICC": str(ROOT / "crates/mpi/abi/mpicc"), "MPICC_ABI": str(wheel(processor) / "bin/mpicc_abi")}
        if not processor.is_this:
            # The wheel's compiler is a script that calls this one.
            own["MPICH_CC"] = str(compiler(processor, "abi", []))
        return own
    if processor.is_this:
        return {"MPICC": f"mpicc.{library}"}
    root = debian(processor)
    include, folder, name = (part.format(processor.name) for part in PLACES[library])
    return {"MPICC": str(compiler(processor, library, [f"-I{root / include}", f"-L{root / folder}", f"-l{name}"]))}


def compiler(processor: Processor, library: str, words: list[str]) -> Path:
    """A script that compiles with these words for another processor, and that shows them with -show, as mpicc does."""
    # libclang reads the headers of the C library, too, and does not know where those of the cross compiler are.
    words = [f"-I/usr/{processor.name}-linux-gnu/include", *words]
    script = WORK / f"mpicc-{library}-{processor.name}"
    quoted = " ".join(f"'{word}'" for word in words)
    gcc = f"{processor.name}-linux-gnu-gcc"
    script.write_text(
        f'#!/bin/sh\nif [ "$1" = -show ]; then\n    echo {gcc} {quoted}\nelse\n    exec {gcc} "$@" {quoted}\nfi\n'
    )
    script.chmod(0o755)
    return script


def wheel(processor: Processor) -> Path:
    """The wheel, unpacked and not installed: bin, include, lib."""
    place = WORK / f"mpi-abi-{processor.name}"
    if place.is_dir():
        return place
    say(f"fetching {WHEEL} for {processor.name} (13 MB)")
    fresh = place.with_suffix(f".{os.getpid()}")
    fresh.mkdir(parents=True)
    wanted = fresh / "wanted.txt"
    wanted.write_text(f"{WHEEL} --hash=sha256:{HASHES[processor.name]}\n")
    pip = ["pip3", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    system = ["--only-binary", ":all:", "--platform", f"manylinux_2_28_{processor.name}"]
    if subprocess.run([*pip, *system, "--dest", fresh, "--requirement", wanted]).returncode != 0:
        shutil.rmtree(fresh)
        raise Missing(f"pip cannot fetch {WHEEL}, which has a library with the ABI of MPI 5")
    (archive,) = fresh.glob("*.whl")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(fresh)
    (data,) = fresh.glob("*.data/data")
    # The archive knows who may run what, and zipfile does not set it.
    for program in (data / "bin").iterdir():
        program.chmod(0o755)
    try:
        data.rename(place)
    except OSError:  # another run was quicker
        pass
    shutil.rmtree(fresh)
    return place


def debian(processor: Processor) -> Path:
    """A root of another processor with Debian's MPI libraries, all that they need, and their headers."""
    place = WORK / f"mpi-root-{processor.name}"
    if place.is_dir():
        return place
    if not shutil.which("apt-get"):
        raise Missing(f"the MPI libraries of {processor.target} are fetched by apt-get, which this machine has not")
    say(f"fetching Debian's MPI libraries for {processor.name} (about 35 MB)")
    fresh = place.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    room = fresh / "apt"
    apt = toolchain.apt_room(room, [processor.debian])
    run(*apt, "update")
    run(*apt, "download", "libopenmpi-dev", "libmpich-dev", cwd=room)
    needs = "".join(told("dpkg-deb", "--field", package, "Depends") for package in room.glob("*-dev_*.deb"))
    libraries = sorted(set(re.findall(r"\b(?:libopenmpi|libmpich)\d+\w*", needs)))
    # Without a list of what is installed, that is everything, the C library too.
    run(*apt, "install", "--yes", "--download-only", "--no-install-recommends", *libraries, stdout=subprocess.DEVNULL)
    for package in sorted([*room.glob("*.deb"), *room.glob("cache/archives/*.deb")]):
        run("dpkg", "-x", package, fresh)
    shutil.rmtree(room)
    fresh.rename(place)
    return place
