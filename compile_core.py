"""Compiles the engine: `python compile_core.py build/compiled` creates `build/compiled/core`, whose hot modules are compiled with mypyc.

If `build/compiled` precedes the sources on the module path, Python uses the compiled modules. All other modules are plain copies. Compiled
modules and sources produce the same events, byte for byte. Compiling needs a C compiler, mypy, and setuptools (locks/compile.txt).

    --use       make this Python use the copy, for example in the command `isrlab`, unless it runs in the directory of the sources
    --leave     make this Python use the sources again
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).resolve().parent / "core"

HOT: Final = (
    "kafka/broker/abstract_fetch_session", "kafka/broker/broker", "kafka/broker/context", "kafka/broker/follower/fetch_response",
    "kafka/broker/follower/fetcher", "kafka/broker/follower/fetcher_manager", "kafka/broker/follower/partition_fetch_state",
    "kafka/broker/follower/truncation", "kafka/broker/hosted_partitions", "kafka/broker/kafka_config", "kafka/broker/partition",
    "kafka/broker/purgatory/delayed_operations", "kafka/broker/purgatory/delayed_produce", "kafka/broker/purgatory/produce_response",
    "kafka/broker/replica", "kafka/broker/replica_manager", "kafka/broker/replication_quota", "kafka/broker/requests/fetch_manager",
    "kafka/broker/requests/fetch_session", "kafka/broker/requests/follower_fetch", "kafka/broker/requests/leader_append",
    "kafka/clients/accumulator/producer_batch", "kafka/clients/accumulator/record_accumulator", "kafka/clients/client",
    "kafka/clients/consumer/consumer", "kafka/clients/producer/in_flight_batches", "kafka/clients/producer/producer",
    "kafka/clients/producer/send_calls", "kafka/clients/producer/sender", "kafka/log/cleaner/compacted_term",
    "kafka/log/leader_epoch_cache", "kafka/log/leader_term", "kafka/log/log_records", "kafka/log/replica_log", "lab/cluster",
    "lab/cluster_nodes", "sim/agenda", "sim/journal", "sim/long_polling", "sim/network", "sim/node", "sim/simulation",
)  # fmt: skip
"""The modules that execute plain replication. They are compiled together, so that each module knows the types of the others."""

BASES: Final = {
    "AbstractCachedPartition",
    "AbstractFetchSession",
    "Client",
    "ClusterNodes",
    "Node",
    "Simulation",
}
"""Compiled classes from which other compiled classes are derived."""

MARK: Final = "@mypyc_attr(allow_interpreted_subclasses=True)\n"
"""The decorator of the compiled classes in the copy. It allows classes in uncompiled modules to derive from them, and allows objects to be
created without `__init__`, which keyframes need.
"""

FINAL: Final = re.compile(r"(?<=: )Final\[(.+)\]\n")
"""Matches `Final` annotations, which are removed from the compiled classes in the copy: only `__init__` can set a final field of a compiled
class, but a snapshot must also set it.
"""

USE: Final = "isrlab-compiled.pth"


def copied(text: str, *, hot: bool) -> str:
    """Return the text of a module in the copy."""
    lines = text.splitlines(keepends=True)
    body = ast.parse(text).body if hot else []
    marked = [
        each.lineno - 1
        for each in body
        if isinstance(each, ast.ClassDef) and all(isinstance(base, ast.Name) and base.id in BASES for base in each.bases)
    ]
    for each in body:
        for field in each.body if isinstance(each, ast.ClassDef) else ():
            if isinstance(field, ast.AnnAssign) and field.value is None:
                lines[field.lineno - 1] = FINAL.sub(r"\1\n", lines[field.lineno - 1])
    for at in reversed(marked):
        lines.insert(at, MARK)
    if marked:
        future = next(at for at, line in enumerate(lines) if line.startswith("from __future__"))
        lines.insert(future + 1, "from mypy_extensions import mypyc_attr\n")
    return "".join(lines)


def copy(directory: Path) -> bool:
    """Bring the copy up to date. Return False if it was already up to date."""
    sources = {path.relative_to(SOURCES.parent): path for path in SOURCES.rglob("*.py")}
    changed = False
    for former in (directory / "core").rglob("*.py"):
        if former.relative_to(directory) not in sources:
            former.unlink()
            changed = True
    for name, source in sorted(sources.items()):
        text = copied(source.read_text("utf-8"), hot=str(name.relative_to("core").with_suffix("")) in HOT)
        target = directory / name
        if not target.exists() or target.read_text("utf-8") != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
            changed = True
    return changed


def build(directory: Path) -> None:
    """Create and compile the copy, unless it is up to date.

    Raises:
        ImportError: mypy or setuptools is missing.
        OSError: the compiler failed or is missing.
    """
    done = directory / "done"
    if not copy(directory) and done.exists():
        return
    done.unlink(missing_ok=True)
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.errors import BaseError, CCompilerError

    with contextlib.chdir(directory), contextlib.redirect_stdout(sys.stderr):
        try:
            modules = mypycify(
                ["--config-file=", *(f"core/{name}.py" for name in HOT)], opt_level="3", debug_level="0", group_name="isrlab"
            )
            command = Distribution({"name": "isrlab", "ext_modules": modules}).get_command_obj("build_ext")
            command.inplace = True
            command.parallel = os.cpu_count()
            command.ensure_finalized()
            command.run()
        except (BaseError, CCompilerError) as error:
            raise OSError(str(error)) from error
    shutil.rmtree(directory / "build")
    done.touch()


def use(directory: Path | None) -> None:
    """Make this Python use the copy in a directory or, if the directory is None, the sources."""
    note = Path(sysconfig.get_path("purelib"), USE)
    if directory is None:
        note.unlink(missing_ok=True)
    else:
        note.write_text(f"{directory.resolve()}\n", "utf-8")


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit code."""
    if list(arguments) == ["--leave"]:
        use(None)
        return 0
    directories = [Path(each) for each in arguments if each != "--use"]
    if len(directories) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        build(directories[0])
    except (ImportError, OSError) as error:
        print(
            f"the engine cannot be compiled: {error}; it takes a C compiler (on Debian and Ubuntu: apt install gcc python3-dev), and "
            "mypy and setuptools (locks/compile.txt)",
            file=sys.stderr,
        )
        return 2
    if "--use" in arguments:
        use(directories[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
