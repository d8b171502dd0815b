"""The licences of everything that is linked into the programs: what they ask whoever passes the programs on to pass on, too."""

import json
import re
from pathlib import Path

from . import toolchain
from .place import ROOT, Missing, Processor, told

NAMES = re.compile(r"^(licen[sc]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


def text(processor: Processor, *, static: bool) -> str:
    """One text: every crate with version and licence, then the texts of the licences, each once."""
    by_text: dict[str, list[str]] = {}
    rows = []
    for package in linked(processor):
        title = f"{package['name']} {package['version']}"
        rows.append(f"  {title}: {package['license'] or 'see below'}")
        folder = Path(package["manifest_path"]).parent
        # Fonts that a crate holds have a licence of their own beside them.
        files = [file for file in sorted(folder.rglob("*")) if file.is_file() and NAMES.match(file.name) and file.suffix in ("", ".txt", ".md")]
        for file in files:
            by_text.setdefault(file.read_text(errors="replace").strip(), []).append(f"{title}, {file.relative_to(folder)}")
    parts = ["TrueSpd is under the MIT licence (LICENSE). It is linked with these crates, each under its own licence:\n\n" + "\n".join(rows)]
    parts.append("and with the standard library of Rust (MIT OR Apache-2.0) and SQLite (public domain).")
    if static:
        parts.append(glibc())
    for licence, whose in sorted(by_text.items(), key=lambda item: item[1]):
        parts.append("-" * 78 + "\n" + "\n".join(whose) + "\n\n" + licence)
    return "\n\n".join(parts) + "\n"


def linked(processor: Processor) -> list[dict]:
    """The crates that are part of the programs, not those that only build or test them."""
    words = ("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", processor.target)
    known = json.loads(told(*words, cwd=ROOT, env=toolchain.environment(processor)))
    packages = {package["id"]: package for package in known["packages"]}
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    own = {package["id"] for package in known["packages"] if package["source"] is None}
    found, ahead = set(), [name for name in own if packages[name]["name"] in ("diskspd", "truespd", "truespd-mpi")]
    while ahead:
        node = nodes[ahead.pop()]
        for needed in node["deps"]:
            part = any(kind["kind"] is None for kind in needed["dep_kinds"])
            macro = any("proc-macro" in target["kind"] for target in packages[needed["pkg"]]["targets"])
            if part and not macro and needed["pkg"] not in found:
                found.add(needed["pkg"])
                ahead.append(needed["pkg"])
    return sorted((packages[name] for name in found - own), key=lambda package: (package["name"], package["version"]))


def glibc() -> str:
    """What the licence of glibc asks for where a program holds parts of it."""
    licence = Path("/usr/share/common-licenses/LGPL-2.1")
    if not licence.exists():
        raise Missing(f"{licence} is missing: the static programs need the licence of glibc beside them")
    version = told("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", "libc6-dev")
    return (
        f"These programs are static: they hold parts of the GNU C library as Debian builds it (source package {version}; Debian's\n"
        "archive has its source), under the GNU Lesser General Public License 2.1, whose text follows. To use another version of the\n"
        "library, build TrueSpd from its source with it: RUSTFLAGS='-C target-feature=+crt-static' cargo build --release --target ...\n\n"
        + licence.read_text().strip()
    )
