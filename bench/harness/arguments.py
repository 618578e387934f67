# SPDX-License-Identifier: Apache-2.0
"""The command line: what the user asked for, or one sentence saying what is wrong with it.

Everything is checked here, before anything is installed or run; a bad value raises BadArgument with a message that
names the value and what would have been legal.
"""

import argparse
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.model import Workload

THREADS_MAX = 1024


class BadArgument(Exception):
    """The command line cannot be followed."""


@dataclass(frozen=True)
class Request:
    workloads: tuple[Workload, ...]
    programs: Path
    peers: tuple[str, ...] | None  # None: all
    threads: tuple[int, ...] | None  # None: what the table says
    quick: bool
    check: bool
    json: Path | None
    install: tuple[str, ...]  # empty: nothing may be installed


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise BadArgument(f"{message} (see --help)")


def unique(items):
    return tuple(dict.fromkeys(items))


def listed(items) -> str:
    return ", ".join(str(item) for item in items)


def parser(table: tuple[Workload, ...]) -> Parser:
    known = "\n".join(f"  {workload.id:<4} {workload.title}" for workload in table)
    p = Parser(
        prog="bench",
        description="Measures weft beside its peers.",
        epilog=f"workloads:\n{known}\n\nexit code: 0 done, 1 a bar is missed (--check), 2 bad arguments, "
        "3 a program failed or the JSON could not be written",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("letters", nargs="*", metavar="LETTERS", help="what to run: B, AB, a,b, b1; all if none is given")
    p.add_argument("--quick", action="store_true", help="shorter runs, each letter under 40 s")
    p.add_argument("--peers", metavar="A,B", help="run only these peers beside weft")
    p.add_argument("--threads", metavar="1,2", help="run only at these thread counts")
    p.add_argument("--json", metavar="FILE", help="write the rows to FILE too")
    p.add_argument("--check", action="store_true", help="exit 1 if a bar is missed")
    p.add_argument("--programs", metavar="DIR", required=True, help="where the benchmark programs were built")
    p.add_argument("--install-cmd", metavar="CMD", default="",
                   help="called as `CMD package...` when a peer's program is absent; installs and rebuilds")
    return p


def parse(argv: list[str] | None, table: tuple[Workload, ...]) -> Request:
    given = parser(table).parse_intermixed_args(argv)
    workloads = choose_workloads(given.letters, table)
    return Request(
        workloads=workloads,
        programs=programs_directory(given.programs),
        peers=None if given.peers is None else choose_peers(given.peers, workloads),
        threads=None if given.threads is None else choose_threads(given.threads, workloads),
        quick=given.quick,
        check=given.check,
        install=install_command(given.install_cmd),
        json=None if given.json is None else writable_file(given.json),
    )


def choose_workloads(words: list[str], table: tuple[Workload, ...]) -> tuple[Workload, ...]:
    """Accepts "B", "b1", "AB", "A,B" and any mixture; the answer keeps the order of the table."""
    wanted = []
    for word in re.split(r"[\s,]+", " ".join(words)):
        tokens = re.findall(r"[A-Za-z][0-9]*", word)
        if "".join(tokens) != word:
            raise unknown_workload(word, table)
        wanted += tokens
    if words and not wanted:
        raise unknown_workload(" ".join(words), table)
    chosen = set()
    for token in wanted:
        found = {w.id for w in table if token.upper() in (w.id.upper(), w.letter.upper())}
        if not found:
            raise unknown_workload(token, table)
        chosen |= found
    return tuple(w for w in table if not wanted or w.id in chosen)


def unknown_workload(value: str, table: tuple[Workload, ...]) -> BadArgument:
    legal = sorted({name for w in table for name in (w.letter, w.id)})
    return BadArgument(f"unknown workload '{value}'; legal are {listed(legal)}")


def choose_peers(text: str, workloads: tuple[Workload, ...]) -> tuple[str, ...]:
    legal = sorted({peer.name for w in workloads for peer in w.peers})
    names = unique(name.strip() for name in text.split(","))
    for name in names:
        if name not in legal:
            raise BadArgument(f"unknown peer '{name}' in --peers; legal for {listed(w.id for w in workloads)} "
                              f"are {listed(legal)}")
    return names


def choose_threads(text: str, workloads: tuple[Workload, ...]) -> tuple[int, ...]:
    counts = []
    for word in text.split(","):
        word = word.strip()
        if not re.fullmatch(r"[0-9]{1,9}", word, re.ASCII) or not 1 <= int(word) <= THREADS_MAX:
            raise BadArgument(f"bad thread count '{word}' in --threads; legal are whole numbers from 1 to "
                              f"{THREADS_MAX}")
        counts.append(int(word))
    if all(w.fixed_threads and not set(w.threads) & set(counts) for w in workloads):
        legal = sorted({count for w in workloads for count in w.threads})
        raise BadArgument(f"nothing runs at --threads {text}; legal for {listed(w.id for w in workloads)} "
                          f"are {listed(legal)}")
    return unique(counts)


def programs_directory(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise BadArgument(f"--programs '{text}' is not a directory; it must be the one the programs were built into")
    return path.resolve()


def install_command(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise BadArgument(f"--install-cmd '{text}' cannot be read as a command: {error}") from None
    if words and shutil.which(words[0]) is None:
        raise BadArgument(f"--install-cmd '{text}' is not a command; it must name an executable")
    return words


def writable_file(text: str) -> Path:
    """Opens the file as the report will, so that a bad path is known now and not after the measurements."""
    path = Path(text)
    existed = path.exists()
    try:
        path.open("a").close()
        if not existed:
            path.unlink()
    except OSError as error:
        raise BadArgument(f"cannot write --json '{text}': {error.strerror}; "
                          "it must be a file in a writable directory") from None
    return path
