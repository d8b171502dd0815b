"""Builds the programs, and makes one package after the other of them."""

import email.utils
import gzip
import hashlib
import os
import shutil
import tarfile
from pathlib import Path

from . import image, mpi, notices, toolchain
from .place import CRATE, DIST, LIBRARIES, PACKAGE, ROOT, STAGE, VERSION, WORK, Processor, epoch, here, run, say

PROGRAMS = ("diskspd", "truespd")


def everything(processors: list[Processor]) -> None:
    """All packages of the processors, with what belongs to all of them."""
    toolchain.cargo_tools()
    DIST.mkdir(exist_ok=True)
    # The manual and the completions come from the programs themselves, and those must run here.
    documents(programs(here(), static=False))
    for processor in processors:
        variables = {**toolchain.environment(processor), "SOURCE_DATE_EPOCH": str(epoch())}
        stage(processor, programs(processor, static=False), static=False)
        deb(processor, variables)
        rpm(processor, variables)
        for library in LIBRARIES:
            objects(processor, library, variables)
        stage(processor, programs(processor, static=True), static=True)
        tarball(processor)
        image.make(processor)
    bill_of_materials()
    checksums()
    for file in sorted(DIST.iterdir()):
        say(f"dist/{file.name}: {file.stat().st_size / 1e6:.1f} MB")


def programs(processor: Processor, *, static: bool) -> Path:
    """Builds both programs; the folder that holds them.

    Static means glibc's static libraries in a position-independent program: it needs no file of the system, and loads none.
    """
    form = "static" if static else "dynamic"
    say(f"building for {processor.name}, {form}")
    target = WORK / form
    variables = flagged(processor, static=static)
    run("cargo", "build", "--profile", "dist", "--locked", "--bins", "--target", processor.target, "--target-dir", target, cwd=ROOT, env=variables)
    return target / processor.target / "dist"


def flagged(processor: Processor, *, static: bool) -> dict[str, str]:
    """The variables of a build whose programs hold no path of this machine."""
    variables = toolchain.environment(processor)
    home = os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo")
    flags = [f"--remap-path-prefix={ROOT}=/truespd", f"--remap-path-prefix={home}=/cargo"]
    if static:
        flags += ["-C", "target-feature=+crt-static"]
    variables["CARGO_ENCODED_RUSTFLAGS"] = "\x1f".join(flags)
    variables.pop("RUSTFLAGS", None)
    variables |= {"CARGO_PROFILE_RELEASE_DEBUG": "0", "CARGO_PROFILE_RELEASE_STRIP": "symbols"}
    return variables


def documents(built: Path) -> None:
    """Manual pages and completions, by the program itself."""
    for folder, subcommand in (("manual", "manual"), ("completions", "completions")):
        shutil.rmtree(WORK / folder, ignore_errors=True)
        run(built / "truespd", subcommand, "--folder", WORK / folder)


def stage(processor: Processor, built: Path, *, static: bool) -> None:
    """Everything that the packages of one processor hold, in one folder."""
    shutil.rmtree(STAGE, ignore_errors=True)
    (STAGE / "bin").mkdir(parents=True)
    for program in PROGRAMS:
        shutil.copy(built / program, STAGE / "bin" / program)
    # Scripts that came from Windows find the program by its name there.
    (STAGE / "bin/diskspd.exe").symlink_to("diskspd")
    man = STAGE / "share/man/man1"
    man.mkdir(parents=True)
    for page in sorted((WORK / "manual/man1").glob("*.1")):
        (man / f"{page.name}.gz").write_bytes(gzip.compress(page.read_bytes(), 9, mtime=0))
    shutil.copytree(WORK / "completions", STAGE / "share/completions")
    # README links to the pages as it does in the source.
    pages = STAGE / "share/doc/docs"
    pages.mkdir(parents=True)
    for page in sorted(ROOT.glob("docs/*.md")):
        shutil.copy(page, pages)
    for file in ("README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"):
        shutil.copy(ROOT / file, STAGE / "share/doc")
    shutil.copytree(ROOT / "contrib", STAGE / "share/doc/examples")
    (STAGE / "share/doc/THIRD-PARTY.txt").write_text(notices.text(processor, static=static))
    # For the .deb alone.
    (WORK / "changelog.Debian").write_text(debian_changelog())


def debian_changelog() -> str:
    date = email.utils.formatdate(epoch())
    maintainer = PACKAGE["metadata"]["deb"]["maintainer"]
    return f"truespd ({VERSION}-1) stable; urgency=low\n\n  * What changed is in CHANGELOG.md.\n\n -- {maintainer}  {date}\n"


def deb(processor: Processor, variables: dict[str, str]) -> None:
    say(f"dist/{processor.deb().name}")
    run("cargo", "deb", "-p", "truespd", "--quiet", "--no-build", "--no-strip", "--locked", "--target", processor.target, "--output", processor.deb(), cwd=ROOT, env=variables)


def rpm(processor: Processor, variables: dict[str, str]) -> None:
    say(f"dist/{processor.rpm().name}")
    run("cargo", "generate-rpm", "-p", CRATE.relative_to(ROOT), "--target", processor.target, "--auto-req", "disabled", "--output", processor.rpm(), cwd=ROOT, env=variables)


def objects(processor: Processor, library: str, variables: dict[str, str]) -> None:
    """What truespd loads for one MPI library, and its two packages."""
    say(f"building for {library} on {processor.name}")
    target = WORK / f"mpi-{library}"
    run("cargo", "build", "--profile", "dist", "--locked", "-p", "truespd-mpi", "--target", processor.target, "--target-dir", target, cwd=ROOT,
        env={**flagged(processor, static=False), **mpi.variables(processor, library)})  # fmt: skip
    folder = WORK / "mpi"
    (folder / "rpm").mkdir(parents=True, exist_ok=True)
    file = folder / f"libtruespd-mpi-{library}.so"
    shutil.copy(target / processor.target / "dist/libtruespd_mpi.so", file)
    # Debian calls the library of MPICH by another name than MPICH itself, Fedora and Intel MPI do.
    shutil.copy(file, folder / "rpm")
    run("patchelf", "--replace-needed", "libmpich.so.12", "libmpi.so.12", folder / "rpm" / file.name)
    run("cargo", "deb", "-p", "truespd-mpi", "--variant", library, "--quiet", "--no-build", "--no-strip", "--locked", "--target", processor.target,
        "--output", processor.mpi_deb(library), cwd=ROOT, env=variables)  # fmt: skip
    run("cargo", "generate-rpm", "-p", "crates/mpi", "--variant", library, "--target", processor.target, "--auto-req", "disabled",
        "--output", processor.mpi_rpm(library), cwd=ROOT, env=variables)  # fmt: skip


def tarball(processor: Processor) -> None:
    """The programs and their papers in one folder; the same bytes for the same files."""
    say(f"dist/{processor.tarball().name}")
    top = processor.tarball().name.removesuffix(".tar.gz")

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = epoch()
        entry.mode = 0o755 if entry.isdir() or "/bin/" in entry.name else 0o644
        return entry

    with processor.tarball().open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=epoch()) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
            tar.add(STAGE, top, filter=plain)


def bill_of_materials() -> None:
    """What the programs are made of, for those who must know: every crate with version, licence and checksum."""
    name = f"truespd-{VERSION}.cdx"
    run("cargo", "cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5", "--no-build-deps", "--target", "x86_64-unknown-linux-gnu",
        "--manifest-path", CRATE / "Cargo.toml", "--override-filename", name, cwd=ROOT, env={**toolchain.environment(here()), "SOURCE_DATE_EPOCH": str(epoch())})  # fmt: skip
    made = CRATE / f"{name}.json"
    # It names our crates by the folders that they were built in.
    (DIST / made.name).write_text(made.read_text().replace(f"path+file://{ROOT}/", "path+file:///truespd/"))
    # It writes one for each crate of the workspace.
    for file in ROOT.glob(f"crates/*/{made.name}"):
        file.unlink()


def checksums() -> None:
    sums = DIST / "sha256sums.txt"
    files = sorted(file for file in DIST.iterdir() if file != sums)
    sums.write_text("".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files))
