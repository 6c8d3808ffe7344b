"""``nlpkit COMMAND ...``: dispatch, and one answer to everything that can go wrong. Loads no torch."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from nlpkit.streams import Unheard
from nlpkit.threads import wait_passively
from nlpkit.wording import at_command_line

USAGE = """\
usage: nlpkit COMMAND ...

Extract information from text: train models, use them, measure them.

commands:
  models                            the zoo: name, task, weights in place or not
  fit MODEL --train F --out DIR     train a model
  predict FOLDER [FILE|-]...        use a model
  evaluate FOLDER FILE...           measure a model on annotated data
  check FILE...                     find every bad record of data files
  show FOLDER                       what a saved model is

options:
  -h, --help                        this text; `nlpkit COMMAND --help` tells more
  --version                         the version of nlpkit
  --debug                           with any command: show the traceback of an error

FOLDER is a model folder, a run folder (then its best model), or the name of a model whose weights are in place.
Results go to standard output, messages to standard error.
Exit status: 0 done, 1 the data or the model is wrong, 2 the command line is wrong, 130 interrupted.
"""

COMMANDS = ("models", "fit", "predict", "evaluate", "check", "show")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the console script ``nlpkit``.

    Args:
        argv: The words after ``nlpkit``; by default those of this process.

    Returns:
        The exit status.
    """
    _open_streams()
    wait_passively()
    try:
        return _answer(list(sys.argv[1:] if argv is None else argv))
    finally:
        _let_go()


def _answer(words: list[str]) -> int:
    """The exit status of a command line; what went wrong is said."""
    is_debug = _take_debug(words)
    try:
        with at_command_line(), _tidy_ends():
            status = _run(words)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt as error:
        if is_debug:
            raise
        _say(str(error) or "interrupted")
        return 130
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _stdout_is_closed():
            return 0
        answer = explain(error)
        if answer is None or is_debug:
            raise
        status, message = answer
        _say(message)
        return status


def explain(error: Exception) -> tuple[int, str] | None:
    """Exit status and message of an error that the user can mend; None for any other, a fault of nlpkit."""
    from nlpkit.errors import ConfigError, NlpkitError

    if isinstance(error, ConfigError):
        return 2, str(error)
    if isinstance(error, NlpkitError):
        return 1, str(error)
    if isinstance(error, UnicodeDecodeError):
        return 1, f"the input is not UTF-8 text: {error.reason}, byte 0x{error.object[error.start]:02x}"
    if isinstance(error, UnicodeEncodeError):
        found = error.object[error.start : error.start + 1]
        return (
            1,
            f"cannot write {found!r} as {error.encoding}; set PYTHONIOENCODING=utf-8 or use --output",
        )
    if isinstance(error, OSError):
        place = " -> ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
        reason = error.strerror or str(error) or type(error).__name__
        return 1, f"{place}: {reason}" if place else reason
    return None


def _run(words: list[str]) -> int:
    if not words:
        print(USAGE, end="", file=sys.stderr)
        return 2
    command, rest = words[0], words[1:]
    if command in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0
    if command == "--version":
        import nlpkit

        print(f"nlpkit {nlpkit.__version__}")
        return 0
    if command not in COMMANDS:
        from nlpkit.configs import nearest
        from nlpkit.errors import ConfigError

        near = nearest(command, COMMANDS)
        hint = f"did you mean {' or '.join(near)}?" if near else f"expected one of {', '.join(COMMANDS)}"
        raise ConfigError(f"unknown {'option' if command.startswith('-') else 'command'} {command!r}; {hint}")
    from importlib import import_module

    status: int = import_module(f"nlpkit.cli.{command}").run(rest)
    return status


@contextmanager
def _tidy_ends() -> Iterator[None]:
    """Lets Ctrl-C, SIGTERM and a closed terminal end the process as an error does, which removes temporary files.

    While a library is imported the process ends at once: what is raised there comes out as any error, or as none.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    ours = [number for number in numbers if before[number] in (signal.SIG_DFL, signal.default_int_handler)]

    def end(number: int, frame: FrameType | None) -> None:
        if _is_importing(frame):
            with suppress(OSError):
                os.write(2, b"nlpkit: interrupted\n")
            output = sys.modules.get("nlpkit.cli.output")
            for name in output.UNFINISHED if output else ():
                with suppress(OSError):
                    os.unlink(name)
            os._exit(128 + number)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False


def _open_streams() -> None:
    """Python has no stream where the caller closed one, as in ``>&-``: then nothing is read, or written to nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _take_debug(words: list[str]) -> bool:
    """Take ``--debug`` out of the command line, wherever it stands before ``--``."""
    end = words.index("--") if "--" in words else len(words)
    found = "--debug" in words[:end]
    words[:end] = [word for word in words[:end] if word != "--debug"]
    return found


def _say(message: str) -> None:
    line = f"nlpkit: {message}\n"
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    Unheard(sys.stderr).write(line.encode(encoding, "backslashreplace").decode(encoding))


def _stdout_is_closed() -> bool:
    """Whether the reader of standard output has gone; a pipe that broke elsewhere is an error like any other."""
    import select

    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), select.POLLOUT)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except (AttributeError, OSError, ValueError):  # no poll on this system, or no file behind standard output
        return True


def _let_go() -> None:
    """Sends what a closed or full stream still holds nowhere; else Python complains, and ends with another status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
