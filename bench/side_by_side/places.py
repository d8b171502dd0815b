"""Where cases run. Every file, mount and device here was made by this program and goes away when it ends, whatever
ends it; nothing else is ever opened for writing."""

import errno
import os
import re
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Callable

from .cases import MIB, Case
from .run import Failed, undisturbed

ZRAM_CONTROL = Path("/sys/class/zram-control")
ZRAM_BYTES_MAX = 256 * MIB
IN_MEMORY_BYTES_MAX = 1024 * MIB


class Unavailable(Exception):
    """This place cannot be had here; the words say why."""


class Places:
    """Makes places when first asked for and removes them all at the end (a context manager)."""

    def __init__(self, folder: Path, size_bytes: int, make_files: Callable[[list[str], int], None]):
        self.size_bytes = size_bytes
        self._make_files = make_files  # of paths and the size of each
        self._stack = ExitStack()
        self._made: dict[str, str] = {}  # tmpfs and zram: a folder, a device
        with undisturbed():
            self.scratch = Path(tempfile.mkdtemp(prefix="side-by-side.", dir=folder)).resolve()
            self._stack.callback(_remove_folder, self.scratch)

    def __enter__(self) -> "Places":
        return self

    def __exit__(self, *_: object) -> None:
        with undisturbed():
            self._stack.close()

    def run_folder(self) -> Path:
        """An empty folder for what one run leaves."""
        _remove_folder(self.scratch / "run")
        (self.scratch / "run").mkdir()
        return self.scratch / "run"

    def targets(self, case: Case) -> list[str]:
        """What the case runs on, made and filled; only a fill's file is not there yet."""
        if case.fill:
            path = self.scratch / "fill"
            path.unlink(missing_ok=True)
            return [str(path)]
        if case.place == "zram":
            return [self._once("zram", self._zram)]
        if case.place == "tmpfs":
            folder = self._once("tmpfs", self._tmpfs)
            size_bytes = min(self.size_bytes, IN_MEMORY_BYTES_MAX)
        else:
            folder, size_bytes = str(self.scratch), self.size_bytes
        each_bytes = max(MIB, size_bytes // case.files // MIB * MIB)
        names = [f"{folder}/data-{case.files}-{number}" for number in range(case.files)]
        if not os.path.exists(names[0]):
            self._make_files(names, each_bytes)
        if case.direct:
            _check_direct(names[0])
        elif size_bytes > _memory_bytes_available() * 0.8:
            raise Unavailable("the page cache has no room for the file; choose a smaller --size")
        return names

    def done_with(self, case: Case) -> None:
        """Removes files that few cases use, so that twice the size is room enough."""
        if case.fill or case.files > 1:
            for path in self.scratch.glob("fill" if case.fill else f"data-{case.files}-*"):
                path.unlink()

    def _once(self, name: str, make: Callable[[], str]) -> str:
        if name not in self._made:
            if os.geteuid() != 0:
                raise Unavailable(f"{name} needs root")
            self._made[name] = make()
        return self._made[name]

    def _tmpfs(self) -> str:
        folder = self.scratch / "tmpfs"
        size_bytes = min(self.size_bytes, IN_MEMORY_BYTES_MAX) + 16 * MIB
        folder.mkdir()
        with undisturbed():
            _tool("mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "side-by-side", str(folder))
            self._stack.callback(_unmount, folder)
        return str(folder)

    def _zram(self) -> str:
        if not (ZRAM_CONTROL / "hot_add").exists():
            raise Unavailable("the kernel has no zram devices that can be added")
        with undisturbed():
            # Reading makes a device that was not there and tells its number.
            number = int((ZRAM_CONTROL / "hot_add").read_text())
            self._stack.callback(_remove_zram, number)
        size_bytes = min(self.size_bytes, ZRAM_BYTES_MAX)
        (Path(f"/sys/block/zram{number}") / "disksize").write_text(str(size_bytes))
        path = f"/dev/zram{number}"
        # Random, so that every read copies a page and none is made of a hole.
        device = os.open(path, os.O_WRONLY | os.O_EXCL)
        try:
            for _ in range(size_bytes // MIB):
                os.write(device, os.urandom(MIB))
            os.fsync(device)
        finally:
            os.close(device)
        return path


def warm(targets: list[str]) -> None:
    """Brings all of them into the page cache."""
    for target in targets:
        with open(target, "rb", buffering=0) as file:
            while file.read(4 * MIB):
                pass


def offers_polling(target: str) -> bool:
    """Whether the device below a file answers polled I/O."""
    status = os.stat(target)
    device = status.st_rdev or status.st_dev
    block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    for queue in (block / "queue", block.parent / "queue"):
        try:
            return (queue / "io_poll").read_text().strip() == "1"
        except OSError:
            continue
    return False


def disk_below(path: str) -> str:
    """The model of the disk that a file or folder lies on, or its driver."""
    device = os.stat(path).st_dev
    block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    for disk in (block, block.parent):
        try:
            return (disk / "device/model").read_text().strip()
        except OSError:
            if (disk / "device/driver").exists():
                return (disk / "device/driver").resolve().name
    return "no disk of its own"


def size_in_bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMGT]?)", text.strip().upper())
    if not found or int(found[1]) == 0:
        raise ValueError(f"'{text}' is no size; write for example 512M or 2G")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[found[2]]


def _check_direct(path: str) -> None:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError as refused:
        if refused.errno == errno.EINVAL:
            raise Unavailable("this file system takes no direct I/O") from refused
        raise


def _memory_bytes_available() -> int:
    """With what the page cache holds now."""
    [line] = [line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:")]
    return int(line.split()[1]) * 1024


def _tool(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {done.stderr.strip()}")


def _patiently(what: Callable[[], None]) -> None:
    """A device or mount can be busy for a moment after its last use."""
    for _ in range(100):
        try:
            return what()
        except (OSError, Failed):
            time.sleep(0.05)
    return what()


def _unmount(folder: Path) -> None:
    _patiently(lambda: _tool("umount", str(folder)))


def _remove_zram(number: int) -> None:
    def remove() -> None:
        Path(f"/sys/block/zram{number}/reset").write_text("1")
        (ZRAM_CONTROL / "hot_remove").write_text(str(number))

    _patiently(remove)


def _remove_folder(folder: Path) -> None:
    """Files and folders of ours; a mount that could not be removed stays, and what is in it."""
    if not folder.exists():
        return
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            if not os.path.ismount(entry):
                _remove_folder(entry)
        else:
            entry.unlink()
    try:
        folder.rmdir()
    except OSError as refused:
        print(f"left behind: {folder} ({refused.strerror})")
