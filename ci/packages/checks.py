"""Installs each package in a clean root, makes README's first run there, and tells size and seconds.

Everything happens in a mount namespace and in folders made for it. Nothing is installed on this machine.
"""

import dataclasses
import errno
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from . import mpi, toolchain
from .build import PROGRAMS
from .place import DIST, LIBRARIES, ROOT, VERSION, WORK, Missing, Processor, here, run, say, told

DEBIAN = "bookworm"
# README's line of the first run; it makes its file.
FIRST_RUN = ["diskspd", *"-c1G -b4K -r -o32 -w30 -Sh -L -D -d10 testfile.dat".split()]
# A small one, for the first number.
SMALL_RUN = ["diskspd", *"-c16M -b4K -r -o4 -w30 -Sh -L -D -d2 -W0 testfile.dat".split()]
# The same under an emulator, through the page cache: the emulator's statx says of every file that direct I/O is refused, because it
# knows the answer's mask and not its newer members (STATX_DIOALIGN).
EMULATED_RUN = ["diskspd", *"-c16M -b4K -r -o4 -w30 -Sb -L -D -d2 -W0 testfile.dat".split()]
# What forbids io_uring in containers, as the default profiles of Docker 25 and later do.
IO_URING = ["io_uring_setup", "io_uring_enter", "io_uring_register"]
# System calls that Linux got after 4.4, of January 2016: the oldest kernel that the tarball is for.
AFTER_4_4 = [
    "copy_file_range", "preadv2", "pwritev2", "pkey_mprotect", "pkey_alloc", "pkey_free", "statx", "io_pgetevents", "rseq",
    "pidfd_send_signal", *IO_URING, "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "pidfd_open", "clone3",
    "close_range", "openat2", "pidfd_getfd", "faccessat2", "process_madvise", "epoll_pwait2", "mount_setattr", "landlock_create_ruleset",
    "landlock_add_rule", "landlock_restrict_self", "memfd_secret", "process_mrelease", "futex_waitv", "set_mempolicy_home_node",
]  # fmt: skip
# What .deb and .rpm put below /usr/share.
EVERYWHERE = [
    "man/man1/diskspd.1.gz", "bash-completion/completions/diskspd", "doc/truespd/README.md", "doc/truespd/docs/quick-start.md",
    "doc/truespd/examples/kubernetes/measure-volume.yaml",
]  # fmt: skip

# Unit tests that the emulator cannot pass, and why.
NOT_EMULATED = {
    "plan::allowance::tests::every_engine_has_its_depth": "it has no io_uring, and the next engine takes fewer I/Os",
    "sys::linux::buffer::tests::small_pages_stay_small": "its /proc/self/smaps lacks the flag of large pages",
    "sys::linux::events::tests::a_killed_process_leaves_nothing_that_counts": "the kernel cannot start the test's own program again",
    "sys::linux::events::tests::two_processes_meet": "the kernel cannot start the test's own program again",
}


@dataclasses.dataclass
class Outcome:
    """What a check tells when it passed."""

    words: str


def everything(processors: list[Processor]) -> int:
    """Runs all checks; prints what each told, and how many passed and failed."""
    if os.geteuid() != 0:
        raise Missing("the checks need root: they make clean roots with debootstrap, chroot and mount namespaces")
    passed, failed = 0, 0
    for name, check in checks(processors):
        began = time.monotonic()
        try:
            outcome = check()
        except (AssertionError, Missing, subprocess.CalledProcessError, OSError) as error:
            failed += 1
            told_by = getattr(error, "stderr", None) or getattr(error, "stdout", None) or ""
            say(f"FAILED {name}: {error}\n{told_by}")
        else:
            passed += 1
            say(f"passed {name} ({time.monotonic() - began:.0f} s): {outcome.words}")
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed else 0


def checks(processors: list[Processor]) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    yield "checksums", sums
    yield "bill of materials", materials
    for each in processors:
        named = (
            ("lintian", lintian), ("symbols", symbols), ("deb", deb if each.is_this else emulated_deb), ("rpm", rpm),
            ("tarball", tarball), ("image", image), ("objects", objects), ("ranks", ranks if each.is_this else emulated_ranks),
        )  # fmt: skip
        for name, check in named:
            yield f"{name} {each.name}", lambda check=check, each=each: check(each)
    if any(each.is_this for each in processors):
        yield "image without io_uring, not as root", rootless_image
        yield "image without system calls newer than Linux 4.4", old_kernel
        yield "image of contrib/cluster", cluster_image
    yield "crates", crates


def sums() -> Outcome:
    run("sha256sum", "--check", "--quiet", "sha256sums.txt", cwd=DIST)
    return Outcome("all sums are right")


def materials() -> Outcome:
    (file,) = DIST.glob("*.cdx.json")
    bill = json.loads(file.read_text())
    parts = bill["components"]
    assert bill["bomFormat"] == "CycloneDX" and len(parts) > 50, f"{len(parts)} components"
    assert all(part.get("version") and part.get("purl") for part in parts), "a component has no version or no purl"
    assert str(ROOT) not in file.read_text(), "it holds a path of this machine"
    return Outcome(f"{len(parts)} crates")


def lintian(processor: Processor) -> Outcome:
    done = subprocess.run(
        ["lintian", "--allow-root", "--tag-display-limit", "0", processor.deb()], stdout=subprocess.PIPE, text=True
    )
    errors = [line for line in done.stdout.splitlines() if line.startswith("E:")]
    assert not errors, "\n".join(errors)
    return Outcome(f"no errors, {len(done.stdout.splitlines())} warnings")


def symbols(processor: Processor) -> Outcome:
    """The newest symbol of glibc that the dynamic programs need is not newer than the packages say."""
    newest = newest_glibc([WORK / "dynamic" / processor.target / "dist" / name for name in PROGRAMS])
    assert newest <= (2, 34), f"the programs need glibc {newest[0]}.{newest[1]}, the packages say 2.34"
    return Outcome(f"glibc {newest[0]}.{newest[1]} is enough")


def newest_glibc(files: list[Path]) -> tuple[int, int]:
    """The newest version of glibc whose symbols the files need."""
    newest = (0, 0)
    for file in files:
        table = told("readelf", "--wide", "--dyn-syms", file)
        newest = max([newest, *((int(a), int(b)) for a, b in re.findall(r"@GLIBC_(\d+)\.(\d+)", table))])
    return newest


def size(file: Path) -> str:
    return f"{file.stat().st_size / 1e6:.1f} MB"


@contextmanager
def folder() -> Iterator[Path]:
    """A folder on a disk, for roots and test files: /tmp may be memory."""
    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="root-", dir=WORK) as name:
        os.chmod(name, 0o755)
        yield Path(name)


def debian_root(into: Path) -> None:
    """A minimal Debian, made once by debootstrap and then unpacked."""
    cached = WORK / f"{DEBIAN}.tar"
    if not cached.exists():
        if not shutil.which("debootstrap"):
            raise Missing("debootstrap is missing: run ci/setup package")
        say(f"making a minimal {DEBIAN}")
        fresh = Path(tempfile.mkdtemp(prefix="debootstrap-", dir=WORK))
        mirror = told("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian", "Component: main").splitlines()[0]
        run("debootstrap", "--variant=minbase", DEBIAN, fresh, mirror, stdout=subprocess.DEVNULL)
        run("tar", "-C", fresh, "--one-file-system", "-cf", cached.with_suffix(".new"), ".")
        cached.with_suffix(".new").rename(cached)
        shutil.rmtree(fresh)
    run("tar", "-C", into, "-xf", cached)


def inside(root: Path, words: list[str], *, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    """Runs a program in a root, with the kernel's file systems and four devices, in a mount namespace that ends with it."""
    script = """
        set -e
        mkdir -p "$0/proc" "$0/sys" "$0/dev" "$0/data"
        mount -t proc proc "$0/proc"
        mount -t sysfs -o ro sysfs "$0/sys"
        mount -t tmpfs -o mode=755 tmpfs "$0/dev"
        mkdir -m 1777 "$0/dev/shm"
        for device in null zero random urandom; do touch "$0/dev/$device"; mount --bind "/dev/$device" "$0/dev/$device"; done
        exec chroot "$0" "$@"
    """
    variables = {"PATH": "/usr/bin:/usr/sbin:/bin:/sbin", "HOME": "/data", **(environment or {})}
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(root), *words]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)


def looks_right(done: subprocess.CompletedProcess) -> str:
    """The total of a result, and its verdict; fails where there is none."""
    total = re.search(r"^total:\s+(\d+) \|\s+(\d+) \|\s+[\d.]+ \|\s+([\d.]+)", done.stdout, re.MULTILINE)
    verdict = re.search(r"^verdict: (\w+)", done.stderr, re.MULTILINE)
    assert total and int(total[2]) > 0 and verdict, f"no result:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return f"{total[3]} IOPS, {verdict[1]}"


def first_run(root: Path, words: list[str]) -> tuple[str, float]:
    """README's first run in a root, and its seconds."""
    began = time.monotonic()
    done = inside(root, ["sh", "-c", 'cd /data && exec "$@"', "sh", *words])
    return looks_right(done), time.monotonic() - began


def has_link(bin: Path) -> None:
    link = bin / "diskspd.exe"
    assert link.is_symlink() and link.readlink() == Path("diskspd"), f"{link} does not lead to diskspd"


def holds(share: Path, files: list[str]) -> None:
    for file in files:
        assert (share / file).exists(), f"{share / file} is not there"


def deb(processor: Processor) -> Outcome:
    with folder() as root:
        debian_root(root)
        shutil.copy(processor.deb(), root / "truespd.deb")
        began = time.monotonic()
        inside(root, ["dpkg", "-i", "/truespd.deb"])
        installing = time.monotonic() - began
        small, quick = first_run(root, SMALL_RUN)
        result, seconds = first_run(root, FIRST_RUN)
        # A minimal Debian keeps no manual; its dpkg drops the pages.
        holds(root / "usr/share", [file for file in EVERYWHERE if not file.startswith("man/")] + ["doc/truespd/copyright"])
        has_link(root / "usr/bin")
        inside(root, ["dpkg", "--purge", "truespd"])
        assert not (root / "usr/bin/diskspd").exists(), "dpkg --purge left the program"
    return Outcome(
        f"{size(processor.deb())}, installed in {installing:.1f} s, a run of 2 s shows its result after {quick:.1f} s more ({small}), README's "
        f"first run after {seconds:.1f} s ({result})"
    )


def rpm(processor: Processor) -> Outcome:
    """rpm unpacks it in a minimal Debian: no package source of an RPM system can be had here, so nothing resolves what it needs."""
    needs = told("rpm", "-qp", "--requires", processor.rpm()).splitlines()
    assert any(need.startswith("glibc") for need in needs), f"it does not need glibc: {needs}"
    with folder() as root:
        if processor.is_this:
            debian_root(root)
        began = time.monotonic()
        options = [] if processor.is_this else ["--ignorearch"]
        run("rpm", "--root", root, "--install", "--nodeps", *options, processor.rpm())
        installing = time.monotonic() - began
        holds(root / "usr/share", EVERYWHERE)
        has_link(root / "usr/bin")
        if processor.is_this:
            result, seconds = first_run(root, FIRST_RUN)
        else:
            result, seconds = emulated(processor, root / "usr/bin")
    return Outcome(f"{size(processor.rpm())}, installed in {installing:.1f} s, a run shows its result after {seconds:.1f} s ({result})")


def tarball(processor: Processor) -> Outcome:
    """In an empty root: no C library, no shell, nothing."""
    with folder() as root:
        began = time.monotonic()
        run("tar", "-C", root, "-xzf", processor.tarball())
        unpacking = time.monotonic() - began
        (top,) = root.glob("truespd-*")
        has_link(top / "bin")
        for program in PROGRAMS:
            assert "INTERP" not in told("readelf", "--wide", "--program-headers", top / "bin" / program), f"{program} is not static"
        began = time.monotonic()
        if processor.is_this:
            words = [f"/{top.name}/bin/diskspd", *FIRST_RUN[1:-1], "/data/testfile.dat"]
            result = looks_right(inside(root, words))
        else:
            result, _ = emulated(processor, top / "bin", library=False)
        seconds = time.monotonic() - began
    return Outcome(f"{size(processor.tarball())}, unpacked in {unpacking:.1f} s, a run shows its result after {seconds:.1f} s ({result})")


def emulated_deb(processor: Processor) -> Outcome:
    """Its programs run under an emulator, with the C library of the cross compiler."""
    with folder() as root:
        run("dpkg-deb", "--extract", processor.deb(), root)
        result, seconds = emulated(processor, root / "usr/bin")
    return Outcome(f"{size(processor.deb())}, under {processor.emulator} a run shows its result after {seconds:.1f} s ({result})")


def emulated(processor: Processor, programs: Path, *, library: bool = True) -> tuple[str, float]:
    """A small run of a program of the other processor, and its seconds."""
    if not shutil.which(processor.emulator):
        raise Missing(f"{processor.emulator} is missing: run ci/setup package")
    with folder() as data:
        words = processor.emulated if library else [processor.emulator]
        began = time.monotonic()
        done = subprocess.run(
            [*words, programs / EMULATED_RUN[0], *EMULATED_RUN[1:]], cwd=data, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
        )
        return looks_right(done), time.monotonic() - began


# What the objects may need, besides the C library, of the packages for Debian and of the .rpm.
NEEDED = {"openmpi": ("libmpi.so.40",) * 2, "mpich": ("libmpich.so.12", "libmpi.so.12"), "abi": ("libmpi_abi.so.1",) * 2}
OF_SYSTEM = re.compile(r"libc\.so\.6|libgcc_s\.so\.1|ld-linux-.*")
# Its place in the roots below.
WHEEL = "/opt/mpich"


def objects(processor: Processor) -> Outcome:
    """The packages of what truespd loads: for this processor, and linked with the one MPI library that its package names."""
    told_of = []
    for library in LIBRARIES:
        for package, needed in zip((processor.mpi_deb(library), processor.mpi_rpm(library)), NEEDED[library], strict=True):
            with folder() as root:
                if package.suffix == ".deb":
                    run("dpkg-deb", "--extract", package, root)
                    holds(root / "usr/share/doc" / f"truespd-mpi-{library}", ["copyright"])
                else:
                    run("rpm", "--root", root, "--install", "--nodeps", "--ignorearch", package)
                holds(root / "usr/share/doc" / f"truespd-mpi-{library}", ["THIRD-PARTY.txt"])
                is_loadable(root / f"usr/lib/truespd/libtruespd-mpi-{library}.so", processor, needed)
        told_of.append(f"{library} needs {' or '.join(sorted(set(NEEDED[library])))} ({size(processor.mpi_deb(library))})")
    return Outcome(", ".join(told_of))


def is_loadable(file: Path, processor: Processor, library: str) -> None:
    facts = told("readelf", "--wide", "--file-header", "--dynamic", file)
    machine = re.search(r"Machine:\s+(.*)", facts)
    assert machine and machine[1].lower().replace("-", "_").endswith(processor.name), f"{file.name} is for {machine and machine[1]}"
    needed = [name for name in re.findall(r"NEEDED.*\[(.*)\]", facts) if not OF_SYSTEM.fullmatch(name)]
    assert needed == [library], f"{file.name} needs {needed}, not {library} alone"
    assert "RUNPATH" not in facts and "RPATH" not in facts, f"{file.name} looks for libraries in a folder of this machine"
    newest = newest_glibc([file])
    assert newest <= (2, 34), f"{file.name} needs glibc {newest[0]}.{newest[1]}, the packages say 2.34"
    assert str(ROOT).encode() not in file.read_bytes(), f"{file.name} holds a path of this machine"


def ranks(processor: Processor) -> Outcome:
    """Three ranks in a minimal Debian, by the mpiexec of an MPICH with the ABI of MPI 5; without that library it is named."""
    line = ["sh", "-c", 'cd /data && exec "$@"', "sh", f"{WHEEL}/bin/mpiexec", "-n", "3", "truespd", "cluster", "run",
            "--no-history", *"-c8M -b4K -r -o2 -Su -L -W0 -d1 f{rank}.dat".split()]  # fmt: skip
    with folder() as root:
        debian_root(root)
        for package in (processor.deb(), processor.mpi_deb("abi")):
            shutil.copy(package, root / package.name)
            inside(root, ["dpkg", "-i", f"/{package.name}"])
        shutil.copytree(mpi.wheel(processor), root / WHEEL.lstrip("/"))
        done = inside(root, line, environment={"LD_LIBRARY_PATH": f"{WHEEL}/lib"})
        assert "each of the 3 ranks left its own result" in done.stdout + done.stderr, f"{done.stdout}\n{done.stderr}"
        (iops,) = re.findall(r"I/O per s of 3 results: .*median ([\d.]+)", done.stdout)
        refused = refusal(root, line, {})
        assert "needs libmpi_abi.so.1, which is not found: install MPICH 5" in refused, refused
    return Outcome(f"three ranks by {mpi.WHEEL}, a median of {iops} IOPS")


def emulated_ranks(processor: Processor) -> Outcome:
    """The emulated program loads each object with its library, which finds itself alone: no launcher of MPI runs under the emulator."""
    emulator = shutil.which(processor.emulator)
    if not emulator:
        raise Missing(f"{processor.emulator} is missing: run ci/setup package")
    line = [f"/{processor.emulator}", "/usr/bin/truespd", "cluster", "run", *"--no-history -c1M -d1 /data/f{rank}.dat".split()]
    # What a launcher tells. The kernel cannot start another program of this processor: Open MPI is not to start its daemon for a
    # rank that is alone, and TRUESPD_RANK_OF says that this process is the rank itself and not its parent.
    of_mpich = {"MPI_LOCALNRANKS": "3", "PMI_SIZE": "3", "PMI_RANK": "0"}
    launched = {"openmpi": {"OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_RANK": "0", "OMPI_MCA_ess_singleton_isolated": "1"}}
    libraries = []
    with folder() as root:
        run("cp", "-a", f"{mpi.debian(processor)}/.", root)
        shutil.copy(emulator, root)
        shutil.copytree(mpi.wheel(processor), root / WHEEL.lstrip("/"))
        run("dpkg-deb", "--extract", processor.deb(), root)
        for library in LIBRARIES:
            # One at a time, so that no other is loaded in its place.
            shutil.rmtree(root / "usr/lib/truespd", ignore_errors=True)
            run("dpkg-deb", "--extract", processor.mpi_deb(library), root)
            environment = {**launched.get(library, of_mpich), "TRUESPD_RANK_OF": str(os.getpid()), "LD_LIBRARY_PATH": f"{WHEEL}/lib"}
            refused = refusal(root, line, environment)
            sees = re.search(r"its MPI library \((.*)\) sees 1", refused)
            assert sees, f"{library}: {refused}"
            libraries.append(sees[1])
    return Outcome(f"under {processor.emulator} it loads {', '.join(libraries)}")


def refusal(root: Path, words: list[str], environment: dict[str, str]) -> str:
    """What a program says in a root when it refuses."""
    try:
        inside(root, words, environment=environment)
    except subprocess.CalledProcessError as error:
        return error.stderr
    raise AssertionError(f"{words} is not refused")


def unit_tests(processor: Processor) -> int:
    """The unit tests of the library, under the emulator where the processor is another one; cargo's exit code."""
    variables = {**toolchain.environment(processor), "CARGO_PROFILE_DEV_DEBUG": "0"}
    words = ["cargo", "test", "--locked", "--lib", "--target", processor.target, "--target-dir", WORK / "tests", "--"]
    if not processor.is_this:
        for name, why in NOT_EMULATED.items():
            say(f"left out: {name}: {why}")
            words += ["--skip", name]
    return subprocess.run(words, cwd=ROOT, env=variables).returncode


def unpacked_image(processor: Processor, into: Path) -> dict:
    """The files of an image's one layer; its configuration."""
    with folder() as layout:
        run("tar", "-C", layout, "-xf", processor.oci())
        blob = lambda digest: layout / "blobs" / digest.replace(":", "/")  # noqa: E731
        (entry,) = json.loads((layout / "index.json").read_text())["manifests"]
        manifest = json.loads(blob(entry["digest"]).read_text())
        configuration = json.loads(blob(manifest["config"]["digest"]).read_text())
        for layer in manifest["layers"]:
            run("tar", "-C", into, "-xzf" if layer["mediaType"].endswith("gzip") else "-xf", blob(layer["digest"]))
    return configuration


def image(processor: Processor) -> Outcome:
    with folder() as root:
        configuration = unpacked_image(processor, root)
        assert configuration["architecture"] == processor.image, configuration["architecture"]
        assert configuration["config"]["Cmd"] and configuration["config"]["WorkingDir"] == "/data", configuration["config"]
        assert not (root / "bin/sh").exists(), "an image from scratch has no shell"
        began = time.monotonic()
        if processor.is_this:
            words = ["/usr/bin/diskspd", *FIRST_RUN[1:-1], "/data/testfile.dat"]
            result = looks_right(inside(root, words))
        else:
            result, _ = emulated(processor, root / "usr/bin", library=False)
        seconds = time.monotonic() - began
    return Outcome(f"{size(processor.oci())}, a run shows its result after {seconds:.1f} s ({result})")


def rootless_image() -> Outcome:
    """As a user in a container where io_uring is forbidden: the program says so, and takes the next engine."""
    done = contained(["diskspd", "-v", *SMALL_RUN[1:]], forbids(IO_URING, errno.EPERM))
    step = re.search(r"^.*io_uring.*$", done.stderr, re.MULTILINE)
    assert step, f"nothing says that io_uring is forbidden:\n{done.stderr}"
    return Outcome(f"{looks_right(done)}; it says: {step[0].strip()}")


def old_kernel() -> Outcome:
    """The static programs where each system call newer than Linux 4.4 is unknown: the run is whole, and the file it makes is marked."""
    done = contained(["diskspd", "-v", *SMALL_RUN[1:]], forbids(AFTER_4_4, errno.ENOSYS))
    engine = re.search(r"^note: engine: (.*)$", done.stderr, re.MULTILINE)
    assert engine, f"nothing names the engine:\n{done.stderr}"
    assert "cannot be marked" not in done.stderr, done.stderr
    return Outcome(f"{looks_right(done)}, with {engine[1]}")


def forbids(calls: list[str], number: int) -> dict:
    """A filter of system calls that answers these with this errno."""
    return {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": calls, "action": "SCMP_ACT_ERRNO", "errnoRet": number}]}


def contained(words: list[str], seccomp: dict) -> subprocess.CompletedProcess:
    """What the image's program says in a container of a user, where a filter of system calls is in force."""
    runc = shutil.which("runc")
    if not runc:
        raise Missing("runc is missing: run ci/setup package")
    with folder() as bundle:
        root = bundle / "rootfs"
        root.mkdir()
        configuration = unpacked_image(here(), root)
        (bundle / "config.json").write_text(json.dumps(container(configuration, words, seccomp)))
        nobody = 65534
        for path in [bundle, *bundle.rglob("*")]:
            os.chown(path, nobody, nobody, follow_symlinks=False)
        os.chmod(bundle, 0o700)
        with way_for(nobody, bundle):
            command = ["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups", runc, "--rootless=true", f"--root={bundle}/state",
                       "run", f"--bundle={bundle}", f"truespd-{os.getpid()}"]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                  env={"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(bundle)})  # fmt: skip
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@contextmanager
def way_for(user: int, place: Path) -> Iterator[None]:
    """Skips with a reason where a user may not pass one of the folders above the bundle."""
    barred = [folder for folder in place.parents if not folder.stat().st_mode & 0o001 and folder.stat().st_uid != user]
    if barred:
        raise Missing(f"user {user} may not enter {barred[-1]}: the checkout must be where everybody may look")
    yield


def container(configuration: dict, words: list[str], seccomp: dict) -> dict:
    """What the runtime is told: the image's environment, a user's identity, a filter of system calls."""
    namespaces = [{"type": kind} for kind in ("user", "mount", "pid", "ipc", "uts", "network")]
    one = [{"containerID": 0, "hostID": 65534, "size": 1}]
    mounts = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
        {"destination": "/sys", "type": "bind", "source": "/sys", "options": ["rbind", "nosuid", "noexec", "nodev", "ro"]},
    ]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": 0, "gid": 0}, "args": words, "env": configuration["config"]["Env"],
            "cwd": configuration["config"]["WorkingDir"], "noNewPrivileges": True,
        },
        "root": {"path": "rootfs"}, "hostname": "truespd", "mounts": mounts,
        "linux": {"namespaces": namespaces, "uidMappings": one, "gidMappings": one, "seccomp": seccomp},
    }  # fmt: skip


# In a container of that image: two ranks by its MPI, and its sshd, which the MPI operator starts, without root.
IN_CLUSTER_IMAGE = """
set -e
cd ~
mpirun --oversubscribe -np 2 truespd cluster run --no-history --json sum.json -c8M -b4K -r -o2 -L -d1 'f{rank}.dat' > /dev/null
mkdir -m 700 .ssh
ssh-keygen -q -t rsa -N '' -f .ssh/id_rsa
cp .ssh/id_rsa.pub .ssh/authorized_keys
/usr/sbin/sshd -f .sshd_config
ssh localhost id -un
kill "$(cat sshd.pid)"
cat sum.json
"""


def cluster_image() -> Outcome:
    """Built from Debian by buildah as its first lines say, with the packages in dist/, and used."""
    with folder() as place:
        storage = ["--root", f"{place}/storage", "--runroot", f"{place}/run", "--storage-driver", "vfs"]
        variables = {**os.environ, "BUILDAH_ISOLATION": "chroot"}
        root = place / "debian"
        root.mkdir()
        debian_root(root)
        base = told("buildah", *storage, "from", "scratch", env=variables)
        run("buildah", *storage, "copy", "--quiet", base, root, "/", env=variables, stdout=subprocess.DEVNULL)
        run("buildah", *storage, "commit", "--quiet", "--rm", base, "localhost/debian", env=variables, stdout=subprocess.DEVNULL)
        words = ["--network", "host", "--build-arg", "BASE=localhost/debian", "-t", "truespd-cluster", "-f", ROOT / "contrib/cluster/Containerfile"]
        run("buildah", *storage, "build", "--quiet", *words, DIST, env=variables, stdout=subprocess.DEVNULL)
        container = told("buildah", *storage, "from", "localhost/truespd-cluster", env=variables)
        said = told("buildah", *storage, "run", container, "--", "bash", "-c", IN_CLUSTER_IMAGE, env=variables)
        who, _, document = said.partition("\n")
        assert who == "mpiuser", f"ssh reaches '{who}'"
        sources = json.loads(document)["result"]["sources"]
        assert len(sources) == 2, f"a sum of {len(sources)} results"
        size = told("buildah", *storage, "images", "--format", "{{.Size}}", "localhost/truespd-cluster", env=variables)
        return Outcome(f"{size}; two ranks, one sum; sshd as mpiuser")


def crates() -> Outcome:
    """cargo packs the crates, and what it packed compiles. `cargo publish --dry-run` would build the bus of a cluster, too, and that needs MPI."""
    target = WORK / "publish"
    shutil.rmtree(target / "package", ignore_errors=True)
    variables = {**toolchain.environment(here()), "CARGO_TARGET_DIR": str(target)}

    def cargo(*words: str, cwd: Path) -> str:
        return subprocess.run(["cargo", *words], cwd=cwd, env=variables, capture_output=True, text=True, check=True).stderr

    packed = re.findall(r"Packaged .*", cargo("package", "--workspace", "--no-verify", "--locked", "--allow-dirty", cwd=ROOT))
    names = [archive.name.removesuffix(f"-{VERSION}.crate") for archive in sorted((target / "package").glob("*.crate"))]
    with folder() as place:
        for name in names:
            run("tar", "-C", place, "-xzf", target / "package" / f"{name}-{VERSION}.crate")
            holds(place / f"{name}-{VERSION}", ["LICENSE"])
        members = ", ".join(f'"{name}-{VERSION}"' for name in names)
        patches = "".join(f'{name} = {{ path = "{name}-{VERSION}" }}\n' for name in names)
        (place / "Cargo.toml").write_text(f'[workspace]\nresolver = "3"\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}')
        shutil.copy(ROOT / "Cargo.lock", place)
        cargo("check", "--locked", "-p", "truespd-front", "-p", "truespd", cwd=place)
    return Outcome(f"{', '.join(names)}: {'; '.join(packed)}; what was packed compiles")
