"""A small cluster on this machine: hosts with a network between them, sshd and Slurm.

Everything lives in namespaces of this process: a host is a set of namespaces with a name, an address and a disk folder of its own
(/mnt). The network between them is theirs alone. Files that the hosts need in /etc, /usr and /run are laid over this machine's
own ones, for the namespaces only. When this process ends, however it does, the kernel takes all of it away.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HOSTS = ["alder", "birch", "cedar"]
NEW_NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000  # mount, host name, IPC, PID, network
PR_SET_PDEATHSIG = 1

RUN = Path("/run")
HOME = RUN / "home"
SHARED = RUN / "shared"  # one folder that all hosts have


class LabError(Exception):
    """Something around the tests does not work."""


def must(*words, **more) -> str:
    """Runs a command, which has to succeed; what it printed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise LabError(f"{' '.join(map(str, words))}: code {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def until(what: str, is_so, seconds: float = 20) -> None:
    """Waits until it is so."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise LabError(f"after {seconds:.0f} s still not: {what}")
        time.sleep(0.05)


def inside_namespaces(work) -> int:
    """Calls `work` in namespaces of its own, as their last process; its exit code."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_NAMESPACES) != 0:
        raise LabError(f"namespaces: {os.strerror(ctypes.get_errno())}")
    init = os.fork()
    if init == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        _as_init(work)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: os.kill(init, signal.SIGKILL))
    while True:
        try:
            status = os.waitpid(init, 0)[1]
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        except InterruptedError:
            continue


def _as_init(work) -> None:
    """The first process of the namespaces takes in what others leave. When it ends, all others do."""
    worker = os.fork()
    if worker == 0:
        code = 1
        try:
            code = work()
        except LabError as error:
            print(f"ci/cluster: {error}", file=sys.stderr)
        except BaseException:  # noqa: BLE001: the trace belongs to the person at the terminal
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            os._exit(code)
    while True:
        pid, status = os.wait()
        if pid == worker:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


class Host:
    """One host of the lab."""

    def __init__(self, name: str, number: int):
        self.name = name
        self.address = f"10.77.0.{number + 1}"
        # The disk of this host; it sees it as /mnt.
        self.disk = RUN / "disks" / name
        self.keeper: subprocess.Popen | None = None
        self.pid = 0

    def start(self, sshd: str) -> None:
        """Makes its namespaces, with sshd as their first process."""
        self.disk.mkdir(parents=True)
        script = f"""
            set -e
            hostname {self.name}
            mount --bind {self.disk} /mnt
            mount -t tmpfs tmpfs /dev/shm
            mount -t tmpfs tmpfs {RUN}/tmp
            ip link set lo up
            exec {sshd} -D -e -f {RUN}/ssh/sshd_config -o PidFile=none
        """
        namespaces = ["--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
        with open(RUN / f"sshd-{self.name}.log", "w") as log:
            self.keeper = subprocess.Popen(["unshare", *namespaces, "sh", "-c", script], stdout=log, stderr=log)
        children = Path(f"/proc/{self.keeper.pid}/task/{self.keeper.pid}/children")
        until(f"{self.name} is there", lambda: children.read_text().split())
        self.pid = int(children.read_text().split()[0])

    def connect(self, number: int) -> None:
        """A cable from the switch."""
        must("ip", "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", self.pid)
        must("ip", "link", "set", f"port{number}", "master", "switch", "up")
        for words in (["addr", "add", f"{self.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
            must("nsenter", "-t", self.pid, "--net", "ip", *words)
        self.port = f"port{number}"

    def cable(self, is_plugged: bool) -> None:
        """Pulls the cable, or plugs it in again."""
        must("ip", "link", "set", self.port, "up" if is_plugged else "down")

    def words(self, *words) -> list[str]:
        """The command `words`, on this host."""
        enter = ["nsenter", "-t", self.pid, "--net", "--uts", "--mount", "--ipc", "--pid", f"--wd={HOME}", "--"]
        return [str(word) for word in [*enter, *words]]


class Lab:
    """The hosts, and how a command is started on one of them."""

    def __init__(self, folder: Path, unpacked: Path):
        self.folder = folder
        self.unpacked = unpacked
        self.hosts = [Host(name, number) for number, name in enumerate(HOSTS)]
        self.environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(HOME),
            "TMPDIR": str(RUN / "tmp"),
            "LC_ALL": "C.UTF-8",
            "SLURM_CONF": str(RUN / "slurm/slurm.conf"),
        }

    def __getitem__(self, name: str) -> Host:
        return next(host for host in self.hosts if host.name == name)

    def build(self) -> None:
        """Everything that the hosts share, then the hosts."""
        must("mount", "--make-rprivate", "/")
        must("mount", "-t", "proc", "proc", "/proc")
        self._files()
        must("ip", "link", "add", "switch", "type", "bridge")
        must("ip", "link", "set", "switch", "up")
        sshd = shutil.which("sshd", path=self.environment["PATH"]) or "/usr/sbin/sshd"
        for number, host in enumerate(self.hosts):
            host.start(sshd)
            host.connect(number)
        first = self.hosts[0]
        for host in self.hosts:
            reach = first.words("ssh", host.name, "true")
            until(f"ssh to {host.name}", lambda: subprocess.run(reach, capture_output=True, env=self.environment).returncode == 0)

    def _files(self) -> None:
        must("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", RUN)
        for name in ("home/.ssh", "tmp", "ssh", "sshd", "shared", "said", "over/etc", "over/work", "munge", "slurm"):
            (RUN / name).mkdir(parents=True)
        for name in ("home/.ssh", "tmp", "ssh", "munge"):
            (RUN / name).chmod(0o700 if name != "munge" else 0o755)
        # What is unpacked, over what is installed. Nobody writes there.
        if (self.unpacked / "usr").is_dir():
            must("mount", "-t", "overlay", "overlay", "-o", f"ro,lowerdir={self.unpacked}/usr:/usr", "/usr")
        over = f"lowerdir=/etc,upperdir={RUN}/over/etc,workdir={RUN}/over/work"
        must("mount", "-t", "overlay", "overlay", "-o", over, "/etc")
        names = "".join(f"{host.address} {host.name}\n" for host in self.hosts)
        _replace("/etc/hosts", f"127.0.0.1 localhost\n{names}")
        users = Path("/etc/passwd").read_text().splitlines()
        users = [f"root:x:0:0:root:{HOME}:/bin/sh", *(user for user in users if not user.startswith(("root:", "sshd:")))]
        _replace("/etc/passwd", "\n".join([*users, "sshd:x:64000:65534::/run/sshd:/usr/sbin/nologin"]) + "\n")
        self._keys()

    def _keys(self) -> None:
        must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", RUN / "ssh/host")
        must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", HOME / ".ssh/id_ed25519")
        shutil.copy(HOME / ".ssh/id_ed25519.pub", HOME / ".ssh/authorized_keys")
        host_key = " ".join((RUN / "ssh/host.pub").read_text().split()[:2])
        known = "".join(f"{host.name},{host.address} {host_key}\n" for host in self.hosts)
        (HOME / ".ssh/known_hosts").write_text(known)
        environment = f"PATH={self.environment['PATH']} TMPDIR={RUN}/tmp"
        (RUN / "ssh/sshd_config").write_text(
            f"HostKey {RUN}/ssh/host\nAuthorizedKeysFile {HOME}/.ssh/authorized_keys\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nPermitRootLogin yes\nMaxStartups 100\nSubsystem sftp internal-sftp\nSetEnv {environment}\n"
        )

    def run(self, host: str, words, seconds: float = 60, **more) -> "Ran":
        """Runs a command on a host."""
        return self.start(host, words, **more).end(seconds)

    def start(self, host: str, words, environment: dict | None = None) -> "Running":
        """Starts a command on a host."""
        return Running(self[host].words(*words), [str(word) for word in words], {**self.environment, **(environment or {})})


def _replace(path: str, text: str) -> None:
    fresh = Path(path + ".lab")
    fresh.write_text(text)
    fresh.rename(path)


class Ran:
    """A command that has ended."""

    def __init__(self, words, code, out, err, seconds):
        self.words, self.code, self.out, self.err, self.seconds = words, code, out, err, seconds

    def __str__(self) -> str:
        def told(name, text):
            lines = text.strip().splitlines()
            shown = lines if len(lines) <= 40 else [*lines[:25], f"... {len(lines) - 40} lines ...", *lines[-15:]]
            return "".join(f"\n  | {name}: {line[:240]}" for line in shown)

        head = f"{' '.join(self.words)}\n  | code {self.code} after {self.seconds:.1f} s"
        return head + told("out", self.out) + told("err", self.err)


class Running:
    """A command that runs."""

    number = 0

    def __init__(self, words, typed, environment):
        Running.number += 1
        self.typed = typed
        self.began = time.monotonic()
        self.paths = [RUN / "said" / f"{Running.number}.{kind}" for kind in ("out", "err")]
        with open(self.paths[0], "w") as out, open(self.paths[1], "w") as err:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, start_new_session=True
            )

    def err(self) -> str:
        """What it has said so far."""
        return self.paths[1].read_text(errors="replace")

    def pid(self) -> int:
        """The process itself, as it is numbered outside its host: nsenter waits for it."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = children.read_text().split() if children.exists() else []
        return int(found[0]) if found else self.process.pid

    def end(self, seconds: float) -> Ran:
        """Waits for its end; ends it after so many seconds."""
        try:
            code = self.process.wait(timeout=max(0.1, self.began + seconds - time.monotonic()))
        except subprocess.TimeoutExpired:
            code = None
        took = time.monotonic() - self.began
        if code is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        out, err = (path.read_text(errors="replace") for path in self.paths)
        ran = Ran(self.typed, code, out, err, took)
        if code is None:
            raise AssertionError(f"did not end within {seconds:.0f} s: {ran}")
        return ran


def processes(name: str) -> list[int]:
    """Processes of the lab with this name that have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == name:
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                if state not in "ZX":
                    found.append(int(entry.name))
        except OSError:
            continue
    return found


def ranks_of(name: str = "truespd", parents: bool = False) -> dict[int, int]:
    """Processes of the lab that are ranks, or those that the launcher started and that are their parents; by rank."""
    found = {}
    for pid in processes(name):
        try:
            variables = dict(
                pair.split("=", 1) for pair in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in pair
            )
        except OSError:
            continue
        if ("TRUESPD_RANK_OF" in variables) == parents:
            continue
        for variable in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
            if variable in variables:
                found[int(variables[variable])] = pid
                break
    return found
