# SPDX-License-Identifier: BSD-2-Clause
"""Finds libsoftib.so.0 and the program softib, and calls both."""
from __future__ import annotations

import ctypes
import functools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Union

LIBRARY = "libsoftib.so.0"


class Error(Exception):
    """An error of softib. The text is a sentence that says what to do."""


@functools.lru_cache(maxsize=None)
def tree() -> Path:
    """Returns the folder with bin/softib: in the wheel, as $SOFTIB_PREFIX names it, or by PATH."""
    packed = Path(__file__).parent / "_tree"
    if packed.is_dir():
        return packed
    if "SOFTIB_PREFIX" in os.environ:
        return Path(os.environ["SOFTIB_PREFIX"])
    found = shutil.which("softib")
    if found is None:
        raise Error("softib is not installed; install its wheel, or set SOFTIB_PREFIX to the "
                    "folder that has bin/softib")
    return Path(found).resolve().parent.parent


def program() -> Path:
    return tree() / "bin" / "softib"


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    found = sorted(tree().glob(f"lib/**/{LIBRARY}"))
    if not found:
        raise Error(f"no {LIBRARY} below {tree()}/lib: the softib there is older than this module")
    native = ctypes.CDLL(str(found[0]))
    text, pointer = ctypes.c_char_p, ctypes.c_void_p
    numbers = ctypes.POINTER(ctypes.c_uint64)
    functions: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
            ("softib_version", text, ()),
            ("softib_open", pointer, (text, text, text, ctypes.c_size_t)),
            ("softib_ask", pointer, (text, text, text, ctypes.c_size_t)),
            ("softib_free", None, (pointer,)),
            ("softib_close", None, (pointer,)),
            ("softib_run", ctypes.c_int, (pointer, ctypes.c_uint64, ctypes.c_uint32)),
            ("softib_number", ctypes.c_int, (pointer, text, numbers)),
            ("softib_text", text, (pointer, text)),
            ("softib_rows", ctypes.c_int64, (pointer, text)),
            ("softib_column", ctypes.c_int64, (pointer, text, text, pointer, ctypes.c_size_t)))
    for name, result, arguments in functions:
        function = getattr(native, name)
        function.restype = result
        function.argtypes = arguments
    return native


def version() -> str:
    return str(library().softib_version().decode())


def command(*words: Any, check: bool = True, **options: Any) -> str:
    """Runs `softib WORDS...` and returns what it printed. Raises Error, with its message, on
    failure."""
    done = subprocess.run([str(program()), *map(str, words)], capture_output=True, text=True,
                          **options)
    if check and done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip()
        raise Error(said.removeprefix("softib: ")
                    or f"softib {words[0]} ended with {done.returncode}")
    return str(done.stdout)


@functools.lru_cache(maxsize=None)
def names_of(*words: str) -> set[str]:
    """Returns the names of a command's options as keyword arguments."""
    at = json.loads(command("help", "--json"))
    for word in words:
        at = next(each for each in at["commands"] if each["name"] == word)
    return {name.removeprefix("--").replace("-", "_")
            for option in at["options"] for name in option["names"]}


def given(options: dict[str, Any], *words: str) -> dict[str, Any]:
    """Returns the options that are not None. One that is None must be one of the command too."""
    for name, value in options.items():
        if value is None and name not in names_of(*words):
            raise Error(f"softib {' '.join(words)} knows no {name!r}: leave it out")
    return {name: value for name, value in options.items() if value is not None}


def flags(options: dict[str, Any]) -> list[str]:
    """Turns {"tp": 8, "no_overlap_dp": True} into --tp 8 --no-overlap-dp; skips None and False."""
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple)):
            words += [flag, ("x" if name == "dimensions" else ",").join(map(str, value))]
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def answer(question: str, folder: Union[str, os.PathLike[str]] = ".") -> Any:
    """Returns the answer to a question in TOML, as Python values, without another process."""
    native = library()
    error = ctypes.create_string_buffer(4096)
    found = native.softib_ask(question.encode(), os.fspath(folder).encode(), error, len(error))
    if not found:
        said = error.value.decode(errors="replace")
        # The caller has not seen the text, and knows no place in it.
        raise Error(re.sub(r"^\./a question given as text(:\d+:\d+)?: ", "", said))
    try:
        return json.loads(ctypes.string_at(found))
    finally:
        native.softib_free(found)


def ask(*words: str, operands: Iterable[str] = (), **options: Any) -> Any:
    """Returns what `softib WORDS... OPERANDS... --json` prints, as Python values."""
    for name, value in options.items():
        if value is False and name not in names_of(*words):
            raise Error(f"softib {' '.join(words)} knows no {name!r}: leave it out")
    return json.loads(command(*words, *operands, *flags(given(options, *words)), "--json"))
