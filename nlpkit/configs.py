"""Settings as plain data: nested frozen dataclasses to and from dictionaries and YAML; errors name the setting.

A setting has a dotted name, such as ``model.channels``. Values come from files and people, so that every one is checked
against the annotation of its field when a dataclass is made, wherever it comes from.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from nlpkit.errors import ConfigError
from nlpkit.wording import counted, did_you_mean

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

C = TypeVar("C", bound="DataclassInstance")

_MAX_BITS = 64
_SHOWN = 200


class Config:
    """Base class of all settings: each value is checked and brought into the type of its field; a dict is a section.

    A subclass is a frozen, keyword-only dataclass. What its annotations cannot say, such as a range, it checks in
    :meth:`check`; if it is a section of another one, it names itself in ``section``, for the messages.

    >>> from nlpkit.ie.utcie.config import UTCIEConfig
    >>> UTCIEConfig(trainer={"epochs": 5}).trainer.epochs
    5
    >>> UTCIEConfig(trainer={"epoch": 5})
    Traceback (most recent call last):
        ...
    nlpkit.errors.ConfigError: trainer.epoch: unknown setting; did you mean trainer.epochs?
    """

    section: ClassVar[str] = ""

    def __new__(cls, *args: object, **values: object) -> Self:
        """Refuses a name that is no setting before Python does, to name the nearest."""
        for name in values:
            _require_known(name, cls, cls.section)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        cls: type = type(self)
        hints = _hints(cls)
        for name in _names(cls):
            key = _require_known(name, cls, self.section)
            object.__setattr__(self, name, _convert(getattr(self, name), hints[name], key))
        self.check()

    def check(self) -> None:
        """Raises a :class:`~nlpkit.errors.ConfigError` if a value, or a combination of them, cannot be used."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One leaf of a nested config: its dotted key, annotation, default, and the docstring below the attribute."""

    key: str
    type: object
    default: object
    help: str = ""
    section: str = ""


def to_dict(config: DataclassInstance) -> dict[str, object]:
    """The config as plain data that JSON and YAML can hold; tuples become lists.

    >>> from nlpkit.encoder.config import EncoderConfig
    >>> to_dict(EncoderConfig())
    {'name': 'minilm', 'word_pooling': 'max', 'max_pieces': None}
    """
    return {field.name: _plain(getattr(config, field.name)) for field in fields(config)}


def from_dict(cls: type[C], data: Mapping[str, object], *, prefix: str = "") -> C:
    """Make a config; what ``data`` does not name keeps its default.

    Args:
        cls: The dataclass.
        data: Nested plain data, as :func:`to_dict` gives it.
        prefix: Put before the keys in error messages.

    Raises:
        ConfigError: An unknown key (the nearest ones are named), or a value of the wrong type or out of range.

    >>> from nlpkit.encoder.config import EncoderConfig
    >>> from_dict(EncoderConfig, {"name": "my-encoder"}).name
    'my-encoder'
    """
    if not isinstance(data, Mapping):
        raise ConfigError(f"expected a section of settings, found {describe(data)}", key=prefix or None)
    hints = _hints(cls)
    values = {}
    for name, value in data.items():
        key = _require_known(str(name), cls, prefix)
        values[name] = _convert(value, hints[name], key)
    return cls(**values)


def apply_overrides(config: C, overrides: Mapping[str, object]) -> C:
    """A copy of the config with some settings, named by dotted keys, replaced.

    >>> from nlpkit.ie.utcie.config import UTCIEConfig
    >>> apply_overrides(UTCIEConfig(), {"model.layers": 0, "seed": 7}).seed
    7
    """
    return from_dict(type(config), merge(to_dict(config), nest(overrides)))


def merge(weak: Mapping[str, object], strong: Mapping[str, object]) -> dict[str, object]:
    """Nested dictionaries put together; where both have a value, the one of ``strong`` stays.

    >>> merge({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}})
    {'a': {'x': 1, 'y': 3}}
    """
    out = dict(weak)
    for key, value in strong.items():
        below = out.get(key)
        out[key] = merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return out


def nest(flat: Mapping[str, object]) -> dict[str, object]:
    """Dotted keys turned into nested dictionaries.

    >>> nest({"model.layers": 0, "seed": 1})
    {'model': {'layers': 0}, 'seed': 1}
    """
    out: dict[str, object] = {}
    for key, value in flat.items():
        for name in reversed(key.split(".")):
            value = {name: value}
        out = merge(out, value)  # type: ignore[arg-type]
    return out


def flatten(data: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """The inverse of :func:`nest`; an empty section vanishes.

    >>> flatten({"model": {"layers": 0}, "seed": 1})
    {'model.layers': 0, 'seed': 1}
    """
    out: dict[str, object] = {}
    for name, value in data.items():
        key = f"{prefix}.{name}" if prefix else str(name)
        out |= flatten(value, key) if isinstance(value, Mapping) else {key: value}
    return out


def settings(cls: type[DataclassInstance], prefix: str = "", section: str = "") -> list[Setting]:
    """All leaves of a nested config in the order of their definition, with help from the attribute docstrings.

    >>> from nlpkit.encoder.config import EncoderConfig
    >>> [setting.key for setting in settings(EncoderConfig, "encoder")]
    ['encoder.name', 'encoder.word_pooling', 'encoder.max_pieces']
    """
    hints, docs = _hints(cls), attribute_docs(cls)
    out = []
    for field in fields(cls):
        key = f"{prefix}.{field.name}" if prefix else field.name
        hint = hints[field.name]
        if isinstance(hint, type) and is_dataclass(hint):
            out += settings(hint, key, section=key.split(".")[0])
            continue
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        out.append(Setting(key=key, type=hint, default=default, help=docs.get(field.name, ""), section=section))
    return out


@cache
def attribute_docs(cls: type) -> dict[str, str]:
    """The string literals below the attributes of a class; empty when its source is not at hand."""
    import ast
    import inspect
    import sys

    try:
        tree = ast.parse(inspect.getsource(sys.modules[cls.__module__]))
    except (KeyError, OSError, TypeError, SyntaxError):
        return {}
    docs = {}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.ClassDef) and node.name == cls.__name__):
            continue
        for line, below in zip(node.body, node.body[1:], strict=False):
            if not (isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)):
                continue
            text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else None
            if isinstance(text, str):
                docs[line.target.id] = " ".join(text.split())
    return docs


def nearest(name: str, known: Iterable[str], n: int = 3) -> list[str]:
    """The names most like ``name``, best first; empty when nothing is close.

    >>> nearest("trian", ["train", "dev"])
    ['train']
    """
    from difflib import get_close_matches

    return get_close_matches(name, list(known), n=n, cutoff=0.6)


def expected(hint: object) -> str:
    """What an annotation allows, in words.

    >>> expected(Literal["max", "mean"]), expected(tuple[str, ...])
    ('one of max, mean', 'a list of text')
    """
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(str(a) for a in args)}"
    if origin in (Union, types.UnionType):
        return " or ".join(expected(a) for a in args)
    if origin in (tuple, list):
        if len(args) == 1 or args[-1] is Ellipsis:
            return f"a list of {_plural(args[0])}"
        return f"a list of {counted(len(args), 'value')}"
    if hint is type(None):
        return "null"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text", dict: "a section"}
    kind = origin or hint
    return names.get(kind, kind.__name__) if isinstance(kind, type) else str(hint)


def read_yaml(path: str | Path) -> dict[str, object]:
    """Read a settings file. Numbers such as ``1e-3`` are numbers, dates are texts, a key given twice is an error.

    Raises:
        ConfigError: It is no YAML, no mapping, or too large; the message names file and line.
        OSError: It cannot be read.
    """
    import yaml

    from nlpkit._yaml import MAX_CHARS, Loader

    raw = Path(path).read_bytes()

    def fault(what: str, line: int | None = None) -> ConfigError:
        return ConfigError(f"{path}: not a settings file: {'' if line is None else f'line {line}: '}{what}")

    try:
        text = raw.decode("utf-8-sig")
        if len(text) > MAX_CHARS:
            raise fault(f"it has more than {MAX_CHARS:,} characters")
        data = yaml.load(text, Loader=Loader)
    except UnicodeDecodeError as error:
        raise fault("it is no UTF-8 text", raw.count(b"\n", 0, error.start) + 1) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = ", ".join(filter(None, (error.context, error.problem)))
        raise fault(what, None if mark is None else mark.line + 1) from error
    except yaml.reader.ReaderError as error:
        character = f"the character U+{int(error.character):04X} is not allowed"
        raise fault(character, text.count("\n", 0, error.position) + 1) from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise fault(f"expected 'name: value' lines, found {describe(data)}")
    return data


def write_yaml(data: Mapping[str, object]) -> str:
    """Plain data as YAML, in the order of its keys; :func:`read_yaml` gives the same data back."""
    import yaml

    from nlpkit._yaml import Dumper

    return yaml.dump(
        dict(data), Dumper=Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=100
    )


@cache
def _hints(cls: type) -> dict[str, object]:
    return dict(get_type_hints(cls))


def _names(cls: type) -> list[str]:
    return [field.name for field in fields(cls) if field.init]


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return to_dict(value)
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return value


def _convert(value: object, hint: object, key: str) -> object:
    """The value in the type of the annotation; never a guess: text is not read as a number, a number not as text."""
    origin, args = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        if value is None:  # a section of a file whose lines are all commented out
            return hint()
        return value if isinstance(value, hint) else from_dict(hint, value, prefix=key)  # type: ignore[arg-type]
    if origin in (Union, types.UnionType):
        for option in args:
            try:
                return _convert(value, option, key)
            except ConfigError:
                continue
    elif origin is Literal:
        # `True == 1`, hence the comparison of types.
        if any(value == a and type(value) is type(a) for a in args):
            return value
    elif origin in (tuple, list) and isinstance(value, (tuple, list)):
        variadic = len(args) == 1 or args[-1] is Ellipsis
        if variadic or len(value) == len(args):
            items = [_convert(v, args[0] if variadic else args[i], f"{key}[{i}]") for i, v in enumerate(value)]
            return tuple(items) if origin is tuple else items
    elif origin is dict and isinstance(value, Mapping):
        return {_convert(k, args[0], key): _convert(v, args[1], f"{key}.{k}") for k, v in value.items()}
    elif hint in (bool, str, type(None)) and type(value) is hint:
        return value
    elif hint is str and isinstance(value, PurePath):
        return str(value)
    elif isinstance(value, bool):  # an int to Python, but no number to a user
        pass
    elif hint is int and isinstance(value, Integral):  # NumPy's numbers too
        if int(value).bit_length() <= _MAX_BITS:
            return int(value)
    elif hint is float and isinstance(value, Real):
        with suppress(OverflowError):
            return float(value)
    near = did_you_mean(value, map(str, args)) if origin is Literal else ""
    raise ConfigError(f"expected {expected(hint)}, found {describe(value)}{near}", key=key)


def _require_known(name: str, cls: type, prefix: str) -> str:
    """The dotted key of a setting, which must exist."""
    key, names = f"{prefix}.{name}" if prefix else name, _names(cls)
    if name in names:
        return key
    if prefix:
        near = [f"{prefix}.{other}" for other in nearest(name, names)]
    else:
        # At the top a user may also have left out the section: `channels` for `model.channels`.
        leaves = [setting.key for setting in settings(cls)]
        near = [k for k in leaves if k.rpartition(".")[2] == key] or nearest(key, names) or nearest(key, leaves)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known here: {', '.join(names)}"
    raise ConfigError(f"unknown setting; {hint}", key=key)


def _plural(hint: object) -> str:
    names = {str: "text", int: "whole numbers", float: "numbers"}
    return names.get(hint, "values") if isinstance(hint, type) else "values"


def describe(value: object) -> str:
    """A value that cannot be used, for a message: short, however large it is."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a section"
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # numbers of thousands of digits, lists in lists in lists
        return "a value that is too large"
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
    return f"the text {shown}" if isinstance(value, str) else shown
