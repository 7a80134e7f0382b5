# SPDX-License-Identifier: BSD-2-Clause
"""The command `softib` that is in a wheel."""
import os
import sys

from ._native import program


def main() -> None:
    os.execv(program(), ["softib", *sys.argv[1:]])
