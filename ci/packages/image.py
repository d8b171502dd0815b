"""The container image: the static programs and nothing else. Built with buildah; needs no engine and no registry."""

import os
import shutil
import tempfile
from pathlib import Path

from .place import STAGE, VERSION, Missing, Processor, epoch, run, say, told


def make(processor: Processor) -> None:
    """dist/...-oci.tar from what stands in the stage."""
    if not shutil.which("buildah"):
        raise Missing("buildah is missing: run ci/setup package")
    archive = processor.oci()
    say(f"dist/{archive.name}")
    with tempfile.TemporaryDirectory(prefix="truespd-image-") as folder:
        root = Path(folder) / "root"
        for directory in ("usr/bin", "usr/share/doc/truespd", "data", "tmp"):
            (root / directory).mkdir(parents=True)
        for program in (STAGE / "bin").iterdir():
            shutil.copy(program, root / "usr/bin", follow_symlinks=False)
        for paper in ("LICENSE", "THIRD-PARTY.txt"):
            shutil.copy(STAGE / "share/doc" / paper, root / "usr/share/doc/truespd")
        for writable in ("data", "tmp"):
            (root / writable).chmod(0o1777)
        # Storage of its own, so that the images of this machine stay as they are.
        storage = ["--root", f"{folder}/storage", "--runroot", f"{folder}/run", "--storage-driver", "vfs"]
        variables = {**os.environ, "BUILDAH_ISOLATION": "chroot"}
        container = told("buildah", *storage, "from", "--arch", processor.image, "scratch", env=variables)
        run("buildah", *storage, "copy", "--quiet", container, root, "/", env=variables, stdout=-3)
        labels = {
            "org.opencontainers.image.title": "TrueSpd",
            "org.opencontainers.image.description": "DiskSpd for Linux, with a verdict on every result",
            "org.opencontainers.image.version": VERSION,
            "org.opencontainers.image.licenses": "MIT",
        }
        words = [word for key, value in labels.items() for word in ("--label", f"{key}={value}")]
        words += ["--env", "PATH=/usr/bin", "--workingdir", "/data", "--arch", processor.image, "--os", "linux", "--cmd", "truespd --help"]
        run("buildah", *storage, "config", *words, container, env=variables)
        archive.unlink(missing_ok=True)
        reference = f"oci-archive:{archive}:truespd:{VERSION}"
        run("buildah", *storage, "commit", "--quiet", "--disable-compression=false", "--timestamp", epoch(), "--format", "oci", container, reference, env=variables, stdout=-3)
        run("buildah", *storage, "rm", container, env=variables, stdout=-3)
