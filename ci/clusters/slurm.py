"""A real Slurm on the hosts of the lab: munge, one controller, a slurmd on each host."""

import os
import subprocess
from pathlib import Path

from .lab import RUN, Lab, LabError, must, until

CONF = """
ClusterName=lab
SlurmctldHost={first}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={run}/munge/socket
CryptoType=crypto/munge
TmpFS={run}/tmp
StateSaveLocation={run}/slurm/state
SlurmdSpoolDir={run}/slurm/%n
SlurmctldPidFile={run}/slurm/ctld.pid
SlurmdPidFile={run}/slurm/%n.pid
SlurmctldLogFile={run}/slurm/ctld.log
SlurmdLogFile={run}/slurm/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/linear
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=30
KillWait=5
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def start(lab: Lab) -> None:
    """Starts it and waits until all hosts take jobs."""
    run = RUN
    (run / "slurm/state").mkdir()
    key = run / "munge/key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    first = lab.hosts[0]
    processors = len(os.sched_getaffinity(0))
    nodes = "\n".join(f"NodeName={host.name} Sockets=1 CoresPerSocket={processors} State=UNKNOWN" for host in lab.hosts)
    (run / "slurm/slurm.conf").write_text(CONF.format(first=first.name, run=run, nodes=nodes))
    munged = ["munged", f"--key-file={key}", f"--socket={run}/munge/socket", f"--pid-file={run}/munge/pid"]
    must(*munged, f"--log-file={run}/munge/log", f"--seed-file={run}/munge/seed", "--force", env=lab.environment)
    must(*first.words("slurmctld"), env=lab.environment)
    for host in lab.hosts:
        (run / "slurm" / host.name).mkdir()
        must(*host.words("slurmd", "-N", host.name), env=lab.environment)

    def is_idle() -> bool:
        state = subprocess.run(first.words("sinfo", "-h", "-o", "%T %D"), capture_output=True, text=True, env=lab.environment)
        return state.stdout.split() == ["idle", str(len(lab.hosts))]

    try:
        until("all hosts of Slurm are idle", is_idle, 30)
    except LabError as error:
        logs = "\n".join(path.read_text()[-1500:] for path in sorted(Path(run / "slurm").glob("*.log")))
        raise LabError(f"{error}\n{logs}") from None
