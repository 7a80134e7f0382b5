# SPDX-License-Identifier: BSD-2-Clause
"""Keyword arguments: one that a function does not have is refused, with the nearest that it has."""
from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from ._native import Error

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def unknown(name: str, known: Iterable[str], what: str) -> Error:
    """Returns the error for a name that is none of the known ones."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return Error(f"{what} knows no {name!r}; did you mean {near[0]!r}?")
    return Error(f"{what} knows no {name!r}; there are {', '.join(names)}")


def keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function refuse an unknown keyword by name."""
    known = [each for each in inspect.signature(function).parameters if each != "self"]
    what = f"softib.{function.__module__.rpartition('.')[2]}.{function.__qualname__}"

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                raise unknown(name, known, what)
        return function(*args, **kwargs)
    return call


def checked(cls: type[T]) -> type[T]:
    """Makes a class refuse an unknown keyword by name."""
    make = cls.__init__
    known = [each for each in inspect.signature(make).parameters if each != "self"]

    @functools.wraps(make)
    def init(self: T, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in known:
                raise unknown(name, known, cls.__name__)
        make(self, *args, **kwargs)
    setattr(cls, "__init__", init)
    return cls


def given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a function, from its locals(), that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}
