"""What an import loads, seen from a fresh interpreter each time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from link_farm import module_names

HEAVY = set("torch transformers pytorch_lightning lightning sklearn scipy seqeval sentence_transformers spacy".split())
MAY_LOAD_TORCH = (
    r"nlpkit\.(_compat|model)",
    r"nlpkit\.(encoder|training)\.(?!config$|__init__$)\w+",
    r"nlpkit\.(ie|intent|sentence|dialogue)\.\w+\.(?!config$)\w+",
)
MODULES = module_names()
TORCH_FREE = [n for n in MODULES if not any(re.fullmatch(p, n) for p in MAY_LOAD_TORCH) and n != "nlpkit.__main__"]
PREDICT_PATH = [
    n for n in MODULES if n == "nlpkit.model" or re.fullmatch(r"nlpkit\.\w+\.\w+\.(api|model|data|decode)", n)
]


def loaded_by(statement: str, cwd: Path) -> set[str]:
    """The top-level packages in ``sys.modules`` after the statement, in a new interpreter away from the sources."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted({{n.partition('.')[0] for n in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_probe_sees_what_is_loaded(tmp_path: Path) -> None:
    assert "networkx" in loaded_by("import networkx", tmp_path)


def test_the_rule_picks_the_right_modules() -> None:
    assert {"nlpkit", "nlpkit.errors", "nlpkit.cli", "nlpkit.ie", "nlpkit.ie.types", "nlpkit.ie.utcie.config"} <= set(
        TORCH_FREE
    )
    assert not {"nlpkit.ie.utcie.model", "nlpkit.model"} & set(TORCH_FREE)


@pytest.mark.parametrize("name", TORCH_FREE)
def test_import_loads_nothing_heavy(name: str, tmp_path: Path) -> None:
    assert not loaded_by(f"import {name}", tmp_path) & HEAVY


@pytest.mark.parametrize("name", PREDICT_PATH)
def test_predicting_does_not_load_lightning(name: str, tmp_path: Path) -> None:
    assert not loaded_by(f"import {name}", tmp_path) & {"pytorch_lightning", "lightning", "torchmetrics"}
