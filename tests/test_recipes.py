"""Every recipe is read the way ``nlpkit fit --config`` reads it, and says what its name promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlpkit.cli.main import main
from nlpkit.configs import flatten, read_yaml, settings
from nlpkit.registry import BUILT_IN, get_spec

RECIPES = sorted((Path(__file__).parent.parent / "recipes").glob("*.yaml"))


def model_of(path: Path) -> str:
    return path.stem.partition("-")[0]


def test_every_model_that_can_be_trained_has_one() -> None:
    assert {model_of(path) for path in RECIPES} == {spec.name for spec in BUILT_IN.values() if spec.can_fit}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_is_read(path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status = main(["fit", model_of(path), "--config", str(path), "--print-config"])
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    (tmp_path / "c.yaml").write_text(out, encoding="utf-8")
    full = flatten(read_yaml(tmp_path / "c.yaml"))
    assert flatten(read_yaml(path)).items() <= full.items()
    keys = {leaf.key for leaf in settings(get_spec(model_of(path)).resolve("config"))}  # type: ignore[arg-type]
    assert keys <= set(full)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_names_no_files_and_says_how_it_is_used(path: Path) -> None:
    assert "run" not in read_yaml(path)
    text = path.read_text(encoding="utf-8")
    assert f"nlpkit fit {model_of(path)} --config recipes/{path.name} --train" in text
