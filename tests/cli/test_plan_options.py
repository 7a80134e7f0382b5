# SPDX-License-Identifier: BSD-2-Clause
"""Every option of softib plan collective and softib plan compare, as the parser lists them, in
every kind of run: it changes what comes out, or it is refused by name."""

import ctypes
import json
import pathlib
import unittest

from cli_case import BUILD, CliCase

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "plan"
# Two leaves on each rail with few cables between them: it matters which nodes are neighbours.
TAPERED = """base = "hgx-h200"
nodes = 60
[fabric]
oversubscription = "7:1"
"""
TWO_LEAVES = ("--cluster", "{cluster}", "--sizes", "64M")

COLLECTIVES = {
    "NCCL's choice": TWO_LEAVES,
    "one domain": ("--cluster", "hgx-h200:1", "--sizes", "64M"),
    "a ring": (*TWO_LEAVES, "--algorithms", "ring"),
    "NVLSTree": (*TWO_LEAVES, "--algorithms", "nvls-tree"),
    "SHARP": (*TWO_LEAVES, "--algorithms", "sharp"),
    "a broadcast": (*TWO_LEAVES, "--op", "broadcast"),
    "an all-to-all": (*TWO_LEAVES, "--op", "all-to-all"),
    "an MPI": (*TWO_LEAVES, "--stack", "mpi", "--algorithms", "ring"),
    "an MPI with SHARP": (*TWO_LEAVES, "--stack", "mpi", "--algorithms", "sharp"),
}
# Values of each option, of which one must act or all must be refused; None: a flag.
COLLECTIVE_VALUES = {
    "--cluster": ["hgx-b200:3"], "--nodes": ["36"], "--planes": ["4"],
    "--op": ["all-gather", "all-to-all"],
    "--sizes": ["64K"], "--algorithms": ["hierarchical", "tree", "ring"],
    "--protocol": ["LL"], "--collnet": None, "--channels": ["4"], "--order": ["random"],
    "--rails-crossed": None, "--seed": ["7"], "--model": ["packet"], "--stack": ["mpi", "nccl"],
    "--step-time": ["1us"], "--export": ["csv={file}"], "--json": None, "--html": ["{file}"],
}
DEFAULTS = {"--stack": "nccl"}
COMPARISONS = ("oversubscription", "topology", "generation", "link-layer", "sharp", "failed-spine",
               "kv-cache", "planes")
SMALL = ("--cluster", "hgx-h200:4", "--size", "1MB")
# Leaves of four nodes, so that traffic of six crosses the switches above.
SPINES = """base = "{base}"
nodes = 6
[fabric]
radix = 8
"""
SERVICE = ("--model", "llama3.1-8b", "--cluster", "hgx-h200:4", "--requests", "60", "--rate",
           "10", "--seeds", "2", "--rails", "1")
SERVICES = {
    "short prompts": (*SERVICE, "--prompt", "256"),
    "a prefix": (*SERVICE, "--reuse", "0.5", "--prompt", "lognormal:300:0.7"),
    "small instances": (*SERVICE, "--prompt", "256", "--prefill-tp", "2", "--decode-tp", "4",
                        "--prefill", "2"),
}
SERVE_VALUES = {
    "--model": ["llama3.1-70b"], "--cluster": ["hgx-b200:4"], "--prefill": ["3"],
    "--decode": ["2"], "--prefill-tp": ["1"], "--decode-tp": ["2"], "--rate": ["20"],
    "--prompt": ["2000"], "--answer": ["exp:100"], "--reuse": ["25%"], "--decode-reuse": ["0.2"],
    "--stream": None,
    "--precision": ["fp8"], "--kv-precision": ["fp8"], "--rails": ["4"],
    "--batch": ["2", "5", "7", "9"],
    "--requests": ["50"], "--seed": ["9"], "--seeds": ["1"], "--network": ["packet"],
    "--json": None, "--html": ["{file}"],
}
COMPARE_VALUES = {
    "--cluster": ["hgx-b200:2"], "--nodes": ["3", "8"], "--size": ["2MB"],
    "--prices": ["{prices}"], "--model": ["packet"], "--json": None, "--html": ["{file}"],
    "--csv": ["{file}"], "--train": ["llama3.1-8b"], "--vary": ["generation=NDR,XDR"],
    "--sort": ["step"],
}


# Options of the command alone, which no question has.
WRITTEN = ("--html", "--export", "--csv")
ALONE = ("--json", "-o", "--output", "--device", "--python", "--quick", "--program")
# The options of all other commands that plan: what stands beside each, itself, and why it is
# refused ("-": it acts). Of train, search and trace run other tests try all.
TRACES = EXAMPLES.parent / "traces"
HALO, EXPERTS = str(TRACES / "halo.goal"), str(TRACES / "experts")
TIMED = ("--measurements",
         str(EXAMPLES.parents[1] / "src" / "plan" / "train" / "kernels" / "h200.json"))
ELSEWHERE = ("plan collective", "plan compare", "plan goodput", "plan serve", "plan train",
             "plan search", "trace run")
EXPECT = ("--benchmark", "all_reduce_perf", "--sizes", "32M")
ON_FOUR = ("--cluster", "hgx-h100:4")
ROWS = {
    ("plan presets", "--json"): ((), ("--json",), "-"),
    ("plan show", "--nodes"): (("hgx-h200",), ("--nodes", "3"), "-"),
    ("plan show", "--planes"): (("hgx-h200",), ("--planes", "4"), "-"),
    ("plan show", "--prices"): (("hgx-h200:2",), ("--prices", str(EXAMPLES / "prices.toml")), "-"),
    ("plan show", "--json"): (("hgx-h200:2",), ("--json",), "-"),
    ("plan expect", "--cluster"): ((*EXPECT, *ON_FOUR), ("--cluster", "hgx-h100:2"), "--cluster"),
    ("plan expect", "--nodes"): ((*EXPECT, *ON_FOUR), ("--nodes", "2"), "-"),
    ("plan expect", "--per-node"): ((*EXPECT, *ON_FOUR), ("--per-node", "2"), "-"),
    ("plan expect", "--benchmark"): ((*ON_FOUR, "--sizes", "1M"), EXPECT[:2], "-"),
    ("plan expect", "--sizes"): ((*EXPECT[:2], *ON_FOUR), ("--sizes", "64M"), "-"),
    ("plan expect", "--algorithm"): ((*EXPECT, *ON_FOUR), ("--algorithm", "tree"), "-"),
    ("plan expect", "--protocol"): ((*EXPECT, *ON_FOUR), ("--protocol", "LL"), "-"),
    ("plan expect", "--collnet"): ((*EXPECT, *ON_FOUR), ("--collnet",), "-"),
    ("plan expect", "--channels"): ((*EXPECT, *ON_FOUR), ("--channels", "2"), "-"),
    ("plan expect", "--json"): ((*EXPECT, *ON_FOUR), ("--json",), "-"),
    ("plan validate", "--markdown"): (("--json",), ("--markdown",), "leave out all but one"),
    ("plan validate", "--errors"): (("--json",), ("--errors",), "leave out all but one"),
    ("plan validate", "--json"): (("--markdown",), ("--json",), "leave out all but one"),
    ("plan calibrate", "--output"): (TIMED, ("-o", "{file}"), "-"),
    ("plan calibrate", "--cluster"): (TIMED, ("--cluster", "hgx-b200:1"), "-"),
    ("plan calibrate", "--measurements"): (("--program",), TIMED, "leave out the other options"),
    ("plan calibrate", "--device"): (TIMED, ("--device", "cpu"), "--device"),
    ("plan calibrate", "--python"): (TIMED, ("--python", "python3"), "--python"),
    ("plan calibrate", "--quick"): (TIMED, ("--quick",), "--quick"),
    ("plan calibrate", "--program"): (TIMED, ("--program",), "leave out the other options"),
    ("plan calibrate", "--json"): (TIMED, ("--json",), "-"),
    ("plan models", "--json"): ((), ("--json",), "-"),
    ("trace show", "--groups"): ((EXPERTS,), ("--groups", "{groups}"), "-"),
    ("trace show", "--json"): ((HALO,), ("--json",), "-"),
    ("trace convert", "--groups"): ((EXPERTS, "{file}.et", "--json"),
                                    ("--groups", "{groups}"), "-"),
    ("trace convert", "--cluster"): ((EXPERTS, "{file}.goal"), ("--cluster", "hgx-h200:1"), "-"),
    ("trace convert", "--json"): ((HALO, "{file}.goal"), ("--json",), "-"),
    ("trace scale", "--ranks"): ((HALO, "{file}.goal"), ("--ranks", "8"), "-"),
    ("trace scale", "--groups"): ((HALO, "--ranks", "8", "{file}.goal"),
                                  ("--groups", "{groups}"), "--groups changes nothing"),
    ("trace scale", "--cluster"): ((HALO, "--ranks", "8", "{file}.goal"),
                                   ("--cluster", "hgx-h200:1"), "--cluster changes nothing"),
    ("trace scale", "--json"): ((HALO, "--ranks", "8", "{file}.goal"), ("--json",), "-"),
    ("trace record", "--output"): (("--", "true"), ("-o", "/nowhere/x.goal"), "/nowhere/x.goal"),
    ("trace record", "--json"): (("-o", "/nowhere/x.goal", "--", "true"), ("--json",),
                                 "/nowhere/x.goal"),
}


class PlanOptions(CliCase):
    def options_of(self, *names):
        at = json.loads(self.ok("help", "--json"))
        for name in names:
            at = next(each for each in at["commands"] if each["name"] == name)
        return [option["names"] for option in at["options"] if "--help" not in option["names"]]

    def values_of_training(self):
        """Returns a value of each option of plan train. Comparisons take them with --train, where
        test_plan_train_compare.py tries them."""
        plan = json.loads(self.ok("help", "plan", "--json"))
        train = next(each for each in plan["commands"] if each["name"] == "train")
        return {option["names"][-1]: [option["operand"].split("|")[-1]
                                      if "|" in option["operand"] else "2"]
                if option["operand"] else None for option in train["options"]}

    def outcome(self, words, file):
        """Returns what a run prints and writes."""
        pathlib.Path(file).unlink(missing_ok=True)
        done = self.softib(*words)
        written = pathlib.Path(file).read_text() if pathlib.Path(file).exists() else None
        return done.returncode, done.stdout, done.stderr, written

    def setUp(self):
        super().setUp()
        self.cluster = str(pathlib.Path(self.scratch, "tapered.toml"))
        pathlib.Path(self.cluster).write_text(TAPERED)

    def words(self, words):
        return [word.format(cluster=self.cluster) for word in words]

    def check_option(self, words, plain, option, value, file):
        """Returns whether the option acts; fails if it is refused without its name."""
        given = [option] if value is None else [option, value.format(
            file=file, prices=EXAMPLES / "prices.toml")]
        # What is given twice is refused by the parser; the kind's own value goes.
        base = list(words)
        own = base[base.index(option) + 1] if option in base[:-1] else DEFAULTS.get(option)
        if value is not None and value == own:
            return None
        if option in base:
            at = base.index(option)
            del base[at:at + len(given)]
        status, out, err, written = self.outcome([*base, *given], file)
        if status == 0:
            return (out, written) != (plain[1], plain[3])
        self.assertIn(option, err.replace("CollNet", "--collnet"))
        self.assertEqual((out, written), ("", None))
        return None

    def check(self, kinds, names, values):
        file = str(pathlib.Path(self.scratch, "out"))
        pairs = 0
        for kind, words in kinds.items():
            plain = self.outcome(words, file)
            self.assertEqual(plain[0], 0, (kind, plain[2]))
            for option in names:
                known = next((name for name in option if name in values), None)
                self.assertIsNotNone(known, f"{option[-1]} needs a value in this test")
                with self.subTest(kind=kind, option=known):
                    pairs += 1
                    said = [self.check_option(words, plain, known, value, file)
                            for value in values[known] or [None]]
                    self.assertTrue(True in said or False not in said,
                                    f"{known} is accepted and changes nothing")
        return pairs

    def test_every_option_of_a_collective_acts_or_is_refused(self):
        kinds = {name: ("plan", "collective", *self.words(words))
                 for name, words in COLLECTIVES.items()}
        names = self.options_of("plan", "collective")
        self.assertEqual(self.check(kinds, names, COLLECTIVE_VALUES), len(kinds) * len(names))

    def test_every_option_of_a_comparison_acts_or_is_refused(self):
        kinds = {name: ("plan", "compare", name, *SMALL) for name in COMPARISONS
                 if name != "failed-spine"}
        names = self.options_of("plan", "compare")
        known = {**self.values_of_training(), **COMPARE_VALUES}
        self.assertEqual(self.check(kinds, names, known), len(kinds) * len(names))
        spines = [str(pathlib.Path(self.scratch, base + ".toml"))
                  for base in ("hgx-h200", "hgx-b200")]
        for path in spines:
            pathlib.Path(path).write_text(SPINES.format(base=pathlib.Path(path).stem))
        failed = {"failed-spine": ("plan", "compare", "failed-spine", "--cluster", spines[0],
                                   "--size", "1MB")}
        values = {**known, "--cluster": [spines[1]]}
        self.assertEqual(self.check(failed, names, values), len(names))

    def test_every_option_of_a_service_acts(self):
        kinds = {name: ("plan", "serve", *words) for name, words in SERVICES.items()}
        names = self.options_of("plan", "serve")
        self.assertEqual(self.check(kinds, names, SERVE_VALUES), len(kinds) * len(names))

    def test_every_option_is_a_key_of_a_question(self):
        library = ctypes.CDLL(str(BUILD / "lib" / "libsoftib.so.0"))
        error = ctypes.create_string_buffer(1000)

        def said_of(what, key):
            """Returns what is wrong with a key whose value is a table with an odd key."""
            question = f'ask = "{what}"\n{key} = {{odd = 1}}\n'.encode()
            self.assertIsNone(library.softib_ask(question, b"", error, ctypes.c_size_t(len(error))))
            return error.value.decode()

        library.softib_ask.restype = ctypes.c_void_p
        of_training = {names[-1] for names in self.options_of("plan", "train")} - {"--model"}
        for what in ("show", "collective", "compare", "calibrate", "expect", "serve"):
            for names in self.options_of("plan", what):
                for name in names:
                    said = said_of(what, name.removeprefix("--").replace("-", "_"))
                    self.assertIn(
                        "unknown key" if name in ALONE else
                        "for the command, which writes" if name in WRITTEN else
                        "say which" if what == "serve" and name in ("--model", "--cluster") else
                        "unknown key 'odd'" if name in ("--cluster", "--train") else
                        "it needs train" if what == "compare" and name in of_training else
                        "must be", said)
        self.assertIn("must be", said_of("compare", "what"))

    def test_every_option_of_the_other_commands_acts_or_is_refused(self):
        groups = pathlib.Path(self.scratch, "groups.json")
        groups.write_text('{"experts 0": [1, 0], "experts 1": [3, 2]}')
        file = pathlib.Path(self.scratch, "trace")
        pairs = 0
        for group in json.loads(self.ok("help", "--json"))["commands"]:
            for command in group["commands"] if group["name"] in ("plan", "trace") else ():
                name = f"{group['name']} {command['name']}"
                for option in command["options"]:
                    pair = (name, option["names"][-1])
                    if name in ELSEWHERE or pair[1] == "--help":
                        continue
                    self.assertIn(pair, ROWS, "an option without a row in this test")
                    with self.subTest(pair):
                        pairs += 1
                        self.check_row(name.split(), ROWS[pair], {"groups": groups, "file": file})
        self.assertEqual(pairs, len(ROWS))
        print(f"covers {pairs} pairs of a command and an option")

    def check_row(self, command, row, files):
        base, extra, says = row
        base, extra = [[word.format(**files) for word in words] for words in (base, extra)]

        def outcome(words):
            done = self.softib(*command, *words)
            made = sorted(pathlib.Path(self.scratch).glob("trace*"))
            content = [each.read_bytes() for each in made]
            for each in made:
                each.unlink()
            return (done.returncode, done.stdout, done.stderr), content
        if says == "-":
            with_it = outcome([*extra, *base])
            self.assertEqual(with_it[0][0], 0, with_it[0])
            self.assertNotEqual(outcome(base), with_it)
        else:
            after, made = outcome([*extra, *base])
            self.assertNotEqual(after[0], 0)
            self.assertIn(says, after[2])
            self.assertEqual((after[1], made), ("", []))

    def test_what_is_refused_says_what_would_act(self):
        for words, message in (
                (("--seed", "3"), "--seed changes nothing here: it needs --order random"),
                (("--algorithms", "sharp", "--channels", "4"),
                 "it needs several NVLink domains and an algorithm with channels: ring, tree"),
                (("--algorithms", "nvls-tree", "--protocol", "LL"),
                 "it needs an algorithm with LL and LL128: ring, tree, recursive or hierarchical"),
                (("--stack", "mpi"), "it needs --algorithms, since NCCL does not choose"),
                (("--html", "-", "--json"), "--json changes nothing here: it needs --html with")):
            with self.subTest(words):
                self.assertIn(message,
                              self.refused("plan", "collective", *self.words(TWO_LEAVES),
                                           *words, status=2))

    def test_the_model_of_a_kv_cache_acts_between_domains_alone(self):
        inside = ("plan", "compare", "kv-cache", "--cluster", "nvl72-xdr:1", "--model", "packet")
        self.assertIn("--model changes nothing here: it needs nodes of two NVLink domains",
                      self.refused(*inside, status=2))

    def test_collnet_acts_where_nccl_considers_it(self):
        gather = ("plan", "collective", "--op", "all-gather", "--sizes", "1M", "--collnet")
        self.ok(*gather, "--cluster", "hgx-h200:2")
        self.assertIn("--collnet changes nothing here: it needs an operation that NCCL leaves to "
                      "switches",
                      self.refused(*gather, "--cluster", "nvl72-xdr:2", status=2))

    def test_an_algorithm_that_nccl_would_not_take_has_a_note(self):
        said = self.json("plan", "collective", "--cluster", "hgx-h200:2", "--op", "all-gather",
                         "--sizes", "1M", "--algorithms", "ring,pat")
        self.assertEqual(len(said["rows"]), 2)
        self.assertEqual(said["notes"], ["NCCL itself would not take pat for all-gather on these "
                                         "GPUs: the time is what it would have"])

    def test_every_report_says_what_it_is_worth(self):
        ring = ("plan", "collective", "--cluster", "hgx-b200:4", "--sizes", "1G")
        page = pathlib.Path(self.scratch, "page.html")
        for text in (self.ok(*ring, "--algorithms", "ring"),
                     json.dumps(self.json(*ring, "--algorithms", "ring", "--html", str(page))),
                     page.read_text()):
            self.assertIn("model flow: max-min fair rates", text)
            self.assertIn("nearest rows of docs/validation.md: C1b", text)
        self.assertEqual(self.json(*ring, "--op", "all-gather", "--algorithms", "recursive")
                         ["evidence"],
                         ["all-gather by recursive: no published measurement validates it"])
        for text in (self.ok("plan", "show", "hgx-h200:2"),
                     " ".join(self.json("plan", "show", "hgx-h200:2")["basis"])):
            self.assertIn("nearest rows of docs/validation.md: T1, T2", text)
            self.assertIn("no published figure validates what a network costs", text)
        for nodes, row in ((18, "model of NVLink: "), (36, "model flow: ")):
            said = self.json("plan", "compare", "kv-cache", "--cluster", "nvl72-xdr", "--nodes",
                             str(nodes))["notes"]
            self.assertTrue(any(note.startswith(row) for note in said), said)
            self.assertTrue(any("validat" in note for note in said), said)
        said = self.json("plan", "compare", "topology", *SMALL)["notes"]
        self.assertTrue(any("nearest rows of docs/validation.md" in note for note in said))
        self.assertTrue(any("no published measurement validates it" in note for note in said))
        self.assertTrue(any("model flow" in note for note in said))


if __name__ == "__main__":
    unittest.main()
