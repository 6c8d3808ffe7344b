"""``nlpkit fit MODEL``: train a model. MODEL is read by hand, then one parser is built from its settings."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Literal, Union, cast, get_args, get_origin

from nlpkit.cli.options import Parser, add_threads_option, check_option_names
from nlpkit.configs import (
    Config,
    Setting,
    describe,
    expected,
    from_dict,
    merge,
    read_yaml,
    settings,
    to_dict,
    write_yaml,
)
from nlpkit.errors import ConfigError
from nlpkit.registry import ModelSpec, get_spec
from nlpkit.streams import Unheard
from nlpkit.threads import limit_threads
from nlpkit.wording import did_you_mean, use_options

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

COMMON = (
    "encoder.name",
    "trainer.epochs",
    "trainer.batch_size",
    "trainer.encoder_lr",
    "trainer.patience",
    "trainer.precision",
    "trainer.device",
)
"""Settings of every model that ``--help`` shows, beside those that the model itself names."""

SECTIONS = {
    "": "options",
    "model": "model",
    "encoder": "text encoder",
    "trainer": "training",
    "data": "data",
}


@dataclass(frozen=True, kw_only=True)
class Plan(Config):
    """The files of a run; a settings file holds them under ``run``."""

    section = "run"

    model: str
    train: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    out: str | None = None
    schema: str | None = None
    init_from: str | None = None
    limit: int | None = None

    def check(self) -> None:
        """Ranges."""
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"expected at least 1, got {self.limit}", key="run.limit")
        for name in ("train", "dev", "out", "schema", "init_from"):
            given = getattr(self, name)
            for path in [given] if isinstance(given, str) else given or ():
                _require_text(path, key=f"run.{name}")


def _require_text(path: str, *, key: str) -> None:
    """Refuse a name that the settings file of the run could not hold."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"the name {path!r} is no UTF-8; rename it", key=key) from None


def run(words: Sequence[str]) -> int:
    """Train a model, or print help or settings."""
    if not words or words[0] in ("-h", "--help", "--help-all"):
        print(_overview(), end="", file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    if words[0].startswith("-"):
        raise ConfigError(f"the model's name comes first: nlpkit fit MODEL {words[0]} ...")
    spec, options = get_spec(words[0]), words[1:]
    if not spec.can_fit:
        raise ConfigError(f"the model {spec.name!r} cannot be trained")
    config_class = cast("type[DataclassInstance]", spec.resolve("config"))
    for word in options:
        if word in ("-h", "--help", "--help-all"):
            print(help_text(spec, settings(config_class), show_all=word == "--help-all"), end="")
            return 0
    typed = parse(options, settings(config_class), prog=f"nlpkit fit {spec.name}")
    config, plan = combine(spec, config_class, typed)
    if typed.get("print_config"):
        print(write_yaml(as_file(config, plan)), end="")
        return 0
    if not plan.train:
        raise ConfigError("missing; give the training files: --train FILE...", key="--train")
    if not plan.out:
        raise ConfigError("missing; give the folder of the run: --out DIR", key="--out")
    if typed.get("threads"):
        limit_threads(cast(int, typed["threads"]))
    model = cast(Callable[..., object], spec.resolve("api"))(config)
    model.fit(  # type: ignore[attr-defined]
        train=list(plan.train),
        dev=list(plan.dev) or None,
        out=plan.out,
        schema=plan.schema,
        init_from=plan.init_from,
        limit=plan.limit,
        resume=bool(typed.get("resume")),
    )
    print(f"nlpkit: done; try: echo 'a text' | nlpkit predict {plan.out} -", file=Unheard(sys.stderr))
    return 0


def parse(words: Sequence[str], leaves: Sequence[Setting], *, prog: str) -> dict[str, object]:
    """What the user typed and nothing else, as nested plain data.

    Raises:
        ConfigError: An unknown option, or a value of a wrong type.
    """
    from jsonargparse import ArgumentParser

    parser = ArgumentParser(prog=prog, exit_on_error=False, default_env=False, allow_abbrev=False, add_help=False)
    add_run_options(parser)
    for leaf in leaves:
        _add_setting(parser, leaf, is_parsing=True)
    known = [option for action in parser._actions for option in action.option_strings]
    check_option_names(words, [*known, "--help", "--help-all"])
    use_options(known)
    try:
        return cast("dict[str, object]", parser.parse_args(list(words)).as_dict())
    except argparse.ArgumentError as error:
        raise _plain_error(str(error), leaves) from None


def combine(
    spec: ModelSpec, config_class: type[DataclassInstance], typed: Mapping[str, object]
) -> tuple[DataclassInstance, Plan]:
    """The settings and the plan of a run: command line over ``--config`` file over defaults.

    ``--resume`` without ``--config`` takes the settings that the run folder keeps.
    """
    path = cast("str | None", typed.get("config"))
    kept = Path(str(typed.get("out"))) / "config.yaml"
    if path is None and typed.get("resume") and kept.is_file():
        path = str(kept)
    file = read_yaml(path) if path else {}
    for name, value in file.items():
        # What is no section cannot be merged, and must not vanish below the options of the command line.
        if isinstance(typed.get(name), Mapping) or name == "run":
            file[name] = {} if value is None else value
            if not isinstance(file[name], Mapping):
                raise ConfigError(f"{path}: {name}: expected a section of settings, found {describe(value)}")
    files = cast("dict[str, object]", file.get("run", {}))
    file["run"] = {k: [v] if k in ("train", "dev") and isinstance(v, str) else v for k, v in files.items()}
    strong = {name: typed[name] for name in _names(config_class) if name in typed}
    strong["run"] = {name: typed[name] for name in _names(Plan) if name in typed and name != "model"}
    try:
        data = merge(file, strong)
        plan = from_dict(Plan, {"model": spec.name} | cast("dict[str, object]", data.pop("run")), prefix="run")
        if plan.model != spec.name:
            raise ConfigError(f"the settings are of the model {plan.model!r}, not of {spec.name!r}", key="run.model")
        return from_dict(config_class, data), plan
    except ConfigError as error:
        if _is_in(error.key, strong):  # typed, so name the option
            raise ConfigError(f"--{str(error).removeprefix('run.')}") from None
        raise (ConfigError(f"{path}: {error}") if path else error) from None


def as_file(config: DataclassInstance, plan: Plan) -> dict[str, object]:
    """What ``--print-config`` prints and ``--config`` reads: all settings, and the run's files under ``run``."""
    return to_dict(config) | {"run": {key: value for key, value in to_dict(plan).items() if value not in (None, [])}}


def help_text(spec: ModelSpec, leaves: Sequence[Setting], *, show_all: bool) -> str:
    """The help of one model: the settings that people change, or every one."""
    parser = Parser(
        prog=f"nlpkit fit {spec.name}",
        usage=f"nlpkit fit {spec.name} --train F... [--dev F...] --out DIR [options]",
        description=spec.summary,
    )
    parser._action_groups[1].title = SECTIONS[""]
    add_run_options(parser)
    groups: dict[str, argparse._ArgumentGroup] = {}
    for leaf in leaves:
        if not (show_all or leaf.key in (*COMMON, *spec.common_options, "seed")):
            continue
        if leaf.section and leaf.section not in groups:
            groups[leaf.section] = parser.add_argument_group(SECTIONS.get(leaf.section, leaf.section))
        _add_setting(groups.get(leaf.section, parser), leaf)
    if not show_all:
        parser.epilog = "These are the settings that people change; --help-all lists every one."
    return parser.format_help()


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """The options that every model has; works for argparse (help) and jsonargparse (parsing)."""
    none = argparse.SUPPRESS
    add = parser.add_argument
    add("--train", nargs="+", action="extend", type=str, default=none, metavar="F", help="training files (.jsonl, .gz)")
    add(
        "--dev", nargs="+", action="extend", type=str, default=none, metavar="F",
        help="files that pick the best epoch (default: a share of --train)",
    )  # fmt: skip
    add("--out", type=str, default=none, metavar="DIR", help="the run's new folder: best model, checkpoint, log")
    add("--config", type=str, default=none, metavar="F", help="settings from a YAML file; the command line wins")
    add("--schema", type=str, default=none, metavar="F", help="label schema (default: the labels of the training data)")
    add("--init-from", type=str, default=none, metavar="FOLDER", help="start from the weights of this model")
    add("--limit", type=int, default=none, metavar="N", help="use only the first N training records")
    add_threads_option(parser)
    add("--resume", action="store_true", default=none, help="go on from the last checkpoint in --out")
    add(
        "--print-config",
        action="store_true",
        default=none,
        help="print a --config file of the run, and end",
    )
    if isinstance(parser, Parser):
        add("--help-all", action="store_true", help="show every setting")


def _add_setting(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup, leaf: Setting, *, is_parsing: bool = False
) -> None:
    default = "" if leaf.default in (None, ()) else f" (default: {_default(leaf.default)})"
    text = leaf.help.rstrip(".").replace("``", "") or HELP.get(leaf.key, "")
    # No default: an option that was not typed must not win over the --config file.
    keywords: dict[str, object] = {"default": argparse.SUPPRESS, "help": f"{text}{default}".replace("%", "%%")}
    origin, args = get_origin(leaf.type), get_args(leaf.type)
    if origin in (tuple, list):
        keywords |= {"type": args[0], "nargs": "*", "action": _Extend}
    elif leaf.type is bool:
        keywords |= {"type": bool, "nargs": "?", "const": True}
    else:
        keywords["type"] = leaf.type
    keywords["metavar"] = _metavar(leaf.type)
    if not is_parsing:
        keywords.pop("type")  # argparse takes no annotations
    parser.add_argument(f"--{leaf.key}", **keywords)  # type: ignore[arg-type]


HELP = {"seed": "rules all chance: another one to see how much it does"}
"""Help of settings whose class gives none."""


class _Extend(argparse.Action):
    """Like argparse's ``extend``, which does not find dotted names in the namespace of jsonargparse."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        before = namespace.get(self.dest)  # type: ignore[attr-defined]
        namespace[self.dest] = [*(before or []), *cast("list[object]", values)]  # type: ignore[index]


def _metavar(hint: object) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return "|".join(str(a) for a in args)
    if origin in (Union, UnionType):
        return _metavar(next(a for a in args if a is not type(None)))
    if origin in (tuple, list):
        return _metavar(args[0])
    names = {int: "N", float: "X", bool: "true|false", str: "TEXT"}
    return names.get(cast(type, hint), "VALUE")


def _default(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _names(cls: type[DataclassInstance]) -> list[str]:
    return [field.name for field in fields(cls)]


def _is_in(key: str | None, nested: Mapping[str, object]) -> bool:
    value: object = nested
    for name in (key or "").split("."):
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return True


def _plain_error(message: str, leaves: Sequence[Setting]) -> ConfigError:
    """The message of jsonargparse in our words: the option, what was expected, what was found."""
    if match := re.search(r'Parser key "([^"]+)"', message):
        key = match[1]
        found = re.search(r"(?:Got|Given) value: (.*)", message)
        hint = next((leaf.type for leaf in leaves if leaf.key == key), {"limit": int}.get(key, str))
        value = found[1] if found else "?"
        near = did_you_mean(value, map(str, get_args(hint))) if get_origin(hint) is Literal else ""
        return ConfigError(f"expected {expected(hint)}, found {value!r}{near}", key=f"--{key}")
    if match := re.match(r"argument (\S+): (.*)", message, re.DOTALL):
        return ConfigError(match[2], key=match[1])
    if message.startswith("unrecognized arguments: "):
        return ConfigError(f"unexpected {message.partition(': ')[2]!r}; options begin with --")
    return ConfigError(message)


def _overview() -> str:
    from nlpkit.registry import BUILT_IN

    rows = [f"  {spec.name:<10}{spec.summary}\n" for spec in BUILT_IN.values() if spec.can_fit]
    return (
        "usage: nlpkit fit MODEL --train F... [--dev F...] --out DIR [options]\n\nTrain a model.\n\nmodels:\n"
        f"{''.join(rows)}\n`nlpkit fit MODEL --help` lists the options of a model, `nlpkit models` every model.\n"
    )
