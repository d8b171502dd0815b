"""What builds the packages: the cargo tools, and a Rust that knows the processor."""

import os
import shutil
import subprocess
from pathlib import Path

from .place import ROOT, TOOLS, WORK, Missing, Processor, run, say, told

CARGO_TOOLS = {"cargo-deb": "3.8.0", "cargo-generate-rpm": "0.21.1", "cargo-cyclonedx": "0.5.9"}
# Debian's newest Rust: the compiler with its libraries for this machine, and the standard library of the other processor.
DEBIAN_HERE = ["rustc-web", "libstd-rust-web-1", "libstd-rust-web-dev", "libllvm", "libz3-4"]
DEBIAN_THERE = ["libstd-rust-web-dev"]


def cargo_tools() -> None:
    """Builds the cargo tools that are missing, in target/tools: about ten minutes on two processors, once."""
    for name, version in CARGO_TOOLS.items():
        run(ROOT / "ci/cargo-tool", name, version, stdout=subprocess.DEVNULL)


def environment(processor: Processor) -> dict[str, str]:
    """The variables with which cargo builds for a processor."""
    variables = {**os.environ, "PATH": f"{TOOLS / 'bin'}:{os.environ['PATH']}"}
    variables.pop("CARGO_TARGET_DIR", None)
    if processor.is_this:
        return variables
    linker = f"{processor.name}-linux-gnu-gcc"
    if not shutil.which(linker):
        raise Missing(f"{linker} is missing: run ci/setup package")
    upper = processor.target.upper().replace("-", "_")
    variables[f"CARGO_TARGET_{upper}_LINKER"] = linker
    variables[f"CARGO_TARGET_{upper}_RUNNER"] = " ".join(processor.emulated)
    sysroot = Path(told("rustc", "--print", "sysroot", cwd=ROOT))
    if not (sysroot / "lib/rustlib" / processor.target / "lib").is_dir():
        variables["RUSTC"] = str(debian_rust(processor))
        variables["RUSTDOC"] = str(Path(variables["RUSTC"]).with_name("rustdoc"))
    return variables


def debian_rust(processor: Processor) -> Path:
    """Debian's Rust, unpacked and not installed, with the standard library of a processor; where its rustc is."""
    place = WORK / f"rust-{processor.name}"
    compiler = place / "run/rustc"
    if compiler.exists():
        return compiler
    if not shutil.which("apt-get"):
        raise Missing(f"rustc has no standard library for {processor.target}: rustup target add {processor.target}")
    say(f"fetching Debian's Rust for {processor.name} (about 150 MB)")
    fresh = place.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    room = fresh / "apt"
    here = told("dpkg", "--print-architecture")
    apt = apt_room(room, [here, processor.debian])
    cache = ["apt-cache", *apt[2:]]
    run(*apt, "update")
    wanted = [newest(cache, f"{name}", here) for name in DEBIAN_HERE] + [newest(cache, name, processor.debian) for name in DEBIAN_THERE]
    run(*apt, "download", *wanted, cwd=room)
    for package in sorted(room.glob("*.deb")):
        run("dpkg", "-x", package, fresh)
    shutil.rmtree(room)
    (fresh / "run").mkdir()
    shutil.rmtree(place, ignore_errors=True)
    libraries = place / "usr/lib" / f"{os.uname().machine}-linux-gnu"
    for program in ("rustc", "rustdoc"):
        script = fresh / "run" / program
        script.write_text(
            "#!/bin/sh\n"
            f"LD_LIBRARY_PATH='{libraries}'${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}} exec '{place}/usr/bin/{program}' \"$@\"\n"
        )
        script.chmod(0o755)
    fresh.rename(place)
    return compiler


def apt_room(room: Path, architectures: list[str]) -> list[str]:
    """The words of an apt-get that works in a room of its own: neither the package lists nor the architectures of this machine change."""
    for folder in ("lists/partial", "cache/archives/partial"):
        (room / folder).mkdir(parents=True)
    options = [f"APT::Architecture={architectures[0]}", *(f"APT::Architectures::={name}" for name in architectures)]
    options += [f"Dir::State::Lists={room}/lists", f"Dir::Cache={room}/cache", "Dir::State::status=/dev/null", "APT::Sandbox::User=root"]
    return ["apt-get", "-q", *(word for option in options for word in ("-o", option))]


def newest(cache: list[str], name: str, architecture: str) -> str:
    """A package by its exact name, or the one of the versioned names (`libllvm22`) that Debian's rustc needs."""
    if name in ("libstd-rust-web-1", "libllvm"):
        needs = subprocess.run([*cache, "depends", "--recurse", "--no-suggests", "--no-recommends", "rustc-web"], check=True, stdout=subprocess.PIPE, text=True).stdout
        words = {word.split(":")[0] for word in needs.split() if word.startswith(name)}
        names = sorted(word for word in words if word.removeprefix(name).strip(".-").replace(".", "").isdigit())
        if not names:
            raise Missing(f"Debian's rustc-web needs no {name}*: the list in ci/packages/toolchain.py is out of date")
        name = names[-1]
    return f"{name}:{architecture}"
