"""The zoo: built-in rows, rows of other packages, and names that nobody has."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from nlpkit.configs import settings
from nlpkit.errors import ConfigError
from nlpkit.registry import BUILT_IN, ModelSpec, all_specs, get_spec, list_models

SITE = Path(__file__).parent / "cli" / "site"
PARTS = ("config", "api", "reader", "parser", "writer", "checker", "weights")


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that announces models, as if it were installed."""
    monkeypatch.syspath_prepend(str(SITE))


def test_the_zoo_is_a_snapshot() -> None:
    assert sorted(BUILT_IN) == ["minilm", "utcie"]


@pytest.mark.parametrize("spec", BUILT_IN.values(), ids=lambda spec: spec.name)
def test_every_place_of_a_row_exists(spec: ModelSpec) -> None:
    named = [part for part in PARTS if getattr(spec, part) is not None]
    assert named
    for part in named:
        assert callable(spec.resolve(part)) or part == "writer"


@pytest.mark.parametrize("spec", [s for s in BUILT_IN.values() if s.can_fit], ids=lambda spec: spec.name)
def test_every_common_option_is_a_setting(spec: ModelSpec) -> None:
    keys = {setting.key for setting in settings(spec.resolve("config"))}  # type: ignore[arg-type]
    assert spec.common_options
    assert set(spec.common_options) <= keys


def test_another_package_can_announce_a_model(announced: None) -> None:
    assert get_spec("fake").resolve("config").__name__ == "FakeConfig"
    assert {"fake", "utcie"} <= set(list_models())


def test_an_announced_model_cannot_replace_a_built_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "thief-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thief\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[nlpkit.models]\nutcie = no_such_module:SPEC\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert get_spec("utcie") is BUILT_IN["utcie"]
    assert list_models().count("utcie") == 1


def test_the_import_error_of_an_announced_model_is_raised_as_it_is(announced: None) -> None:
    with pytest.raises(ModuleNotFoundError, match="a_package_that_nobody_has"):
        get_spec("fake-broken")


def test_a_broken_package_does_not_hide_the_others(announced: None) -> None:
    rows = {row.name if isinstance(row, ModelSpec) else row[0]: row for row in all_specs()}
    assert isinstance(rows["fake"], ModelSpec)
    assert isinstance(rows["fake-broken"], tuple)


def test_an_entry_point_that_is_no_row_is_named(announced: None) -> None:
    with pytest.raises(ConfigError, match=r"fake_nlpkit\.spec:NOT_A_SPEC.*expected a nlpkit\.registry\.ModelSpec"):
        get_spec("fake-wrong")


@pytest.mark.parametrize(("typed", "meant"), [("utci", "utcie"), ("utc-ie", "utcie"), ("faek", "fake")])
def test_an_unknown_name_lists_the_nearest(announced: None, typed: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean.* {meant}"):
        get_spec(typed)


def test_a_name_like_no_other_lists_all() -> None:
    with pytest.raises(ConfigError, match="known models: minilm, utcie"):
        get_spec("zzzzzz")


def test_a_part_that_a_model_lacks_is_named() -> None:
    with pytest.raises(ConfigError, match="'minilm' has no api"):
        get_spec("minilm").resolve("api")


def test_built_in_names_do_not_scan_entry_points() -> None:
    code = "import sys, nlpkit.registry as r; r.get_spec('utcie'); print('importlib.metadata' in sys.modules)"
    # -S: the site module of an editable install may load it itself.
    path = str(Path(importlib.import_module("nlpkit").__file__ or "").parent.parent)
    run = [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {path!r}); {code}"]
    assert subprocess.check_output(run, text=True).strip() == "False"


def test_public_names_are_there_and_lazy() -> None:
    nlpkit = importlib.import_module("nlpkit")
    for name in nlpkit.__all__:
        assert getattr(nlpkit, name) is not None
    assert set(nlpkit.__all__) <= set(dir(nlpkit))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = nlpkit.nothing
