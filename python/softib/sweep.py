# SPDX-License-Identifier: BSD-2-Clause
"""One question for each combination of values."""
from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import _text
from ._native import Error
from .answers import Answer, Answers


def sweep(question: Callable[..., Any], *, errors: str = "raise", workers: int | None = None,
          progress: _text.Progress = None, **keywords: Any) -> Answers:
    """Asks a question for each combination of the keywords that are lists:

        sweep(plan.train, model="llama3.1-70b", cluster=[a, b], tp=[4, 8]).to_frame()

    A value that is a list itself stands in a list: sizes=[["1M", "2M"]].
    errors: "raise", or "keep" for a row with the error of a combination that has no answer
    workers: threads that ask; one for each core unless said
    progress: True for a line on a terminal, or a function of the part that is done
    """
    show = _text.progress_of(progress)
    if errors not in ("raise", "keep"):
        raise Error(f"errors must be 'raise' or 'keep', not {errors!r}")
    varied = {name: list(values) for name, values in keywords.items()
              if isinstance(values, (list, tuple, range))}
    fixed = {name: value for name, value in keywords.items() if name not in varied}
    points = [dict(zip(varied, values)) for values in itertools.product(*varied.values())]

    def ask(point: dict[str, Any]) -> Answer:
        try:
            answer: Answer = question(**fixed, **point)
            return answer
        except Error as error:
            if errors == "keep":
                return Answer({"error": str(error)})
            said = ", ".join(f"{name}={value}" for name, value in point.items())
            raise Error(f"{said}: {error} (errors=\"keep\" goes on)") from error

    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        try:
            answers = []
            for answer in pool.map(ask, points):
                answers.append(answer)
                if show:
                    show(len(answers) / len(points))
            return Answers(answers, points)
        except BaseException:  # An error, or Ctrl-C: the rest is not asked.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
