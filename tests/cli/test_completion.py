#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Completions of bash, fish and zsh, as these shells ask for them."""

import os
import pathlib
import shutil
import subprocess
import unittest

from cli_case import SOFTIB, TIMEOUT_S, CliCase

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
# A stand-in for what bash does with the line: it cuts words at ':' and '=', and finds the last
# one's place.
BASH = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _softib softib; '
        'printf "%s\\n" "${COMPREPLY[@]}"')
# The same of zsh; its functions that show values print them.
ZSH = (
    'compadd() { local name=${@[-1]}; print -rl -- "${(@P)name}" }; _files() { print files "$@" }; '
    '_normal() { print -r -- program $words }; '
    'words=("$@"); CURRENT=$#; PREFIX=${words[-1]}; source "$0"')


class Completion(CliCase):
    def setUp(self):
        super().setUp()
        self.env["PATH"] = f"{os.path.dirname(SOFTIB)}:{self.env['PATH']}"
        self.ok("up", "lab", "--hosts", "3", "--topology", "fat-tree", "--radix", "4")

    def run_shell(self, *words):
        done = subprocess.run(words, env=self.env, cwd=PACKAGING, capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line for line in done.stdout.splitlines() if line]

    def bash(self, *words):
        return self.run_shell("bash", "--norc", "-c", BASH, str(PACKAGING / "softib.bash"),
                              "softib", *words)

    def told(self, *words):
        """The answers of softib to a shell: values, and their kind."""
        *values, kind = self.ok("__complete", *words).splitlines()
        return [value.split("\t")[0] for value in values], kind

    def test_softib_tells_every_kind_of_value(self):
        for words, values in (
                (("exec", ""), ["h0", "h1", "h2"]),
                (("exec", "h0,h1,"), ["h0,h1,h0", "h0,h1,h1", "h0,h1,h2"]),
                (("env", "-f", "lab", "h2"), ["h2"]), (("env", "-f", "none", "h2"), []),
                (("status", "-f", ""), ["lab"]), (("down", "x", "la"), ["lab"]),
                (("switch", "kill", "leaf"), ["leaf0", "leaf1"]),
                (("switch", ""), ["kill", "revive"]), (("link", "up", "h1"), ["h1", "h1/mlx5_0"]),
                (("link", "up", "leaf1", ""), ["1", "2", "3"]),
                (("fault", "h"), ["h0:1", "h1:1", "h2:1"]),
                (("capture", "leaf1:1", "leaf1:"), ["leaf1:1", "leaf1:2", "leaf1:3"]),
                (("route", "set", "leaf0", "3"), ["3"]),
                (("route", "set", "leaf1", "3", ""), ["1", "2", "3"]),
                (("up", "--engine", "d"), ["dor", "dragonfly", "dfsssp"]),
                (("run", "--generation", ""), ["SDR", "DDR", "QDR", "FDR10", "FDR",
                                                     "EDR", "HDR", "NDR", "XDR", "GDR"]),
                (("up", "--topology=t"), ["--topology=torus"]),
                (("mpirun", "--mpi", ""), ["openmpi", "mpich"]),
                (("help", "ex"), ["exec"]), (("sim", "wh"), ["whatif"]),
                (("sim", "--ecmp", "s"), ["spray"]), (("sim", "--loss-recovery", "g"), ["gbn"]),
                (("plan", "show", "superpod-h1"), ["superpod-h100"]), (("sharp", "j"), ["jobs"]),
                (("plan", "train", "-m", "megatron-1.7"), ["megatron-1.7b"]),
                (("health", "-f", ""), ["lab"]),
                (("serve", "--exporter", "n"), ["node"]), (("sim", "--traffic", "in"), ["incast"]),
                (("mp"), ["mpirun"]), (("sm", "st"), ["status"])):
            words = (words,) if isinstance(words, str) else words
            self.assertEqual(self.told(*words), (values, ":values"), words)
        self.assertEqual(self.told("topo", "--svg", "x"), ([], ":files"))
        self.assertEqual(self.told("sim", "lab"), ([], ":files"))
        self.assertEqual(self.told("routes", "dump", ""), ([], ":directories"))
        self.assertEqual(self.told("exec", "h0", "--", "ls", ""), ([], ":program 3"))

    def test_every_flag_of_the_help_is_completed(self):
        shown = {word.strip(",") for word in self.ok("up", "--help").replace(",", " ").split()
                 if word.startswith("--") and word.strip("-").replace("-", "").isalpha()}
        self.assertLessEqual({flag for flag in shown if flag != "--sm none"},
                             set(self.told("up", "--")[0]))

    def test_bash(self):
        self.assertEqual(self.bash("exe"), ["exec"])
        self.assertEqual(self.bash("exec", "h"), ["h0", "h1", "h2"])
        # Behind the last cut.
        self.assertEqual(self.bash("fault", "leaf1", ":"), ["1", "2", "3"])
        self.assertEqual(self.bash("fault", "leaf1", ":", "3"), ["3"])
        self.assertEqual(self.bash("up", "--sm", "=", "o"), ["opensm"])
        self.assertEqual(self.bash("capture", "-w", "softib.f"), ["softib.fish"])
        self.assertIn("softib.bash", self.bash("exec", "h0", "--", "cat", "softib.b"))
        self.assertIn("printenv", self.bash("exec", "h0", "--", "printe"))

    @unittest.skipIf(shutil.which("fish") is None, "no fish")
    def test_fish(self):
        for line, values in (
                ("exec h", ["h0", "h1", "h2"]), ("fault leaf1:", ["leaf1:1", "leaf1:2", "leaf1:3"]),
                ("capture -w softib.f", ["softib.fish"]),
                ("exec h0 -- softib exec h2", ["h2"])):
            shown = self.run_shell("fish", "--no-config", "-c",
                                   f"source softib.fish; complete -C 'softib {line}'")
            self.assertEqual([value.split("\t")[0] for value in shown], values)

    @unittest.skipIf(shutil.which("zsh") is None, "no zsh")
    def test_zsh(self):
        for words, values in (
                (("exe",), ["exec"]), (("exec", "h"), ["h0", "h1", "h2"]),
                (("fault", "leaf1:"), ["leaf1:1", "leaf1:2", "leaf1:3"]),
                (("up", "--sm=o"), ["--sm=opensm"]), (("sharp", "t"), ["trees"]),
                (("capture", "-w", "x"), ["files"]), (("routes", "dump", "x"), ["files -/"]),
                (("exec", "h0", "--", "cat", "x"), ["program cat x"])):
            shown = self.run_shell("zsh", "-f", "-c", ZSH, str(PACKAGING / "softib.zsh"),
                                   "softib", *words)
            self.assertEqual(shown, values, words)


if __name__ == "__main__":
    unittest.main()
