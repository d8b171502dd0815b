"""Hosts that have a minimal Debian and what `apt install` of our packages brings, and nothing else."""

import os
import shutil
import subprocess
from pathlib import Path

from packages.checks import debian_root

from .lab import HOSTS, RUN, Lab, LabError, Ran, until

# As docs/clusters.md says it, with the names of the files.
INSTALL = "apt-get update -q && apt-get install -q -y --no-install-recommends openmpi-bin openssh-server /packages/*.deb"
# A person who measures, with a folder for the test, who reaches the other hosts by ssh without a question.
PERSON = """
useradd --create-home --shell /bin/sh bench
mkdir /data && chown bench: /data
su bench -c '
    ssh-keygen -q -t ed25519 -N "" -f ~/.ssh/id_ed25519
    cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys
    printf "Host *\\nPort 2222\\nStrictHostKeyChecking accept-new\\nLogLevel ERROR\\n" > ~/.ssh/config'
"""
ROOT = RUN / "root"


def installed(folder: Path, debs: list[Path]) -> Path:
    """A root with the packages; made while the network can still be reached."""
    root = folder / "roots"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    debian_root(root)
    # debootstrap's folder was for root alone.
    root.chmod(0o755)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    (root / "packages").mkdir()
    for deb in debs:
        shutil.copy(deb, root / "packages")
    mounts = 'mount -t proc proc "$0/proc"; mount --bind /dev "$0/dev"'
    for script in (INSTALL, PERSON):
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", f'{mounts}; exec chroot "$0" sh -ec "$1"', root, script]
        environment = {"PATH": os.defpath + ":/usr/sbin:/sbin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise LabError(f"the packages cannot be installed: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    names = "".join(f"10.77.0.{number + 1} {name}\n" for number, name in enumerate(HOSTS))
    (root / "etc/hosts").write_text(f"127.0.0.1 localhost\n{names}")
    return root


def enter(lab: Lab, root: Path) -> None:
    """Gives each host of the lab a copy of the root, with sshd on a port of its own."""
    for host in lab.hosts:
        upper, work = (RUN / "roots" / host.name / part for part in ("upper", "work"))
        script = f"""
            mkdir -p {upper} {work} {ROOT}
            mount -t overlay overlay -o lowerdir={root},upperdir={upper},workdir={work} {ROOT}
            mount -t proc proc {ROOT}/proc
            mount -t sysfs sysfs {ROOT}/sys
            mount --rbind /dev {ROOT}/dev
            mkdir -p {ROOT}/run/sshd
            exec chroot {ROOT} /usr/sbin/sshd -p 2222
        """
        subprocess.run(host.words("sh", "-ec", script), env=lab.environment, check=True)
    first = [str(word) for word in as_person(["ssh", HOSTS[-1], "true"])]
    reach = lab[HOSTS[0]].words(*first)
    until("ssh between the clean roots", lambda: subprocess.run(reach, capture_output=True, env=lab.environment).returncode == 0)


def as_person(words: list) -> list:
    """A command in a clean root, by the person who measures."""
    line = " ".join(str(word) for word in words)
    return ["chroot", ROOT, "su", "-", "bench", "-c", line]


def run(lab: Lab, words: list, seconds: float = 60) -> Ran:
    """Runs a command on the first host."""
    return lab.run(HOSTS[0], as_person(words), seconds)
