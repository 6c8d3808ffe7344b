"""The import contracts of ``pyproject.toml``: the tree keeps them, and each one breaks when it is violated."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from link_farm import ROOT, make_farm

CONFIG = ROOT / "pyproject.toml"
CONTRACTS = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]

# contract -> (file inside nlpkit, line added to it)
PLANTS = [
    ("layers", "results.py", "import nlpkit.ie.types"),
    ("layers", "cli/__init__.py", "def f():\n    from nlpkit.ie.utcie import config"),
    ("layers", "intent/__init__.py", "import nlpkit.ie.types"),
    ("layers", "newcomer.py", ""),
    ("root", "__init__.py", "from nlpkit.ie import types"),
    ("torch-free", "ie/types.py", "import torch"),
    ("torch-free", "ie/utcie/config.py", "from torch import nn"),
    ("torch-free", "cli/__init__.py", "def f():\n    import transformers"),
    ("lightning", "ie/utcie/model.py", "import pytorch_lightning as pl"),
    ("lightning", "encoder/__init__.py", "def f():\n    import pytorch_lightning"),
    ("transformers", "ie/utcie/model.py", "from transformers import AutoModel"),
    ("model", "ie/utcie/model.py", "from nlpkit.training.config import TrainConfig"),
]


def lint(farm: Path, contract: str | None = None) -> subprocess.CompletedProcess[str]:
    chosen = ["--contract", contract] if contract else []
    code = "import sys; from importlinter.cli import lint_imports_command as main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-logo", "--no-cache", *chosen, str(CONFIG)],
        cwd=farm.parent,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_tree_keeps_every_contract(tmp_path: Path) -> None:
    done = lint(make_farm(tmp_path))
    assert done.returncode == 0, done.stdout
    assert f"{len(CONTRACTS)} kept, 0 broken" in done.stdout


@pytest.mark.parametrize(("contract", "file", "line"), PLANTS)
def test_a_planted_violation_breaks_the_contract(contract: str, file: str, line: str, tmp_path: Path) -> None:
    farm = make_farm(tmp_path)
    path = farm / file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)  # a link into the sources: never write through it
    path.write_text(f"{text}\n{line}\n", encoding="utf-8")
    done = lint(farm, contract)
    assert done.returncode != 0, done.stdout
    assert "0 kept, 1 broken" in done.stdout or "newcomer" in done.stdout, done.stdout


def test_every_contract_has_a_planted_violation() -> None:
    assert {contract["id"] for contract in CONTRACTS} == {contract for contract, _, _ in PLANTS}
