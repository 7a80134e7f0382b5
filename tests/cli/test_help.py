# SPDX-License-Identifier: BSD-2-Clause
"""Usage and help of every command."""

import os
import pathlib
import re
import subprocess
import unittest

from cli_case import SANITIZED, SOFTIB, TIMEOUT_S, CliCase

MANUAL = pathlib.Path(__file__).resolve().parents[2] / "docs" / "man"
# The pages of a command beside softib(1), and flags of other programs that they name.
PAGES = {"sim": ("softib-sim",),
         "plan": ("softib-plan", "softib-plan-train", "softib-plan-goodput"),
         "trace": ("softib-trace",), "serve": ("softib-serve",), "telemetry": ("softib-serve",)}
OTHERS = {"--array", "--wrap", "--path", "--cc-"}


class Usage(CliCase):
    def test_version_and_help(self):
        self.assertRegex(self.ok("--version"), r"^softib \d+\.\d+\.\d+\n$")
        self.assertIn("Start a fabric", self.ok("help"))
        self.assertIn("--topology", self.ok("help", "up"))
        self.assertIn("--topology", self.ok("up", "--help"))

    def test_wrong_usage_points_to_the_help(self):
        self.assertEqual(self.refused("upp", status=2),
                         "softib: no command 'upp' (did you mean up?); see: softib help")
        self.assertIn("see: softib up --help", self.refused("up", "--hots", "2", status=2))
        self.refused("exec", status=2)
        self.refused("route", "set", "sw0", status=2)
        for words, said in (
                (("exec", "h0"), "say what to run"), (("run",), "say what to run"),
                (("mpirun",), "say what to run"), (("down", "lab", "--all"), "names or --all"),
                (("run", "--hots", "4", "--", "true"), "--hots"),
                (("mpirun", "--hots", "true"), "--hots"),
                (("exec", "h0", "--hots", "--", "true"), "--hots"),
                (("help", "upp"), "no command 'upp'"), (("status", "-f", "../x"), "no fabric name"),
                (("link", "sideways", "sw0"), "sideways"),
                (("link", "up", "sw0:x"), "no port number"),
                (("link", "up", "sw0", "300"), "must be a whole number from 1 to 254"),
                (("route", "set", "sw0", "one", "2"), "one"),
                (("fault", "--drop", "1"), "which cable?"),
                (("fault", "sw0:1", "--drop", "all"), "'all' is no part"),
                (("fault", "sw0:1"), "what should"),
                (("capture",), "--write"), (("up", "--hosts"), "--hosts"), ((), "command")):
            self.assertIn(said, self.refused(*words, status=2), words)

    def test_first_wrong_word_is_named_before_anything_acts(self):
        for words, said in (
                (("--frob",), "softib has no option --frob; see: softib help"),
                (("up", "--hosts", "x", "--hots", "2", "--frob"),
                 "softib up has no option --hots (did you mean --hosts?); see: softib up --help"),
                (("up", "-hosts", "4"), "no option -hosts (did you mean --hosts?)"),
                (("up", "a", "b"), "softib up takes only NAME: 'b' is one too many"),
                (("list", "lab"), "softib list takes no operand: 'lab'"),
                (("topo", "--svg", "--dot"),
                 "--svg needs FILE behind it, and --dot is an option; see: softib topo --help"),
                (("routes",), "softib routes needs an action: check, dump"),
                (("routes", "chek"), "softib routes has no 'chek' (did you mean check?)")):
            self.assertIn(said, self.refused(*words, status=2), words)
        self.assertEqual(os.listdir(self.dir), [])

    def test_dashes_of_the_programs_own_are_left_to_it(self):
        self.assertEqual(self.ok("run", "echo", "a", "--", "-b"), "a -- -b\n")
        self.assertEqual(self.ok("run", "--", "echo", "--", "-b"), "-- -b\n")

    def test_usage_lines_name_what_stands_where(self):
        for words, usage in ((("exec",), "exec [OPTIONS] HOST -- COMMAND [ARG...]"),
                             (("run",), "run [OPTIONS] -- COMMAND [ARG...]"),
                             (("mpirun",), "mpirun [OPTIONS] PROGRAM [ARG...]"),
                             (("down",), "down [OPTIONS] [FABRIC...]"),
                             (("route", "set"), "route set [OPTIONS] SWITCH LID PORT"),
                             (("link",), "link [OPTIONS] up|down NODE [PORT]"),
                             ((), "[OPTIONS] COMMAND")):
            self.assertIn(f"Usage: softib {usage}\n", self.ok(*words, "--help"))
        self.assertIn("Usage: softib exec [OPTIONS] HOST", self.ok("help", "exec"))

    def test_help_tells_defaults(self):
        for words, lines in (
                (("up",),
                 ("virtual hosts (default: 2)", "GDR (default: NDR)", "(default: single-switch)")),
                (("sim",),
                 ("choose a port (default: 5tuple)", "payload of a packet (default: 4096)")),
                (("serve",), ("the port (default: 8080;", "or both (default: node)")),
                (("log",), ("only the last lines (default: all)",)),
                (("plan", "train"), ("tensor parallelism (default: 1;",
                                     "(default: the least that fits; search"))):
            text = " ".join(self.ok(*words, "--help").split())
            for line in lines:
                self.assertIn(line, text, words)


class EveryCommand(CliCase):
    """Rules that hold for every command, also for future ones."""

    def completed(self, *words):
        return [line.split("\t")[0] for line in self.ok("__complete", *words).splitlines()[:-1]]

    known = []

    def commands(self):
        """Returns all commands, with their actions: a value that has a help of its own is an
        action."""
        if not self.known:
            for name in self.completed(""):
                self.known.append((name,))
                for action in self.completed(name, "") if name != "help" else ():
                    if (f"Usage: softib {name} {action} "
                            in self.softib(name, action, "--help").stdout):
                        self.known.append((name, action))
        return self.known

    def some(self):
        """Returns all commands; with a sanitizer, which takes six times as long to start, every
        third."""
        return self.commands()[::3 if SANITIZED else 1]

    def test_all_are_found(self):
        found = set(self.commands())
        self.assertLessEqual({("up",), ("am",), ("sm",), ("health",), ("serve",), ("sharp",),
                              ("route", "set"), ("sim", "whatif"), ("plan", "train")}, found)

    def test_each_has_a_help_that_names_it(self):
        for words in self.some():
            text = self.ok(*words, "--help")
            self.assertRegex(
                text, rf"^[A-Za-z].*\nUsage: softib {' '.join(words)} \[OPTIONS\]", words)
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run(
                    [SOFTIB, *words, "--help"], env=self.env, stdout=full, timeout=TIMEOUT_S,
                    stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("cannot write", done.stderr, words)

    def test_each_refuses_a_flag_that_it_does_not_have(self):
        for words in self.some():
            told = self.refused(*words, "--no-such-flag", status=2)
            self.assertEqual(told.splitlines(), [
                f"softib: softib {' '.join(words)} has no option --no-such-flag; "
                f"see: softib {' '.join(words)} --help"], words)

    def test_each_prints_json(self):
        all_of_them = self.commands()
        groups = {words[:1] for words in all_of_them if len(words) == 2}
        with_json = {words for words in all_of_them if "--json" in self.completed(*words, "--")}
        without = {" ".join(words) for words in set(all_of_them) - groups - with_json
                   if words[:1] not in with_json}
        self.assertEqual(without, set())

    def test_help_as_json_is_what_shells_complete(self):
        told = self.json("help")
        self.assertEqual({each["name"] for each in told["commands"]}, set(self.completed("")))
        for words in self.some():
            node = told
            names = {name for option in node["options"] for name in option["names"]}
            for word in words:
                node = next(each for each in node["commands"] if each["name"] == word)
                names |= {name for option in node["options"] for name in option["names"]}
            self.assertEqual({name for name in names if name.startswith("--")},
                             set(self.completed(*words, "--")), words)
        about = self.json("help", "exec")
        self.assertEqual((about["name"], about["operands"], about["runs_program"]),
                         ("exec", ["HOST"], True))
        self.assertIn(
            {"names": ["-f", "--fabric"], "operand": "FABRIC"},
            [{key: option[key] for key in ("names", "operand")} for option in about["options"]])
        self.assertIn("no command 'nothing'", self.refused("help", "nothing", "--json", status=2))

    def test_options_of_each_are_explained(self):
        for words in self.some():
            for line in self.ok("__complete", *words, "--").splitlines()[:-1]:
                self.assertRegex(line, r"^--[a-z0-9-]+\t\S", words)

    def test_the_manual_names_every_option_and_no_other(self):
        texts = {page: (MANUAL / f"{page}.1").read_text(encoding="utf-8").replace("\\-", "-")
                 for page in {"softib", *sum(PAGES.values(), ())}}
        known = {"--version"}
        missing = []

        def walk(node, words):
            text = "".join(texts[page] for page in ("softib", *PAGES.get(words[0], ())))
            for option in node["options"]:
                known.update(option["names"])
                if "--help" not in option["names"] and not any(
                        re.search(rf"(?<![a-z-]){name}(?![a-z-])", text)
                        for name in option["names"]):
                    missing.append((words, option["names"]))
            for inner in node["commands"]:
                walk(inner, (*words, inner["name"]))
        for command in self.json("help")["commands"]:
            walk(command, (command["name"],))
        self.assertEqual(missing, [])
        named = {name for text in texts.values()
                 for name in re.findall(r"(?<![a-z-])--[a-z][a-z0-9-]+", text)}
        self.assertEqual(named - known - OTHERS, set())
        print(f"covers {len(known)} names of options")


if __name__ == "__main__":
    unittest.main()
