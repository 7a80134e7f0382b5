# SPDX-License-Identifier: BSD-2-Clause
"""Every option of every command about running fabrics, as the parser lists them: it changes what
the command prints or writes, or it is refused by name. An option without a row here fails."""

import json
import pathlib
import subprocess
import unittest

from cli_case import SOFTIB, TIMEOUT_S, softib_test
from serve_case import ServeCase

HERE = pathlib.Path(__file__).resolve().parent.parent
PLANNER = ("sim", "plan", "trace")

# What each option stands beside, in a command that runs on the fabrics "lab" (direct path), "pk"
# (packet path) and "et" (Ethernet). Each row: the command's words, those of the option, and whether
# it is refused ("-": it acts).
ENVIRONMENT = ("--", "env")
ROWS = {
    ("up", "--fabric"): [(("one",), ("-f", "two"), "--fabric")],
    ("up", "--foreground"): [((), ("--foreground", "--json"), "leave out --json")],
    ("down", "--fabric"): [((), ("-f", "nobody"), "no fabric 'nobody'")],
    ("down", "--all"): [(("lab",), ("--all",), "not both")],
    ("list", "--json"): [((), ("--json",), "-")],
    ("status", "--fabric"): [((), ("-f", "pk"), "-")],
    ("status", "--verbose"): [(("-f", "pk"), ("-v",), "-")],
    ("status", "--json"): [(("-f", "lab"), ("--json",), "-")],
    ("exec", "--fabric"): [(("h0", *ENVIRONMENT), ("-f", "pk"), "-")],
    ("exec", "--ns"): [(("-f", "lab", "h0", *ENVIRONMENT), ("--ns",), "-")],
    ("exec", "--rsockets"): [(("-f", "lab", "h0", *ENVIRONMENT), ("--rsockets",), "-")],
    ("exec", "--enforce-memlock"): [(("-f", "lab", "h0", *ENVIRONMENT),
                                     ("--enforce-memlock",), "-")],
    ("exec", "--json"): [(("-f", "lab", "h0", "--", "true"), ("--json",), "-")],
    ("exec", "--real-hostname"): [(("-f", "lab", "h0", "--", "uname", "-n"),
                                   ("--real-hostname",), "-")],
    ("env", "--fabric"): [(("h0",), ("-f", "pk"), "-")],
    ("env", "--rsockets"): [(("-f", "lab", "h0"), ("--rsockets",), "-")],
    ("env", "--enforce-memlock"): [(("-f", "lab", "h0"), ("--enforce-memlock",), "-")],
    ("env", "--json"): [(("-f", "lab", "h0"), ("--json",), "-")],
    ("env", "--real-hostname"): [(("-f", "lab", "h0"), ("--real-hostname",), "-")],
    ("mpirun", "--fabric"): [(("nothing",), ("-f", "nobody"), "no fabric 'nobody'")],
    ("mpirun", "--ranks"): [(("-f", "lab", "nothing"), ("-n", "0"), "--ranks")],
    ("mpirun", "--mpi"): [(("-f", "lab", "nothing"), ("--mpi", "some"), "--mpi")],
    ("addr", "--fabric"): [((), ("-f", "pk"), "-"), (("lab",), ("-f", "pk"), "--fabric")],
    ("addr", "--json"): [(("-f", "lab"), ("--json",), "-")],
    ("log", "--fabric"): [((), ("-f", "lab"), "-"), (("lab",), ("-f", "pk"), "--fabric")],
    ("log", "--lines"): [(("lab",), ("-n", "0"), "-"), (("lab",), ("-n", "-1"), "--lines")],
    ("log", "--json"): [(("lab",), ("--json",), "-")],
    ("route", "--fabric"): [(("show",), ("-f", "pk"), "-")],
    ("route", "--json"): [(("-f", "lab", "show"), ("--json",), "-")],
    ("routes", "--fabric"): [(("check",), ("-f", "pk"), "-"),
                             (("check",), ("-f", "et"), "'et' is an Ethernet")],
    ("routes", "--json"): [(("-f", "lab", "check"), ("--json",), "-")],
    ("routes check", "--all"): [(("-f", "ri"), ("--all",), "-")],
    ("routes check", "--permutations"): [(("-f", "lab"), ("--permutations",), "-")],
    ("routes check", "--ranks"): [(("-f", "lab"), ("--ranks", "{file}"), "--permutations"),
                                  (("-f", "lab", "-p"), ("--ranks", "/nowhere"), "/nowhere")],
    ("link", "--fabric"): [(("up", "h1"), ("-f", "nobody"), "no fabric 'nobody'")],
    ("link", "--json"): [(("-f", "lab", "up", "h0"), ("--json",), "-")],
    ("switch", "--fabric"): [(("revive", "sw0"), ("-f", "nobody"), "no fabric 'nobody'")],
    ("switch", "--json"): [(("-f", "lab", "revive", "leaf0"), ("--json",), "-")],
    ("sm", "--fabric"): [((), ("-f", "et"), "'et' is an Ethernet")],
    ("sm", "--json"): [(("-f", "lab"), ("--json",), "-")],
    ("fault", "--fabric"): [(("leaf0:1", "--drop", "1%"), ("-f", "lab"), "no packets to lose")],
    ("fault", "--drop"): [(("-f", "pk", "sw0:1", "--json", "--delay", "1us"), ("--drop", "3%"),
                           "-"),
                          (("-f", "pk", "sw0:1"), ("--drop", "1e-7"), "less than one packet")],
    ("fault", "--corrupt"): [(("-f", "pk", "sw0:1", "--json", "--delay", "1us"),
                              ("--corrupt", "4%"), "-")],
    ("fault", "--delay"): [(("-f", "pk", "sw0:1", "--json", "--drop", "1%"), ("--delay", "2us"),
                            "-"),
                           (("-f", "pk", "sw0:1"), ("--delay", "0.4ns"), "less than a nanosecond"),
                           (("-f", "et", "sw0:1"), ("--delay", "1us"), "on Ethernet")],
    ("fault", "--rate"): [(("-f", "pk", "sw0:1", "--json", "--drop", "1%"), ("--rate", "9G"), "-"),
                          (("-f", "pk", "sw0:1"), ("--rate", "0.4"), "less than a megabit"),
                          (("-f", "et", "sw0:1"), ("--rate", "1G"), "on Ethernet")],
    ("fault", "--clear"): [(("-f", "pk", "sw0:1", "--json", "--drop", "1%"), ("--clear",), "-")],
    ("fault", "--json"): [(("-f", "pk"), ("--json",), "-")],
    ("capture", "--fabric"): [(("-w", "{file}", "nobody:1"), ("-f", "lab"), "has no packets")],
    ("capture", "--write"): [(("-f", "pk", "nobody:1"), ("-w", "{file}"), "no cable at"),
                             (("-f", "pk", "sw0:1", "h0"), ("-w", "{file}"), "named before")],
    ("capture", "--snaplen"): [(("-f", "pk", "-w", "{file}"), ("-s", "3"), "--snaplen")],
    ("capture", "--bare"): [(("-f", "et", "-w", "{file}"), ("--bare",), "--bare")],
    ("capture", "--count"): [(("-f", "pk", "-w", "{file}"), ("-c", "0"), "--count"),
                             (("-f", "pk", "-w", "{file}"), ("-c", "-1"), "--count")],
    ("capture", "--json"): [(("-f", "pk", "-w", "-"), ("--json",), "--json")],
    ("am", "--fabric"): [(("h0",), ("-f", "nobody"), "no fabric 'nobody'"),
                         (("h0",), ("-f", "et"), "'et' is an Ethernet"),
                         (("h0",), ("-f", "lab"), "softib up --am none")],
    ("sharp", "--fabric"): [((), ("-f", "et"), "'et' is an Ethernet")],
    ("sharp", "--json"): [(("-f", "lab"), ("--json",), "-")],
    ("sharp", "--dot"): [(("-f", "lab", "jobs"), ("--dot", "{file}"), "--dot")],
    ("sharp", "--svg"): [(("-f", "lab", "jobs"), ("--svg", "{file}"), "--svg")],
    ("telemetry", "--fabric"): [(("--umad", "x"), ("-f", "lab"), "--fabric")],
    ("telemetry", "--history-max"): [(("--umad", "x"), ("--history-max", "99999999"),
                                      "--history-max"),
                                     (("-f", "lab"), ("--history-max", "-1"), "--history-max")],
    ("telemetry", "--recording"): [(("--umad", "x"), ("--recording", "y"), "--recording")],
    ("serve", "--fabric"): [(("--recording", "x"), ("-f", "lab"), "--fabric")],
    ("serve", "--history-max"): [(("--umad", "x"), ("--history-max", "99999999"),
                                  "--history-max")],
    ("serve", "--recording"): [(("--umad", "x"), ("--recording", "y"), "--recording")],
    ("serve", "--cert"): [(("-f", "lab"), ("--cert", "x"), "--cert")],
    ("serve", "--key"): [(("-f", "lab"), ("--key", "x"), "--key")],
    ("serve", "--port"): [(("-f", "lab"), ("--port", "70000"), "--port")],
    ("serve", "--exporter"): [(("-f", "lab"), ("--exporter", "x"), "--exporter")],
    ("serve", "--counters"): [(("-f", "lab"), ("--counters", "x"), "--counters")],
    ("health", "--fabric"): [((), ("-f", "pk"), "-")],
    ("health", "--json"): [(("-f", "lab"), ("--json",), "-")],
    ("health", "--umad"): [(("-f", "lab"), ("--umad", "mlx5_0"), "--fabric"),
                           ((), ("--umad", "mlx5_77"), "mlx5_77")],
    ("health", "--compare"): [(("-f", "lab"), ("--compare", "/nowhere"), "/nowhere")],
    ("help", "--json"): [(("up",), ("--json",), "-")],
}
# Rows that need a fabric without an aggregation manager, and those that end only by the option.
AM = ("-f", "na", "h0", "--once")
ROWS |= {
    ("am", "--once"): [(None, ("-f", "na", "h0", "--once"), "-")],
    ("am", "--am-key"): [(AM, ("--am-key", "x"), "--am-key")],
    ("am", "--json"): [(AM, ("--json",), "-")],
    ("run", "--ns"): [(("--", "printenv", "LD_PRELOAD"), ("--ns",), "-")],
    ("run", "--enforce-memlock"): [(("--", "printenv", "SOFTIB_ENFORCE_MEMLOCK"),
                                    ("--enforce-memlock",), "-")],
    ("run", "--real-hostname"): [(("--", "uname", "-n"), ("--real-hostname",), "-")],
    ("run", "--json"): [(("--", "true"), ("--json",), "-")],
    ("serve", "--rules"): [(("-f", "pk", "--port", "0"), ("--rules", "/nowhere"), "/nowhere")],
    ("serve", "--sysfs"): [(("-f", "pk", "--port", "0"), ("--sysfs", "/proc/x"), "/proc/x")],
    ("serve", "--history"): [(("-f", "pk", "--port", "0"), ("--history", "/nowhere/x"),
                              "/nowhere/x")],
    ("serve", "--address"): [(("-f", "pk", "--port", "0"), ("--address", "10.9.9.9"), "--cert")],
    ("telemetry", "--rules"): [(("-f", "pk"), ("--rules", "/nowhere"), "/nowhere")],
    ("telemetry", "--sysfs"): [(("-f", "pk"), ("--sysfs", "/proc/x"), "/proc/x")],
    ("telemetry", "--history"): [(("-f", "pk"), ("--history", "/nowhere/x"), "/nowhere/x")],
}
ROWS[("serve", "--recording")].append((("--port", "0"), ("--recording", "/nowhere"), "/nowhere"))
# Options that these tests use on programs that run for a while.
ELSEWHERE = {
    "cli/test_telemetry.py": [("serve", "--json"), ("serve", "--allow-control"),
                              ("serve", "--umad"), ("telemetry", "--umad")],
    "cli/test_commands.py": [("telemetry", "--json"), ("down", "--json")],
    "cli/test_mpirun.py": [("mpirun", "--json")],
    "clients/test_mpi.py": [("mpirun", "--real-hostname")],
    "cli/test_live_options.py": [("log", "--follow"), ("serve", "--name"), ("down", "--json"),
                                 ("up", "--json")],
}
# Values of the keys of a fabric for a drawing; without one: a flag. What a drawing does not show
# may have any value.
TREE = ("--topology", "fat-tree", "--hosts", "8", "--radix", "4")
DRAWN = {
    "--topology": "single-switch", "--hosts": "6", "--hcas": "2", "--radix": "16", "--levels": "3",
    "--oversubscription": "2:1", "--spine-oversubscription": "2:1", "--dimensions": "2x2",
    "--hosts-per-switch": "1", "--groups": "2", "--switches-per-group": "2", "--subnets": "4",
    "--routers": "1", "--planes": "2", "--generation": "EDR", "--device-pattern": "x{}",
    "--host-pattern": "n{}",
    "--from": "{netlist}", "--config": "{toml}", "--site": "1", "--fabric": "lab",
    "--dot": "{file}", "--svg": "{file}", "--ibnetdiscover": "{file}", "--ibsim": "{file}",
    "--report": None, "--json": None, "--rack-hosts": "3", "--lmc": "1",
    "--trunk": "leaf0=127.0.0.1:9000,127.0.0.1:9001", "--telemetry": None,
    "--adaptive-routing": None, "--qos": None, "--arena": "4GiB", "--data-path": "packet",
    "--link-layer": "ethernet", "--roce-address-base": "127.60.0.0",
    "--roce-addresses": "10.0.0.1=h0", "--trunk-key": "x", "--link-scale": "0.5",
    "--addresses": "10.0.0.1=h0", "--sm": "none", "--sm-args": "-v", "--am": "none",
    "--engine": "updn", "--partitions": "{partitions}", "--lid-file": "{file}", "--max-op-vls": "2",
    "--high-limit": "9", "--vlarb-high": "1:9", "--vlarb-low": "1:9", "--sl2vl": "1,0",
}


class LiveOptions(ServeCase):
    def options(self):
        """Yields each command about running fabrics with each of its options."""
        def walk(node, words):
            for option in node["options"]:
                if "--help" not in option["names"]:
                    yield " ".join(words), option["names"][-1]
            for inner in node["commands"]:
                yield from walk(inner, [*words, inner["name"]])
        for command in json.loads(self.ok("help", "--json"))["commands"]:
            if command["name"] not in PLANNER:
                yield from walk(command, [command["name"]])

    def outcome(self, words):
        self.file.unlink(missing_ok=True)
        done = self.softib(*words)
        return done, self.file.read_bytes() if self.file.exists() else None

    def setUp(self):
        super().setUp()
        self.file = pathlib.Path(self.scratch, "file")

    def check_row(self, command, option, row):
        base, extra, says = row
        extra = [word.format(file=self.file) for word in extra]
        base = base and [word.format(file=self.file) for word in base]
        words = command.split()
        before = self.outcome([*words, *base]) if says == "-" and base is not None else None
        after, written = self.outcome([*words, *extra, *(base or ())])
        if says != "-":
            self.assertNotEqual(after.returncode, 0, (command, option))
            self.assertIn(says, after.stderr)
            self.assertEqual((after.stdout, written), ("", None))
        elif before is None:
            self.assertEqual(after.returncode, 0, after.stderr)
        else:
            self.assertNotEqual((before[0].returncode, before[0].stdout, before[0].stderr,
                                 before[1]),
                                (after.returncode, after.stdout, after.stderr, written))

    def test_every_option_acts_or_is_refused(self):
        self.ok("up", "lab", *TREE)
        self.ok("up", "pk", "--data-path", "packet", "--hosts", "3")
        self.ok("up", "na", "--am", "none")
        self.ok("up", "ri", "--topology", "torus", "--dimensions", "3x3")
        net = softib_test.loopback_net()
        self.ok("up", "et", "--link-layer", "ethernet", "--roce-address-base", f"127.{net}.0.0")
        elsewhere = {(name, pair) for name, pairs in ELSEWHERE.items() for pair in pairs}
        known = set(ROWS) | {pair for _, pair in elsewhere}
        pairs = 0
        all_options = list(self.options())
        # The keys of a fabric are flags of three commands. Of these other tests try every one:
        # spec_test, and the next one.
        keys = set.intersection(*({option for command, option in all_options if command == name}
                                  for name in ("up", "run", "topo"))) - {"--json"}
        self.assertGreater(len(keys), 30)
        for command, option in all_options:
            if command == "topo" or (command in ("up", "run") and option in keys):
                continue
            with self.subTest(command=command, option=option):
                self.assertIn((command, option), known, "an option without a row in this test")
                for row in ROWS.get((command, option), ()):
                    pairs += 1
                    self.check_row(command, option, row)
        print(f"covers {pairs} runs of a command with an option")
        for name, (_, option) in elsewhere:
            self.assertIn(option, (HERE / name).read_text(encoding="utf-8"))
        self.check_follow()
        self.assertEqual(self.json("down", "pk"), [{"name": "pk", "was_up": True}])
        self.assertEqual(self.json("up", "pk")["name"], "pk")

    def check_follow(self):
        """softib log --follow ends with its fabric, and tells its end."""
        with subprocess.Popen([SOFTIB, "log", "na", "--follow"], env=self.env, text=True,
                              stdout=subprocess.PIPE) as follow:
            self.ok("down", "na")
            told, _ = follow.communicate(timeout=TIMEOUT_S)
        self.assertIn(" info ", told)

    def test_a_server_goes_by_the_names_that_it_was_given(self):
        self.ok("up")
        self.serve("--name", "lab.example")
        self.assertEqual(self.ask("/api/v1/fabric", Host="lab.example")[0], 200)
        self.assertEqual(self.ask("/api/v1/fabric", Host="other.example")[0], 421)
        self.assertIn("is no host name", self.refused("serve", "--name", "bad name", status=2))

    def test_a_get_with_a_body_is_refused(self):
        self.ok("up")
        self.serve()
        for body in (b'{"frobnicate": 1}', b"x" * 100000):
            status, text = self.ask("/api/v1/fabric", body=body)
            self.assertEqual((status, "takes no body" in text), (400, True), text)
        for body in (b"null", None):  # Libraries send null if a program gives them no body.
            self.assertEqual(self.ask("/api/v1/fabric", body=body)[0], 200)

    def test_two_files_of_a_drawing_are_two(self):
        file = str(self.file)
        for words in (("--dot", file, "--svg", file), ("--dot", "-", "--svg", "-")):
            self.assertIn("would be written twice",
                          self.refused("topo", "--hosts", "3", *words, status=2))
        self.assertFalse(self.file.exists())

    def test_every_option_of_a_drawing_acts_or_is_refused(self):
        self.ok("up", "lab")
        (pathlib.Path(self.scratch, "a.toml")).write_text('generation = "EDR"\n')
        (pathlib.Path(self.scratch, "a.conf")).write_text("Default=0x7fff: ALL=full;\n")
        netlist = str(pathlib.Path(self.scratch, "netlist"))
        self.ok("topo", "--hosts", "3", "--ibnetdiscover", netlist)
        pairs = 0
        for command, option in self.options():
            if command != "topo":
                continue
            self.assertIn(option, DRAWN, "an option without a value in this test")
            value = {"{file}": str(self.file), "{netlist}": netlist,
                     "{toml}": f"{self.scratch}/a.toml",
                     "{partitions}": f"{self.scratch}/a.conf"}.get(DRAWN[option], DRAWN[option])
            extra = [option] if value is None else [option, value]
            for kind, words in (("picture", TREE), ("report", (*TREE, "--report")),
                                ("JSON", (*TREE, "--json")), ("running", ("--fabric", "lab"))):
                with self.subTest(kind=kind, option=option):
                    pairs += 1
                    base = list(words)
                    if option in base:
                        if value in (None, "lab"):
                            continue
                        base[base.index(option):base.index(option) + 2] = []
                    before = self.outcome(["topo", *words])
                    after, written = self.outcome(["topo", *base, *extra])
                    if after.returncode == 0:
                        self.assertNotEqual((before[0].stdout, before[1]),
                                            (after.stdout, written))
                    else:
                        # It, or what it stands beside, is called by name.
                        self.assertTrue(any(word.strip("-") in after.stderr
                                            for word in (*base, *extra)
                                            if word.startswith("-")), after.stderr)
                        self.assertEqual((after.stdout, written), ("", None))
        print(f"covers {pairs} pairs of an option and a kind of drawing")

    def test_what_up_cannot_use_is_refused_before_anything_starts(self):
        for words, says in (
                (("--sm", "none", "--lmc", "1"), "--lmc changes nothing here: it needs our subnet"),
                (("--sm", "opensm", "--engine", "updn"), "--engine changes nothing here"),
                (("--sl2vl", "0,1"), "--sl2vl changes nothing here: it needs qos"),
                (("--link-scale", "0.5"), "it needs data_path = \"packet\""),
                (("--roce-address-base", "127.9.0.0"), "it needs link_layer = \"ethernet\""),
                (("--link-layer", "ethernet", "--data-path", "packet"), "--data-path changes"),
                (("--link-layer", "ethernet", "--qos"), "--qos changes nothing here"),
                (("--foreground", "--json"), "leave out --json")):
            with self.subTest(words):
                self.assertIn(says, self.refused("up", *words, status=2))
        self.assertEqual(self.json("list"), [])

    def test_a_port_of_an_ethernet_is_active_at_both_ends_of_its_cable(self):
        net = softib_test.loopback_net()
        self.ok("up", "--link-layer", "ethernet", "--roce-address-base", f"127.{net}.0.0")
        self.ok("health")
        self.ok("link", "down", "h0")
        self.assertNotEqual(self.softib("health").returncode, 0)
        self.ok("link", "up", "h0")
        self.ok("health")


if __name__ == "__main__":
    unittest.main()
