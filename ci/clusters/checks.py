"""The checks of ci/cluster: one function each, run in the order in which they stand here.

A check fails by AssertionError. What it returns is a word on how it went, usually seconds.
"""

import json
import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

from packages.place import LIBRARIES

from . import roots, slurm
from .lab import HOME, HOSTS, RUN, SHARED, Lab, LabError, Ran, Running, processes, ranks_of, until

ALL = {}
# One that the launcher of a library does not go with.
STRANGER = {"openmpi": "mpich", "mpich": "openmpi", "abi": "openmpi"}
ONE_HOST = [HOSTS[0]] * 4
# Short and small. The ranks' own disks are in memory.
LINE = "-c16M -b4K -r -o4 -t1 -W1 -d{seconds} -Su {more} /mnt/file.dat"
# One of several ranks of a host.
LINE_EACH = "-c16M -b4K -r -o4 -t1 -W1 -d{seconds} -Su {more} /mnt/{{rank}}.dat"
CONTRIB = Path(__file__).resolve().parent.parent.parent / "contrib/cluster"
PATIENCE = 4


def check(function):
    """Makes a function a check, for each library when it takes one."""
    name = function.__name__.removeprefix("check_")
    if "library" in function.__code__.co_varnames[: function.__code__.co_argcount]:
        for library in LIBRARIES:

            def of_one(cluster, library=library):
                return function(cluster, library)

            of_one.__doc__ = function.__doc__
            ALL[f"{name}_{library}"] = of_one
    else:
        ALL[name] = function
    return function


class Cluster:
    """The lab with the program in it."""

    def __init__(self, lab: Lab, folders: dict[str, Path], mpich5: Path, root: Path | None = None):
        self.lab = lab
        self.folders = folders
        # Where an MPICH with the ABI of MPI 5 is, which is not installed.
        self.mpich5 = mpich5
        # A minimal Debian with the packages.
        self.root = root
        self.has_slurm = False

    def with_slurm(self) -> None:
        """Starts Slurm, once."""
        if not self.has_slurm:
            slurm.start(self.lab)
            self.has_slurm = True

    def truespd(self, library: str) -> Path:
        return self.folders[library] / "truespd"

    def object(self, library: str) -> Path:
        """What truespd loads for a library."""
        places = (self.folders[library], self.folders[library] / "../lib/truespd")
        return next(path for place in places for path in place.glob("libtruespd-mpi-*.so"))

    def launcher(self, library: str) -> list:
        """mpirun, or what stands for it; the rest of its line is MPICH's but for Open MPI."""
        if library == "abi":
            variables = self.variables(library).items()
            return [self.mpich5 / "bin/mpiexec", *(word for name, value in variables for word in ("-genv", name, value))]
        return [f"mpirun.{library}"]

    def variables(self, library: str) -> dict[str, str]:
        """What ranks need in their environment to find a library that is not installed."""
        if library != "abi":
            return {}
        # Over UCX, which it takes otherwise, MPICH 5.0.2 may crash in a rank to which another one was lost.
        return {"LD_LIBRARY_PATH": str(self.mpich5 / "lib"), "MPIR_CVAR_CH4_NETMOD": "ofi"}

    def mpirun(self, library: str, hosts: list[str], *options) -> list:
        """mpirun with a rank on each of the hosts, in this order."""
        if library == "openmpi":
            slots = ",".join(f"{host}:{hosts.count(host)}" for host in dict.fromkeys(hosts))
            usual = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
            return [*self.launcher(library), *usual, *options, "-np", len(hosts), "--host", slots]
        return [*self.launcher(library), *options, "-np", len(hosts), "-hosts", ",".join(dict.fromkeys(hosts))]

    def start(self, library: str, hosts: list[str], line: str, options=(), wrapper=(), program=None) -> Running:
        """A cluster run from the first host."""
        words = [*wrapper, program or self.truespd(library), "cluster", "run", *line.split()]
        return self.lab.start(hosts[0], [*self.mpirun(library, hosts, *options), *words])

    def run(self, library: str, hosts: list[str], line: str, seconds: float = 60, **more) -> Ran:
        return self.start(library, hosts, line, **more).end(seconds)

    def clear_away(self) -> None:
        """After each check: no process, no file, every cable plugged in."""
        for name in ("truespd", "mpirun.openmpi", "orted", "mpirun.mpich", "mpiexec", "hydra_pmi_proxy", "sleep"):
            for pid in processes(name):
                with suppress(ProcessLookupError):  # it ended by itself meanwhile
                    os.kill(pid, signal.SIGKILL)
        for host in self.lab.hosts:
            host.cable(True)
        for folder in (SHARED, *(host.disk for host in self.lab.hosts)):
            for entry in folder.iterdir():
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def documents(cluster: Cluster) -> list[Path]:
    """The ranks' own documents, wherever they are, by rank."""
    disks = [host.disk for host in cluster.lab.hosts]
    return sorted((path for disk in disks for path in disk.glob("docs/rank-*.json")), key=lambda path: path.name)


def result(path: Path) -> dict:
    return json.loads(path.read_text())["result"]


def good(ran: Ran, code: int = 0) -> Ran:
    assert ran.code == code, f"code {ran.code} instead of {code}: {ran}"
    return ran


def says(ran: Ran, *words: str) -> None:
    for word in words:
        assert word in ran.out + ran.err, f"does not say '{word}': {ran}"


def once(ran: Ran, word: str) -> None:
    """Only rank 0 says it."""
    count = (ran.out + ran.err).count(word)
    assert count == 1, f"says '{word}' {count} times: {ran}"


def is_result(ran: Ran) -> None:
    """The standard output is one whole result and nothing else, but for what tells of Ctrl+C (MPICH's mpirun does, too)."""
    told = [line for line in ran.out.splitlines() if line and not line.startswith(("*** Interrupted", "[mpiexec@"))]
    assert ran.out.count("Input parameters:") == 1 and told[0].startswith("Command Line:"), f"no result: {ran}"


def adds_up(cluster: Cluster, ran: Ran, ranks: int, sum_of: str = "sum.json") -> list[dict]:
    """Every rank has left its document, and `truespd merge` makes of them what rank 0 printed, byte for byte."""
    left = documents(cluster)
    assert len(left) == ranks, f"{len(left)} documents of {ranks} ranks ({[path.name for path in left]}): {ran}"
    again = HOME / "again.json"
    again.unlink(missing_ok=True)
    merged = cluster.lab.run(HOSTS[0], [cluster.truespd("none"), "merge", "--json", again, *left])
    assert merged.code == 0, f"{merged}\nafter {ran}"
    own = cluster.lab[HOSTS[0]].disk / sum_of
    if again.read_bytes() != own.read_bytes():
        for path, name in ((again, "merged.json"), (own, "rank0.json")):
            shutil.copy(path, cluster.lab.folder / name)
        raise AssertionError(f"truespd merge makes another sum (both are kept in {cluster.lab.folder}): {ran}")
    return [result(path) for path in left]


def spread_us(results: list[dict]) -> float:
    """From the first rank's start to the last one's, by the clock of rank 0, in microseconds."""
    starts = []
    for each in results:
        common = each["time_spans"][0]["measured"]["evidence"]["common_start"]
        starts.append(common["agreed_unix_ns"] + common["late_ns"])
    return (max(starts) - min(starts)) / 1000


def nothing_written(cluster: Cluster, ran: Ran, *allowed: str) -> None:
    for host in cluster.lab.hosts:
        left = [path.name for path in host.disk.iterdir() if path.name not in allowed]
        assert not left, f"left on {host.name}: {left}: {ran}"


def nobody_left(ran: Ran, seconds: float = 5) -> None:
    """All ranks end soon after mpirun."""
    end = time.monotonic() + seconds
    while ranks := ranks_of():
        assert time.monotonic() < end, f"ranks {sorted(ranks)} are still there {seconds:.0f} s later: {ran}"
        time.sleep(0.1)


def measures(running: Running, ranks: int, seconds: float = 30) -> dict[int, int]:
    """Waits until all ranks measure; their processes by rank."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = ranks_of()
        threads = [sum(1 for _ in Path(f"/proc/{pid}/task").iterdir()) for pid in found.values() if Path(f"/proc/{pid}").exists()]
        if len(found) == ranks and "made" not in running.err() and min(threads) > 3:
            # The files are made, the threads are there: past the agreed start and the second of warm-up.
            time.sleep(4)
            return ranks_of()
        if running.process.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError(f"the ranks do not come to measure: {running.end(1)}")


def partial(cluster: Cluster, ran: Ran, lost: int, host: str, others: list[int]) -> None:
    """A whole result of the others, which says who is missing; the others' documents are there."""
    is_result(ran)
    says(ran, f"rank {lost}", host)
    names = [path.name for path in documents(cluster)]
    for rank in others:
        assert any(name.startswith(f"rank-{rank:04}-") for name in names), f"no document of rank {rank} ({names}): {ran}"
    told = result(cluster.lab[HOSTS[0]].disk / "sum.json")
    missing = json.dumps(told)
    assert '"lost"' in missing and host in missing, f"the document does not say that rank {lost} is lost: {ran}"


# --- Launchers -------------------------------------------------------------------------------------------------


@check
def check_one_host(cluster, library):
    """Four ranks on one host: one result on standard output, four documents, and the same sum by truespd merge."""
    ran = good(cluster.run(library, ONE_HOST, LINE_EACH.format(seconds=3, more="--json /mnt/sum.json --documents /mnt/docs")))
    is_result(ran)
    results = adds_up(cluster, ran, 4)
    ranks = [(each["rank"]["rank"], each["rank"]["local"], each["rank"]["ranks"]) for each in results]
    assert ranks == [(rank, rank, 4) for rank in range(4)], f"{ranks}: {ran}"
    nobody_left(ran)
    return f"start spread {spread_us(results):.0f} us"


@check
def check_clean_roots(cluster):
    """Three hosts with a minimal Debian and the packages, no compiler and no source: the line of docs/clusters.md, as a person without root."""
    # Open MPI's mpicc is there, which calls a compiler.
    compilers = [name for name in ("cc", "gcc", "clang", "rustc", "cargo") if (cluster.root / "usr/bin" / name).exists()]
    assert not compilers, f"the clean root has {compilers}"
    roots.enter(cluster.lab, cluster.root)
    line = ["--bind-to", "none", "truespd", "cluster", "run", *"-c64M -b4K -r -o4 -t1 -W1 -d2 -Su -L /data/file.dat".split()]
    ran = good(roots.run(cluster.lab, ["mpirun", "-np", len(HOSTS), "--host", ",".join(HOSTS), *line]))
    is_result(ran)
    says(ran, *HOSTS, f"each of the {len(HOSTS)} ranks left its own result")
    # Where the package is missing on one host, that host is named.
    cluster.lab.run(HOSTS[2], ["chroot", roots.ROOT, "dpkg", "--purge", "truespd-mpi-openmpi"])
    ran = roots.run(cluster.lab, ["mpirun", "-np", len(HOSTS), "--host", ",".join(HOSTS), *line])
    assert ran.code not in (0, None), f"{ran}"
    says(ran, f"on host {HOSTS[2]}", "apt install ./truespd-mpi-openmpi_")


@check
def check_one_host_no_strangers(cluster):
    """Four ranks on one host and one real disk: none takes the others for other programs."""
    folder = cluster.lab.folder / "disk"
    folder.mkdir(exist_ok=True)
    try:
        line = f"-c64M -b4K -r -o4 -t1 -W1 -d3 -w30 -Su --json /mnt/sum.json --documents /mnt/docs {folder}/{{rank}}.dat"
        ran = good(cluster.run("openmpi", ONE_HOST, line))
        for each in adds_up(cluster, ran, 4):
            disk = each["time_spans"][0]["measured"]["evidence"]["disks"][0]
            assert disk["other_ranks"]["reads"] > 0, f"{disk}: {ran}"
            # Other programs may really use the disk. The three other ranks would do three times as much as this one.
            strangers = [finding["figures"] for finding in each["verdict"]["findings"] if finding["rule"] == "other-io"]
            for figures in ({figure["name"]: figure["value"] for figure in found} for found in strangers):
                assert figures["foreign_bytes_per_s"] < figures["own_bytes_per_s"], f"{figures}: {ran}"
    finally:
        shutil.rmtree(folder)


@check
def check_hosts(cluster, library):
    """Three hosts over ssh, each with its own disk: every host keeps its document, and the sum is that of merge."""
    ran = good(cluster.run(library, HOSTS, LINE.format(seconds=3, more="--json /mnt/sum.json --documents /mnt/docs")))
    is_result(ran)
    results = adds_up(cluster, ran, 3)
    names = [path.name for path in documents(cluster)]
    assert names == [f"rank-{rank:04}-{host}.json" for rank, host in enumerate(HOSTS)], f"{names}: {ran}"
    says(ran, *HOSTS)
    nobody_left(ran)
    return f"start spread {spread_us(results):.0f} us"


@check
def check_words(cluster, library):
    """{host}, {rank}, {local} and {n} in the words."""
    line = "-c1M -b4K -d1 -W0 -Su --documents /mnt/docs /mnt/{host}-{rank}-{local}-{n}-{{x}}.dat"
    ran = good(cluster.run(library, [*HOSTS, HOSTS[0]], line))
    made = sorted(path.name for host in cluster.lab.hosts for path in host.disk.glob("*.dat"))
    first, rest = HOSTS[0], HOSTS[1:]
    # Open MPI fills a host before the next one, MPICH takes them in turns.
    filled = [f"{first}-0-0-4-{{x}}.dat", f"{first}-1-1-4-{{x}}.dat", *(f"{host}-{n + 2}-0-4-{{x}}.dat" for n, host in enumerate(rest))]
    turns = [f"{first}-0-0-4-{{x}}.dat", *(f"{host}-{n + 1}-0-4-{{x}}.dat" for n, host in enumerate(rest)), f"{first}-3-1-4-{{x}}.dat"]
    assert made in (sorted(filled), sorted(turns)), f"{made}: {ran}"


@check
def check_ranks_per_host(cluster, library):
    """--ranks-per-host refuses another placement, and takes the right one."""
    line = "--ranks-per-host 2 -c1M -b4K -d1 -W0 -Su --documents /mnt/docs /mnt/{rank}.dat"
    ran = good(cluster.run(library, HOSTS, line), 3)
    once(ran, "--ranks-per-host")
    nothing_written(cluster, ran)
    two_each = ["--map-by", "ppr:2:node"] if library == "openmpi" else ["-ppn", "2"]
    good(cluster.run(library, [host for host in HOSTS[:2] for _ in range(2)], line, options=two_each))


@check
def check_shard(cluster, library):
    """--shard: three hosts share one file, made once; each writes its own third."""
    file = SHARED / "one.dat"
    ran = good(cluster.run(library, HOSTS, f"--shard -c12M -b4K -o2 -w100 -d2 -W0 -Su --json /mnt/sum.json --documents /mnt/docs {file}"))
    assert file.stat().st_size == 12 << 20, f"{file.stat().st_size} bytes: {ran}"
    says(ran, "one and the same")
    adds_up(cluster, ran, 3)


@check
def check_live_metrics(cluster):
    """--progress and --events of rank 0 tell of all ranks while they run."""
    ran = good(cluster.run("openmpi", HOSTS, LINE.format(seconds=3, more="--events /mnt/events --documents /mnt/docs")))
    events = (cluster.lab[HOSTS[0]].disk / "events").read_text().splitlines()
    assert len(events) > 3 and all(json.loads(line) for line in events), f"{len(events)} events: {ran}"
    assert not (cluster.lab[HOSTS[1]].disk / "events").exists(), f"rank 1 tells as well: {ran}"


@check
def check_mark(cluster, library):
    """truespd cluster mark: a suite on every rank."""
    words = [cluster.truespd(library), "cluster", "mark", "--test", "RND4K-Q4T1", "--loops", "1", "--measure", "1", "--interval", "0", "--size", "16M", "--json", "/mnt/mark.json", "/mnt"]
    ran = good(cluster.lab.run(HOSTS[0], [*cluster.mpirun(library, HOSTS), *words], 60))
    told = json.loads((cluster.lab[HOSTS[0]].disk / "mark.json").read_text())["mark"]["host"]
    assert told["ranks"] == len(HOSTS), f"{told}: {ran}"


def srun(cluster: Cluster, library: str, line: str, *options) -> Ran:
    cluster.with_slurm()
    kind = "pmix" if library == "openmpi" else "pmi2"
    words = ["srun", "-N", len(HOSTS), f"--mpi={kind}", *options, cluster.truespd(library), "cluster", "run", *line.split()]
    return cluster.lab.run(HOSTS[0], words, environment=cluster.variables(library))


@check
def check_slurm_srun(cluster, library):
    """srun on three nodes of a real Slurm, with PMIx for Open MPI and PMI-2 for MPICH."""
    ran = good(srun(cluster, library, LINE.format(seconds=2, more="--json /mnt/sum.json --documents /mnt/docs")))
    is_result(ran)
    adds_up(cluster, ran, 3)
    nobody_left(ran)


@check
def check_slurm_sbatch(cluster, library):
    """The batch script of contrib/cluster, submitted by sbatch."""
    cluster.with_slurm()
    script = CONTRIB / "truespd.sbatch"
    line = LINE.format(seconds=2, more="--json /mnt/sum.json --documents /mnt/docs")
    environment = {"TRUESPD": str(cluster.truespd(library)), "TRUESPD_MPI": "pmix" if library == "openmpi" else "pmi2",
                   **cluster.variables(library)}  # fmt: skip
    submit = ["sbatch", "--wait", f"--output={SHARED}/job.out", "-N", len(HOSTS), script, *line.split()]
    ran = cluster.lab.start(HOSTS[0], submit, environment).end(60)
    told = (SHARED / "job.out").read_text()
    assert ran.code == 0 and "Input parameters:" in told, f"{ran}\n{told}"
    adds_up(cluster, ran, 3)


@check
def check_ansible(cluster):
    """The play of contrib/cluster: installs, runs, fetches."""
    line = LINE.format(seconds=2, more="")
    set_up = {
        "program": str(cluster.truespd("openmpi")), "packages": [], "debs": [], "documents": "/mnt/docs",
        "results": SHARED / "results", "line": line, "longest": 60, "run_as_root": True,
    }  # fmt: skip
    extra = json.dumps(set_up, default=str)
    words = ["ansible-playbook", "-i", ",".join([*HOSTS, ""]), "-e", extra, CONTRIB / "truespd.ansible.yml"]
    ran = good(cluster.lab.run(HOSTS[0], words, 150))
    assert "Input parameters:" in (SHARED / "results/sum.txt").read_text(), f"{ran}"
    fetched = sorted(path.name for path in (SHARED / "results").iterdir())
    wanted = [*(f"rank-{rank:04}-{host}.json" for rank, host in enumerate(HOSTS)), "sum.json", "sum.txt"]
    assert fetched == wanted, f"{fetched}: {ran}"


@check
def check_slurm_without_pmi(cluster):
    """srun --mpi=none: every process would be alone, so the run is refused, with what to do."""
    cluster.with_slurm()
    words = ["srun", "-N", len(HOSTS), "--mpi=none", cluster.truespd("mpich"), "cluster", "run", *LINE.format(seconds=1, more="").split()]
    ran = cluster.lab.run(HOSTS[0], words)
    assert ran.code not in (0, None), f"{ran}"
    says(ran, "srun", "--mpi")
    nothing_written(cluster, ran)


# --- Bad input -------------------------------------------------------------------------------------------------


@check
def check_outside_of_mpi(cluster):
    """Without a launcher it says how to start it."""
    for library in (*LIBRARIES, "none"):
        ran = good(cluster.lab.run(HOSTS[0], [cluster.truespd(library), "cluster", "run", "-c1M", "-d1", "/mnt/file.dat"]), 3)
        once(ran, "must be started by MPI")
        nothing_written(cluster, ran)


@check
def check_one_rank(cluster):
    """One rank is a run like any other, also without any package for MPI."""
    for library, program in (*zip(LIBRARIES, LIBRARIES, strict=True), ("openmpi", "none")):
        words = [cluster.truespd(program), "cluster", "run", *"-c1M -b4K -d1 -W0 -Su --documents /mnt/docs /mnt/file.dat".split()]
        is_result(good(cluster.lab.run(HOSTS[0], [*cluster.mpirun(library, HOSTS[:1]), *words])))


@check
def check_without_the_package(cluster, library):
    """truespd alone, started as one of three, names the package that is missing; also where that of another library is there."""
    for has in ("none", STRANGER[library]):
        ran = good(cluster.run(library, HOSTS, LINE.format(seconds=1, more=""), program=cluster.truespd(has)), 3)
        once(ran, "ERROR: mpirun of")
        says(ran, "apt install ./truespd-mpi-", f"truespd-mpi-{library}")
        nothing_written(cluster, ran)


@check
def check_package_on_some_hosts(cluster):
    """The package is missing on one host: it says so with its name, and everything ends. MPICH's mpirun waits for the others without end."""
    library = "openmpi"
    needed = cluster.object(library)
    for host in cluster.lab.hosts:
        shutil.copy(cluster.truespd(library), host.disk / "truespd")
        if host.name != HOSTS[2]:
            shutil.copy(needed, host.disk)
    ran = cluster.run(library, HOSTS, LINE.format(seconds=1, more=""), program="/mnt/truespd")
    assert ran.code not in (0, None), f"{ran}"
    says(ran, HOSTS[2], f"apt install ./truespd-mpi-{library}_")
    nothing_written(cluster, ran, "truespd", needed.name)
    nobody_left(ran)


@check
def check_all_packages(cluster, library):
    """With the packages of all libraries, the launcher decides which is loaded."""
    ran = good(cluster.run(library, HOSTS, LINE.format(seconds=1, more="--documents /mnt/docs"), program=cluster.truespd("all")))
    is_result(ran)
    assert len(documents(cluster)) == 3, f"{documents(cluster)}: {ran}"


@check
def check_without_the_library(cluster):
    """What is loaded is there, and its MPI library is not: each host says so with the name of the library."""
    line = ["-n", len(HOSTS), "-hosts", ",".join(HOSTS), cluster.truespd("abi"), "cluster", "run", *LINE.format(seconds=1, more="").split()]
    ran = good(cluster.lab.run(HOSTS[0], [cluster.mpich5 / "bin/mpiexec", *line]), 3)
    says(ran, "needs libmpi_abi.so.1, which is not found", "pip install mpich", *(f"on host {host}" for host in HOSTS[1:]))
    nothing_written(cluster, ran)


@check
def check_next_object(cluster):
    """What would be loaded first has no library here: the next is loaded, that of the ABI of MPI 5."""
    first, next_one = cluster.object("mpich"), cluster.object("abi")
    for host in cluster.lab.hosts:
        shutil.copy(cluster.truespd("none"), host.disk / "truespd")
        shutil.copy(next_one, host.disk)
        (host.disk / first.name).write_bytes(first.read_bytes().replace(b"libmpich.so.12", b"libmpicX.so.12"))
    ran = good(cluster.run("abi", HOSTS, LINE.format(seconds=1, more="--documents /mnt/docs"), program="/mnt/truespd"))
    is_result(ran)
    assert len(documents(cluster)) == 3, f"{documents(cluster)}: {ran}"


@check
def check_damaged_object(cluster, library):
    """What is to be loaded is cut off, of another version, or not ours: refused, with its path."""
    whole = cluster.object(library)
    for what, damaged in (
        ("cannot be loaded", whole.read_bytes()[:5000]),
        ("is not of truespd", whole.read_bytes().replace(b"truespd_mpi_table", b"truespd_mpi_tablX")),
    ):
        for host in cluster.lab.hosts:
            shutil.copy(cluster.truespd(library), host.disk / "truespd")
            (host.disk / whole.name).write_bytes(damaged)
        ran = good(cluster.run(library, HOSTS, LINE.format(seconds=1, more=""), program="/mnt/truespd"), 3)
        says(ran, what, f"/mnt/{whole.name}")
        nothing_written(cluster, ran, "truespd", whole.name)


@check
def check_other_version(cluster, library):
    """Another version of the program on one host."""
    programs = {host: cluster.truespd(library) for host in HOSTS}
    programs[HOSTS[2]] = cluster.truespd("other-version")
    version, other = (cluster.lab.run(host, [programs[host], "--version"]).out.split()[-1] for host in (HOSTS[0], HOSTS[2]))
    assert version != other
    needed = cluster.object(library)
    for host in cluster.lab.hosts:
        shutil.copy(needed, host.disk)
        shutil.copy(programs[host.name], host.disk / "truespd")
    ran = good(cluster.run(library, HOSTS, LINE.format(seconds=1, more=""), program="/mnt/truespd"), 3)
    once(ran, "different versions")
    says(ran, HOSTS[2], version, other)
    nothing_written(cluster, ran, "truespd", needed.name)


@check
def check_other_words(cluster, library):
    """One rank with other words."""
    program = cluster.truespd(library)
    lines = [LINE.format(seconds=seconds, more="").split() for seconds in (1, 1, 2)]
    words = [["cluster", "run", *line] for line in lines]
    if library == "openmpi":
        usual = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
        parts = [["-np", 1, "--host", host, program, *each] for host, each in zip(HOSTS, words, strict=True)]
        line = [*cluster.launcher(library), *usual, *parts[0], ":", *parts[1], ":", *parts[2]]
    else:
        parts = [["-np", 1, program, *each] for each in words]
        line = [*cluster.launcher(library), "-hosts", ",".join(HOSTS), *parts[0], ":", *parts[1], ":", *parts[2]]
    ran = good(cluster.lab.run(HOSTS[0], line), 3)
    once(ran, "another command line")
    says(ran, HOSTS[2], "-d2")
    nothing_written(cluster, ran)


@check
def check_other_profile(cluster):
    """A profile of -X that is another one on one host."""
    profile = '<Profile><TimeSpans><TimeSpan><Duration>1</Duration><Targets><Target><Path>/mnt/file.dat</Path><FileSize>{size}</FileSize></Target></Targets></TimeSpan></TimeSpans></Profile>'
    for host in cluster.lab.hosts:
        size = 2 << 20 if host.name == HOSTS[2] else 1 << 20
        (host.disk / "p.xml").write_text(profile.format(size=size))
    ran = cluster.run("openmpi", HOSTS, "-X/mnt/p.xml")
    assert ran.code == 3, f"code {ran.code} instead of 3: {ran}"
    once(ran, "profile of host")
    nothing_written(cluster, ran, "p.xml")


@check
def check_unknown_word(cluster, library):
    """A {word} that there is not."""
    ran = good(cluster.run(library, HOSTS, "-c1M -d1 /mnt/{hots}.dat"), 3)
    once(ran, "{hots} means nothing")
    nothing_written(cluster, ran)


@check
def check_path_missing_on_one_host(cluster, library):
    """A target that one host does not have: one message with its name, the exit code of it on every rank, and soon."""
    for host in cluster.lab.hosts[:2]:
        (host.disk / "file.dat").write_bytes(os.urandom(1 << 20))
    ran = good(cluster.run(library, HOSTS, "-b4K -d1 -Su --documents /mnt/docs /mnt/file.dat"), 1)
    says(ran, f"host {HOSTS[2]}", "/mnt/file.dat")
    nothing_written(cluster, ran, "file.dat")
    return f"{ran.seconds:.1f} s"


@check
def check_guard_of_one_host(cluster, library):
    """A file of somebody on one host: exit code 4 on every rank, its host's name, no file made on the others."""
    victim = cluster.lab[HOSTS[2]].disk / "file.dat"
    victim.write_bytes(os.urandom(1 << 20))
    before = victim.read_bytes()
    ran = good(cluster.run(library, HOSTS, "-c1M -b4K -w100 -d1 -Su /mnt/file.dat"), 4)
    says(ran, HOSTS[2])
    assert victim.read_bytes() == before, f"the file was changed: {ran}"
    for host in cluster.lab.hosts[:2]:
        assert not list(host.disk.iterdir()), f"written on {host.name}: {ran}"


@check
def check_one_file_of_two_ranks(cluster, library):
    """Two ranks of a host with one file that is not meant to be shared."""
    ran = good(cluster.run(library, ONE_HOST, "-c1M -b4K -d1 -W0 -Su /mnt/file.dat"), 3)
    says(ran, "--shared", "{rank}")
    nothing_written(cluster, ran)
    shared = "--shared -c1M -b4K -d1 -W0 -Su --documents /mnt/docs"
    says(good(cluster.run(library, ONE_HOST, f"{shared} --exclusive /mnt/file.dat"), 3), "--exclusive", "one rank on each host")
    nothing_written(cluster, ran)
    good(cluster.run(library, ONE_HOST, f"{shared} /mnt/file.dat"))


@check
def check_too_little_room(cluster):
    """A file that does not fit on one host's disk."""
    small = cluster.lab[HOSTS[2]]
    cluster.lab.run(small.name, ["mkdir", "/mnt/data"])
    good(cluster.lab.run(small.name, ["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", "/mnt/data"]))
    try:
        for host in cluster.lab.hosts[:2]:
            (host.disk / "data").mkdir()
        ran = cluster.run("openmpi", HOSTS, "-c16M -b4K -d1 -Su /mnt/data/file.dat")
        assert ran.code not in (0, None), f"{ran}"
        says(ran, HOSTS[2])
        left = [path for host in cluster.lab.hosts[:2] for path in host.disk.glob("data/*")]
        assert not left, f"made on the others: {left}: {ran}"
    finally:
        cluster.lab.run(small.name, ["umount", "/mnt/data"])


# --- Faults ----------------------------------------------------------------------------------------------------

FAULT = LINE.format(seconds=12, more=f"--patience {PATIENCE} --json /mnt/sum.json --documents /mnt/docs")


@check
def check_kill_of_a_rank(cluster, library):
    """kill -9 of rank 2: the others finish, rank 0 says who is missing."""
    running = cluster.start(library, HOSTS, FAULT)
    os.kill(measures(running, 3)[2], signal.SIGKILL)
    began = time.monotonic()
    ran = running.end(60)
    partial(cluster, ran, 2, HOSTS[2], [0, 1])
    assert ran.code == 1, f"{ran}"
    nobody_left(ran)
    return f"exit code {ran.code}, {time.monotonic() - began:.1f} s after the kill"


@check
def check_kill_of_a_process(cluster, library):
    """kill -9 of the process that mpirun started for rank 2: mpirun ends all within seconds, and no rank is left over."""
    running = cluster.start(library, HOSTS, FAULT)
    measures(running, 3)
    os.kill(ranks_of(parents=True)[2], signal.SIGKILL)
    began = time.monotonic()
    ran = running.end(60)
    took = time.monotonic() - began
    assert ran.code != 0 and took < 15, f"{took:.1f} s: {ran}"
    nobody_left(ran, 15)
    return f"exit code {ran.code} after {took:.1f} s, {len(documents(cluster))} documents, result: {'Input parameters:' in ran.out}"


@check
def check_kill_of_rank_0(cluster, library):
    """kill -9 of rank 0: the others keep their documents, and end within a known time."""
    running = cluster.start(library, HOSTS, FAULT)
    os.kill(measures(running, 3)[0], signal.SIGKILL)
    began = time.monotonic()
    ran = running.end(60)
    took = time.monotonic() - began
    assert ran.code != 0 and took < 30, f"{took:.1f} s: {ran}"
    nobody_left(ran)
    names = [path.name for path in documents(cluster)]
    assert len([name for name in names if not name.startswith("rank-0000")]) == 2, f"{names}: {running.err()}"
    again = cluster.lab.run(HOSTS[1], [cluster.truespd("none"), "merge", *(path for path in documents(cluster) if "rank-0000" not in path.name)])
    good(again)
    return f"exit code {ran.code}, {took:.1f} s after it"


@check
def check_stop_of_a_rank(cluster, library):
    """SIGSTOP of rank 2 for ever: the others finish in time, and nothing is left over."""
    running = cluster.start(library, HOSTS, FAULT)
    os.kill(measures(running, 3)[2], signal.SIGSTOP)
    began = time.monotonic()
    ran = running.end(60)
    partial(cluster, ran, 2, HOSTS[2], [0, 1])
    assert ran.code != 0, f"{ran}"
    nobody_left(ran, 15)
    return f"exit code {ran.code}, {time.monotonic() - began:.1f} s after it"


@check
def check_stop_for_a_moment(cluster, library):
    """SIGSTOP of rank 2 for less than the patience: the result is whole."""
    running = cluster.start(library, HOSTS, FAULT)
    rank = measures(running, 3)[2]
    os.kill(rank, signal.SIGSTOP)
    time.sleep(PATIENCE - 2)
    os.kill(rank, signal.SIGCONT)
    ran = good(running.end(60))
    adds_up(cluster, ran, 3)


@check
def check_link_down(cluster, library):
    """The cable of a host is pulled for good: rank 0 prints what the others measured, and that host keeps its document."""
    running = cluster.start(library, HOSTS, FAULT)
    measures(running, 3)
    cluster.lab[HOSTS[2]].cable(False)
    began = time.monotonic()

    def has_result() -> bool:
        return (cluster.lab[HOSTS[0]].disk / "sum.json").exists() and "Input parameters:" in running.paths[0].read_text()

    until("rank 0 prints its result", has_result, 40)
    printed = time.monotonic() - began
    until("the lost host keeps its document", lambda: len(documents(cluster)) == 3, 40)
    until("no rank of truespd is left", lambda: not ranks_of(), 40)
    gone = time.monotonic() - began
    try:
        running.process.wait(10)
        end = f"mpirun ends with {running.process.returncode}"
    except Exception:  # noqa: BLE001
        end = "mpirun waits for the host until it is killed"
        os.kill(running.pid(), signal.SIGKILL)
    ran = running.end(80)
    partial(cluster, ran, 2, HOSTS[2], [0, 1, 2])
    return f"result {printed:.1f} s and all ranks gone {gone:.1f} s after it; {end}"


@check
def check_host_gone(cluster, library):
    """A host is switched off: all of its processes are gone at once, and its cable is silent."""
    running = cluster.start(library, HOSTS, FAULT, options=["--enable-recovery"] if library == "openmpi" else [])
    ranks = measures(running, 3)
    gone = cluster.lab[HOSTS[2]]
    gone.cable(False)
    os.kill(ranks[2], signal.SIGKILL)
    began = time.monotonic()

    def has_result() -> bool:
        return "Input parameters:" in running.paths[0].read_text()

    until("rank 0 prints its result", has_result, 40)
    printed = time.monotonic() - began
    os.kill(running.pid(), signal.SIGKILL)
    ran = running.end(80)
    partial(cluster, ran, 2, HOSTS[2], [0, 1])
    return f"result {printed:.1f} s after it"


@check
def check_interrupt_of_rank_0(cluster, library):
    """SIGINT to rank 0 alone: all ranks end in order, with what they measured."""
    running = cluster.start(library, HOSTS, FAULT)
    os.kill(measures(running, 3)[0], signal.SIGINT)
    began = time.monotonic()
    ran = running.end(40)
    took = time.monotonic() - began
    good(ran)
    is_result(ran)
    adds_up(cluster, ran, 3)
    assert took < 8, f"{took:.1f} s after it: {ran}"
    return f"{took:.1f} s after it"


@check
def check_interrupt_of_mpirun(cluster, library):
    """Ctrl+C: SIGINT to mpirun. With Open MPI the option that leaves the ranks time is needed."""
    options = ["--mca", "odls_base_sigkill_timeout", "4"] if library == "openmpi" else []
    running = cluster.start(library, HOSTS, FAULT, options=options)
    measures(running, 3)
    os.kill(running.pid(), signal.SIGINT)
    began = time.monotonic()
    ran = running.end(40)
    took = time.monotonic() - began
    is_result(ran)
    adds_up(cluster, ran, 3)
    nobody_left(ran)
    return f"exit code {ran.code}, {took:.1f} s after it"


@check
def check_interrupt_of_plain_mpirun(cluster):
    """Ctrl+C without that option: Open MPI leaves a second between SIGTERM and SIGKILL."""
    running = cluster.start("openmpi", HOSTS, FAULT)
    measures(running, 3)
    os.kill(running.pid(), signal.SIGINT)
    began = time.monotonic()
    ran = running.end(40)
    took = time.monotonic() - began
    nobody_left(ran)
    return f"exit code {ran.code}, {took:.1f} s after it, {len(documents(cluster))} documents, result: {'Input parameters:' in ran.out}"


@check
def check_slurm_cancel(cluster, library):
    """scancel of the job step: SIGTERM to every rank."""
    cluster.with_slurm()
    kind = "pmix" if library == "openmpi" else "pmi2"
    words = ["srun", "-N", len(HOSTS), f"--mpi={kind}", cluster.truespd(library), "cluster", "run", *FAULT.split()]
    running = cluster.lab.start(HOSTS[0], words, cluster.variables(library))
    measures(running, 3)
    good(cluster.lab.run(HOSTS[0], ["scancel", "--signal=INT", "--name=truespd"]))
    began = time.monotonic()
    ran = running.end(40)
    is_result(ran)
    adds_up(cluster, ran, 3)
    return f"exit code {ran.code}, {time.monotonic() - began:.1f} s after it"


@check
def check_slurm_kill_of_a_rank(cluster):
    """kill -9 of rank 2 under srun with PMI-2: the others finish."""
    cluster.with_slurm()
    words = ["srun", "-N", len(HOSTS), "--kill-on-bad-exit=0", "--mpi=pmi2", cluster.truespd("mpich"), "cluster", "run"]
    running = cluster.lab.start(HOSTS[0], [*words, *FAULT.split()])
    os.kill(measures(running, 3)[2], signal.SIGKILL)
    began = time.monotonic()
    ran = running.end(60)
    partial(cluster, ran, 2, HOSTS[2], [0, 1])
    return f"exit code {ran.code}, {time.monotonic() - began:.1f} s after it"


@check
def check_slurm_kill_of_a_rank_pmix(cluster):
    """The same with PMIx: Slurm's plugin notices it and ends the whole step; no rank is left over."""
    cluster.with_slurm()
    words = ["srun", "-N", len(HOSTS), "--kill-on-bad-exit=0", "--mpi=pmix", cluster.truespd("openmpi"), "cluster", "run"]
    running = cluster.lab.start(HOSTS[0], [*words, *FAULT.split()])
    os.kill(measures(running, 3)[2], signal.SIGKILL)
    began = time.monotonic()
    ran = running.end(60)
    assert ran.code != 0, f"{ran}"
    nobody_left(ran)
    return f"exit code {ran.code}, {time.monotonic() - began:.1f} s after it, {len(documents(cluster))} documents"
