"""Peers that this machine does not have yet: fio from Debian, and t/io_uring made of Debian's source of fio."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Optional

from .run import Failed

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def install_fio(say: Callable[[str], None]) -> str:
    apt = ["apt-get", "install", "-y", "--no-install-recommends", "fio"]
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Failed("fio is missing; install it, or leave it out with --tools")
    say("installing fio")
    # Package lists may be absent or old.
    quiet = {"stdout": sys.stderr, "stdin": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
    if subprocess.run(apt, **quiet, check=False).returncode != 0:
        subprocess.run(["apt-get", "update"], **quiet, check=False)
        if subprocess.run(apt, **quiet, check=False).returncode != 0:
            raise Failed("fio could not be installed")
    return "fio"


def t_io_uring(kept: Path, say: Callable[[str], None]) -> str:
    """t/io_uring, which distributions do not ship, of the fio that Debian has. It is made once and kept in the folder.

    Raises Failed when this machine cannot make it."""
    found = sorted(kept.glob("t-io_uring-*"))
    if found:
        return str(found[-1])
    missing = [tool for tool in ("apt-get", "tar", "make", "gcc") if not shutil.which(tool)]
    if missing:
        raise Failed(f"t/io_uring cannot be made: {' and '.join(missing)} missing; or give one with --t-io-uring")
    kept.mkdir(parents=True, exist_ok=True)
    say("making t/io_uring of Debian's source of fio")
    with tempfile.TemporaryDirectory(dir=kept, prefix="making.") as room:
        archive = _fetch_source(Path(room))
        version = re.search(r"fio_([^_]+)\.orig\.tar", archive.name)[1]
        source = Path(room) / "source"
        source.mkdir()
        _do(["tar", "-xf", str(archive), "-C", str(source), "--strip-components=1"], source)
        _do(["./configure"], source)
        _do(["make", f"-j{os.cpu_count() or 1}", "t/io_uring"], source)
        path = kept / f"t-io_uring-{version}"
        (source / "t/io_uring").replace(path)
    return str(path)


def version_of_t_io_uring(path: str) -> str:
    """It does not tell its version; the name of one that was made here does."""
    found = re.fullmatch(r"t-io_uring-(.+)", Path(path).name)
    return f"of fio-{found[1]}" if found else "of unknown version"


def _fetch_source(room: Path) -> Path:
    """The archive of fio's source, from where this machine takes Debian. apt gets lists and settings of its own, so that
    those of the machine stay as they are."""
    found = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(LABEL) $(COMPONENT) $(CODENAME) $(REPO_URI)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=False,
    )
    [mirror] = re.findall(r"^Debian main (\w+) (\S+)$", found.stdout, re.M)[:1] or [None]
    if mirror is None:
        raise Failed("this machine has no Debian package source to take fio's source from; give --t-io-uring PATH")
    codename, address = mirror
    signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
    (room / "sources.list").write_text(f"deb-src {signed}{address} {codename} main\n")
    (room / "lists/partial").mkdir(parents=True)
    (room / "cache/archives/partial").mkdir(parents=True)
    settings = [
        f"Dir::State::Lists={room}/lists",
        f"Dir::Etc::sourcelist={room}/sources.list",
        "Dir::Etc::sourceparts=/dev/null",
        f"Dir::Cache={room}/cache",
        "Dir::State::status=/dev/null",
        "APT::Sandbox::User=root",
    ]
    apt = ["apt-get", "-q", *(word for setting in settings for word in ("-o", setting))]
    _do([*apt, "update"], room)
    _do([*apt, "source", "--download-only", "fio"], room)
    [archive] = [path for path in room.glob("fio_*.orig.tar.*") if path.suffix != ".asc"]
    return archive


def _do(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise Failed(f"t/io_uring cannot be made: {Path(command[0]).name} ended with {done.returncode}", last)
