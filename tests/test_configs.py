"""Settings: plain data and back, and errors that name the setting."""

from __future__ import annotations

import copy
import math
import pickle
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.cli.fit import Plan
from nlpkit.configs import (
    Config,
    apply_overrides,
    attribute_docs,
    flatten,
    from_dict,
    merge,
    nest,
    read_yaml,
    settings,
    to_dict,
    write_yaml,
)
from nlpkit.encoder.config import EncoderConfig
from nlpkit.errors import ConfigError
from nlpkit.ie.utcie.config import IEDataConfig, UTCIEConfig, UTCIEModelConfig
from nlpkit.registry import BUILT_IN
from nlpkit.training.config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A part."""

    n: int = 1
    """How many."""

    x: float = 0.5
    pair: tuple[int, str] = (1, "a")
    many: tuple[float, ...] = ()
    table: dict[str, float] = field(default_factory=dict)
    maybe: str | None = None
    is_on: bool = False
    mode: Literal["a", "b"] = "a"


@dataclass(frozen=True, kw_only=True)
class Outer:
    """The whole."""

    inner: Inner = field(default_factory=Inner)
    seed: int = 1


WILD = Outer(
    inner=Inner(
        n=-3, x=1e-07, pair=(2, "null"), many=(1.0, math.inf), table={"no": 2.0}, maybe="1e3", is_on=True, mode="b"
    )
)


@pytest.mark.parametrize("config", [Outer(), WILD])
def test_round_trip_as_dict_and_yaml(config: Outer, tmp_path: Path) -> None:
    assert from_dict(Outer, to_dict(config)) == config
    path = tmp_path / "c.yaml"
    path.write_text(write_yaml(to_dict(config)), encoding="utf-8")
    assert from_dict(Outer, read_yaml(path)) == config


def test_round_trip_of_a_model(tmp_path: Path) -> None:
    config = UTCIEConfig(model=UTCIEModelConfig(layers=0), data=IEDataConfig(symmetric=("no", "2", "é: #x")), seed=3)
    path = tmp_path / "c.yaml"
    path.write_text(write_yaml(to_dict(config)), encoding="utf-8")
    assert from_dict(UTCIEConfig, read_yaml(path)) == config


@given(st.text(), st.floats(allow_nan=False), st.integers())
def test_any_value_survives_yaml(text: str, number: float, whole: int) -> None:
    import yaml

    from nlpkit._yaml import Loader

    data = {"t": text, "x": number, "n": whole, "l": [text]}
    assert yaml.load(write_yaml(data), Loader=Loader) == data


@pytest.mark.parametrize(
    ("data", "key", "message"),
    [
        ({"inner": {"n": "3"}}, "inner.n", "expected a whole number, found the text '3'"),
        ({"inner": {"n": 3.0}}, "inner.n", "expected a whole number, found 3.0"),
        ({"inner": {"n": True}}, "inner.n", "expected a whole number, found true"),
        ({"inner": {"n": None}}, "inner.n", "expected a whole number, found nothing"),
        ({"inner": {"x": "1"}}, "inner.x", "expected a number, found the text '1'"),
        ({"inner": {"x": False}}, "inner.x", "expected a number, found false"),
        ({"inner": {"is_on": 1}}, "inner.is_on", "expected true or false, found 1"),
        ({"inner": {"maybe": 1}}, "inner.maybe", "expected text or null, found 1"),
        ({"inner": {"mode": "c"}}, "inner.mode", "expected one of a, b, found the text 'c'"),
        ({"inner": {"many": 1.0}}, "inner.many", "expected a list of numbers, found 1.0"),
        ({"inner": {"many": [1, "x"]}}, "inner.many[1]", "expected a number, found the text 'x'"),
        ({"inner": {"pair": [1]}}, "inner.pair", "expected a list of 2 values"),
        ({"inner": {"table": {"k": "x"}}}, "inner.table.k", "expected a number"),
        ({"inner": 3}, "inner", "expected a section of settings, found 3"),
        ({"seed": [1]}, "seed", "expected a whole number"),
        ({"inner": {"mod": "a"}}, "inner.mod", "did you mean inner.mode?"),
        ({"iner": {}}, "iner", "did you mean inner?"),
        ({"mode": "a"}, "mode", "did you mean inner.mode?"),
        ({"qqq": 1}, "qqq", "known here: inner, seed"),
    ],
)
def test_a_wrong_value_names_the_setting(data: dict[str, object], key: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_dict(Outer, data)
    assert caught.value.key == key
    assert str(caught.value).startswith(f"{key}: ")
    assert message in str(caught.value)


def test_what_is_close_enough_is_taken() -> None:
    made = from_dict(Outer, {"inner": {"x": 2, "many": [1, 2.5], "maybe": None}})
    assert made.inner.x == 2.0
    assert type(made.inner.x) is float
    assert made.inner.many == (1.0, 2.5)
    assert from_dict(Outer, {"inner": None}) == Outer()


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_a_rate_is_finite(number: float) -> None:
    with pytest.raises(ConfigError, match="and finite") as caught:
        apply_overrides(UTCIEConfig(), {"trainer.head_lr": number})
    assert caught.value.key == "trainer.head_lr"


def test_post_init_checks_the_combination() -> None:
    with pytest.raises(ConfigError) as caught:
        apply_overrides(UTCIEConfig(), {"model.max_words": 50})
    assert caught.value.key == "model.window_overlap"


def test_overrides_leave_the_rest() -> None:
    config = apply_overrides(WILD, {"inner.n": 9})
    assert config.inner.n == 9
    assert config.inner.mode == "b"
    assert WILD.inner.n == -3


def test_merge_nest_and_flatten() -> None:
    flat = {"a.b.c": 1, "a.d": 2, "e": 3}
    assert flatten(nest(flat)) == flat
    weak = {"a": {"b": 1}, "c": 2}
    assert merge(weak, {"a": {"b": 3}}) == {"a": {"b": 3}, "c": 2}
    assert weak == {"a": {"b": 1}, "c": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "'a' is given twice"),
        ("a: [1\n", "line 2"),
        ("- 1\n", "expected 'name: value' lines"),
        ("just words", "expected 'name: value' lines"),
        ("a: !!python/object:os.system x\n", "could not determine a constructor"),
        ("a: " + "[" * 3000 + "]" * 3000, "nested too deep"),
    ],
)
def test_a_bad_file_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"c\.yaml: not a settings file") as caught:
        read_yaml(path)
    assert message in str(caught.value)


def test_a_binary_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="no UTF-8 text"):
        read_yaml(tmp_path / "c.yaml")


@pytest.mark.parametrize("number", ["1e-3", "1E-3", "1.e-3", "+1e-3", "0.001", ".1e-2"])
def test_numbers_as_people_write_them(number: str, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"x: {number}\n")
    assert read_yaml(path) == {"x": 0.001}


def test_an_empty_file_is_no_settings(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("# nothing\n")
    assert read_yaml(tmp_path / "c.yaml") == {}


def test_help_comes_from_the_docstrings_of_the_attributes() -> None:
    assert attribute_docs(Inner) == {"n": "How many."}
    leaves = {leaf.key: leaf for leaf in settings(Outer)}
    assert leaves["inner.n"].help == "How many."
    assert leaves["inner.n"].section == "inner"
    assert leaves["inner.table"].default == {}
    assert list(leaves)[-1] == "seed"


def test_every_setting_of_the_model_has_help() -> None:
    assert [leaf.key for leaf in settings(UTCIEConfig) if not leaf.help and leaf.key != "seed"] == []


# Made in Python.

CONFIGS = [Plan, *(spec.resolve("config") for spec in BUILT_IN.values() if spec.config)]


def with_sections(cls: type) -> list[type]:
    found = [cls]
    for one in fields(cls):
        part = one.default_factory
        found += with_sections(part) if isinstance(part, type) and issubclass(part, Config) else []
    return found


@pytest.mark.parametrize("cls", [cls for top in CONFIGS for cls in with_sections(top)])
def test_every_class_of_settings_refuses_a_value_of_another_type_at_once(cls: type) -> None:
    assert issubclass(cls, Config)
    needed = {"model": "utcie"} if cls is Plan else {}
    for one in fields(cls):
        with pytest.raises(ConfigError, match="expected") as caught:
            cls(**{**needed, one.name: object()})
        assert caught.value.key == ".".join(filter(None, (cls.section, one.name)))


def test_a_dict_is_a_section() -> None:
    made = UTCIEConfig(trainer={"epochs": 5, "clip": 2}, model={"layers": 0}, encoder={}, data={"symmetric": ["a"]})
    assert made == UTCIEConfig(
        trainer=TrainConfig(epochs=5, clip=2.0), model=UTCIEModelConfig(layers=0), data=IEDataConfig(symmetric=("a",))
    )
    assert type(made.trainer.clip) is float
    assert replace(made, trainer={"epochs": 6}).trainer == TrainConfig(epochs=6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UTCIEConfig(trainer={"epoch": 5}), "trainer.epoch: unknown setting; did you mean trainer.epochs?"),
        (lambda: UTCIEConfig(trainer={"epochs": "5"}), "trainer.epochs: expected a whole number, found the text '5'"),
        (lambda: UTCIEConfig(trainer={"epochs": 0}), "trainer.epochs: expected at least 1"),
        (lambda: UTCIEConfig(trainer=5), "trainer: expected a section of settings, found 5"),
        (lambda: UTCIEConfig(trainer=EncoderConfig()), "trainer: expected a section of settings, found"),
        (lambda: UTCIEConfig(epochs=5), "epochs: unknown setting; did you mean trainer.epochs?"),
        (lambda: TrainConfig(epoch=5), "trainer.epoch: unknown setting; did you mean trainer.epochs?"),
        (lambda: UTCIEModelConfig(channels="32"), "model.channels: expected a whole number, found the text '32'"),
        (lambda: UTCIEModelConfig(channels=True), "model.channels: expected a whole number, found true"),
        (lambda: TrainConfig(device="cuda"), "trainer.device: expected one of auto, cpu, gpu"),
        (lambda: IEDataConfig(symmetric="spouse"), "data.symmetric: expected a list of text, found the text 'spouse'"),
    ],
)
def test_what_cannot_be_used_is_refused_where_it_is_made(make: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value).startswith(message)


def test_numbers_of_numpy_and_paths_are_taken_as_what_they_are() -> None:
    made = TrainConfig(epochs=np.int64(3), head_lr=np.float32(0.5))
    assert (type(made.epochs), type(made.head_lr), made.head_lr) == (int, float, 0.5)
    assert EncoderConfig(name=Path("a") / "b").name == str(Path("a") / "b")


def test_a_config_can_be_copied() -> None:
    made = UTCIEConfig(seed=3)
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-13-45", "2024-13-45"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01 25:00:00", "2024-01-01 25:00:00"),
        ("1:30", "1:30"),
        ("0o9", "0o9"),
        ("=", "="),
        ("010", 10),
        ("0x1f", 31),
        ("-1_000", -1000),
        ("1e-3", 0.001),
        ("1.", 1.0),
        ("-.inf", -math.inf),
        ("~", None),
        ("no", False),
    ],
)
def test_what_looks_like_a_date_is_a_text_and_a_number_is_what_it_looks_like(
    text: str, value: object, tmp_path: Path
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"a: {text}\n")
    found = read_yaml(path)["a"]
    assert (found, type(found)) == (value, type(value))


ALIASES = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b: 1\na: !!timestamp x\n", "line 2: could not determine a constructor for the tag"),
        ("a: !!int x\n", "line 1: 'x' cannot be read as int"),
        ("a: !!float x\n", "line 1: 'x' cannot be read as float"),
        ("a: !!bool x\n", "line 1: 'x' cannot be read as bool"),
        ("a: !!set {b}\n", "line 1: could not determine a constructor for the tag"),
        ("a: 0x_\n", "line 1: '0x_' cannot be read as int"),
        ("a: " + "9" * 5000, "line 1: '9999"),
        ("a: 0x" + "f" * 5000, "line 1: '0xff"),
        (ALIASES, "line 6: its aliases stand for more than 1,000,000 characters"),
        ("a: &a {b: *a}\n", "line 1: an alias stands for a section that it lies in"),
        ("a: &a\n  <<: *a\n", "line 1: an alias stands for a section that it lies in"),
        ("".join(f"a{n}: &a{n} [{f'*a{n - 1}' if n else 'x'}]\n" for n in range(99)), "nested too deep"),
        ("c:\n  <<: 3\n", "line 2: expected '<<' to name a section or several"),
        ("1.5: 1\n1.5: 2\n", "line 2: the key '1.5' is given twice"),
        ("? [a]\n: 1\n", "line 1: expected a name, found a section or a list"),
        ("a: 1\nb: \x01\n", "line 2: the character U+0001 is not allowed"),
        ("#" * 1_000_001, "it has more than 1,000,000 characters"),
    ],
)
def test_a_hostile_settings_file_is_refused_with_file_and_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_yaml(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: not a settings file: ")
    assert message in said
    assert len(said.splitlines()) == 1
    assert len(said) < 400


def test_merge_keys_are_plain_yaml(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "x: {y: &b {<<: &a {k: 1, m: 2}, k: 3}}\nc: {<<: *b, n: 4}\nd:\n  <<: [*b, *a]\ne: {<<: *a, k: 5}\n"
    )
    data = read_yaml(path)
    assert data["x"] == {"y": {"k": 3, "m": 2}}
    assert data["c"] == {"k": 3, "m": 2, "n": 4}
    assert data["d"] == {"k": 3, "m": 2}
    assert data["e"] == {"k": 5, "m": 2}


HOSTILE = st.lists(
    st.sampled_from(
        ["a", "b: ", "- ", "[", "]", "{", "}", ",", "\n", "  ", "&x ", "*x", "<<: ", "!!int ", "!!map ", "!!timestamp ",
         "? ", ": ", "'", '"', "|\n", "1e5", "0x", "2024-99-99", "~", "#", "%", "@", "\t", "---\n", "é", "\x00", "1_"]
    )
).map("".join)  # fmt: skip


@given(HOSTILE | st.text())
def test_no_settings_file_raises_anything_but_a_config_error(tmp_path_factory: Any, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with suppress(ConfigError):
        assert isinstance(read_yaml(path), dict)


@pytest.mark.parametrize("value", [10**5000, [10**5000], -(10**5000)], ids=["plain", "in a list", "negative"])
@pytest.mark.parametrize("section", [{"seed": 0}, {"trainer": {"encoder_lr": 0}}, {"data": {"licence": 0}}])
def test_numbers_of_thousands_of_digits_are_refused_in_one_line(value: object, section: dict[str, Any]) -> None:
    data = {key: dict.fromkeys(below, value) if isinstance(below, dict) else value for key, below in section.items()}
    with pytest.raises(ConfigError, match=r"expected .*, found a value that is too large"):
        from_dict(UTCIEConfig, data)
