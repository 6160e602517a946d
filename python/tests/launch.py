"""Runs evaluator programs as a host runs them, and finds this package, the sample payload and the parthack program."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PACKAGE_FOLDER = TESTS.parent
REPOSITORY = PACKAGE_FOLDER.parent
SAMPLE = TESTS / "data" / "payload.json"
SAMPLE_CANDIDATE = TESTS / "data" / "candidate.json"
HELLO_FROM_HOST = b'{"protocol":"parthack.evaluator/1"}\n'

if str(PACKAGE_FOLDER) not in sys.path:
    sys.path.insert(0, str(PACKAGE_FOLDER))


def sample():
    """The sample payload, read anew."""
    return json.loads(SAMPLE.read_text("utf-8"))


def program():
    """The parthack program: PARTHACK_BIN, or the one built in this repository, or the one on PATH. None without one.

    A PARTHACK_BIN that names nothing is an error, so that a set-up that means to compare can't skip in silence.
    """
    named = os.environ.get("PARTHACK_BIN")
    if named:
        found = shutil.which(named)
        if found is None:
            raise FileNotFoundError("PARTHACK_BIN={}: no such program".format(named))
        return found
    for kind in ("release", "debug"):
        built = REPOSITORY / "target" / kind / "parthack"
        if built.is_file() and os.access(built, os.X_OK):
            return str(built)
    return shutil.which("parthack")


class Done:
    """What a program left: exit code, answers (the hello apart) and stderr."""

    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err.decode("utf-8", "backslashreplace")

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.decode("utf-8").split("\n") if line]

    @property
    def hello(self):
        return self.lines[0]

    @property
    def answers(self):
        return self.lines[1:]


def environment(**more):
    """Hardly any environment: no HOME, no locale."""
    return {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": str(PACKAGE_FOLDER), **more}


def start(source, *arguments, interpreter=(), environment_more=None, **options):
    """Starts a program of this source text."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "my_eval.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(source))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    child = subprocess.Popen(
        [sys.executable, *interpreter, path, *arguments], env=environment(**(environment_more or {})), **pipes
    )
    child.folder = folder
    return child


def run(source, lines=(), *arguments, **options):
    """Runs a program of this source text on payload lines (bytes, or JSON values) to its end."""
    data = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    child = start(source, *arguments, **options)
    try:
        out, err = child.communicate(data, timeout=60)
    finally:
        child.kill()
        child.wait()
        shutil.rmtree(child.folder)
    return Done(child.returncode, out, err or b"")
