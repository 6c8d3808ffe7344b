"""Idle threads wait asleep, and no more threads compute than the user wants; each in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nlpkit.threads import CHOICES

MAIN = "import sys; from nlpkit.cli.main import main; main(sys.argv[1:])"

WATCHED = """\
import os, sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            print("torch", os.environ.get("OMP_WAIT_POLICY"))
            sys.stdout.flush()
            os._exit(0)
sys.meta_path.insert(0, Watch())
"""


@pytest.fixture
def plain(environment: dict[str, str]) -> dict[str, str]:
    """The environment of a user who has said nothing about threads."""
    return {k: v for k, v in environment.items() if k not in CHOICES and not k.startswith(("OMP_", "MKL_"))}


def python(code: str, *words: object, env: dict[str, str]) -> str:
    run = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(run, env=env, capture_output=True, text=True, check=True).stdout


def test_passive_waiting_is_set_before_torch_is_imported(folder: Path, texts: Path, plain: dict[str, str]) -> None:
    assert python(WATCHED + MAIN, "predict", folder, texts, env=plain) == "torch passive\n"


@pytest.mark.parametrize(("name", "seen"), [("OMP_WAIT_POLICY", "active"), ("GOMP_SPINCOUNT", "None")])
def test_what_the_user_set_stays(name: str, seen: str, folder: Path, texts: Path, plain: dict[str, str]) -> None:
    assert python(WATCHED + MAIN, "predict", folder, texts, env=plain | {name: "active"}) == f"torch {seen}\n"


def test_importing_nlpkit_changes_no_environment(plain: dict[str, str]) -> None:
    code = "import os, nlpkit.model, nlpkit.cli.main; print(os.environ.get('OMP_WAIT_POLICY'))"
    assert python(code, env=plain) == "None\n"


@pytest.mark.parametrize("command", ["predict {0} {1}", "evaluate {0} {1}", "fit fake --train {1} --out {2}"])
def test_threads(command: str, folder: Path, texts: Path, tmp_path: Path, plain: dict[str, str]) -> None:
    words = [word.format(folder, texts, tmp_path / "run") for word in command.split()]
    code = f"{MAIN}; import torch; print(torch.get_num_threads())"
    assert python(code, *words, "--threads", "1", env=plain).splitlines()[-1] == "1"


@pytest.mark.parametrize("command", ["predict model in.txt", "evaluate model in.txt", "fit fake --train in.txt"])
def test_a_number_of_threads_that_is_none(command: str, plain: dict[str, str]) -> None:
    run = [sys.executable, "-m", "nlpkit", *command.split(), "--threads", "0"]
    done = subprocess.run(run, env=plain, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "nlpkit: --threads: expected a whole number of 1 or more, found '0'\n")
