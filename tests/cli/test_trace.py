# SPDX-License-Identifier: BSD-2-Clause
"""softib trace as a user types it: traces of every format are shown, played, converted and
exported, and a live job is recorded."""

import csv
import json
import pathlib
import re
import shutil
import tempfile
import unittest

from cli_case import BUILD, SOFTIB, CliCase

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "traces"
HALO = str(EXAMPLES / "halo.goal")
LAYERS = str(EXAMPLES / "layers.txt")
EXPERTS = str(EXAMPLES / "experts")
MPI_CHECK = BUILD / "examples" / "mpi_check.openmpi"
PROFILE = str(EXAMPLES / "profile.json")
SMALL = ("--cluster", "hgx-h200:4")


def messages_of(text):
    """Returns bytes by pair of ranks in a GOAL file, as its sends say and as its receives say."""
    sent, received, rank = {}, {}, None
    for line in text.splitlines():
        if found := re.match(r"rank (\d+) {", line):
            rank = int(found[1])
        elif found := re.match(r"\w+: send (\d+)b to (\d+)", line):
            key = (rank, int(found[2]))
            sent[key] = sent.get(key, 0) + int(found[1])
        elif found := re.match(r"\w+: recv (\d+)b from (\d+)", line):
            key = (int(found[2]), rank)
            received[key] = received.get(key, 0) + int(found[1])
    return sent, received


class Trace(CliCase):
    def setUp(self):
        super().setUp()
        self.out = pathlib.Path(tempfile.mkdtemp(prefix="softib-trace-"))
        self.addCleanup(shutil.rmtree, self.out)

    def test_show_counts_every_format(self):
        for files, ranks, collectives in (
                (HALO, 4, {}),
                (LAYERS, 32, {"all-gather": 256, "reduce-scatter": 512, "all-reduce": 32}),
                (EXPERTS, 4, {"all-to-all": 8, "all-reduce": 4}),
                (PROFILE, 16, {"all-reduce": 48})):
            with self.subTest(files):
                said = self.json("trace", "show", files)
                self.assertEqual(said["ranks"], ranks)
                counts = {name: each["count"] for name, each in said["collectives"].items()
                          if each["count"]}
                self.assertEqual(counts, collectives)

    def test_every_format_runs_with_both_models(self):
        for files in (HALO, LAYERS, EXPERTS, PROFILE):
            with self.subTest(files):
                flow = self.json("trace", "run", files, *SMALL)
                self.assertGreater(flow["makespan_us"], 1)
                self.assertEqual(flow["makespan_us"],
                                 max(rank["time_us"] for rank in flow["jobs"][0]["ranks"]))
        packet = self.json("trace", "run", HALO, *SMALL, "--per-node", "1", "--model", "packet")
        flow = self.json("trace", "run", HALO, *SMALL, "--per-node", "1")
        self.assertAlmostEqual(packet["makespan_us"] / flow["makespan_us"], 1, delta=0.05)
        self.assertEqual(flow["jobs"][0]["fabric_bytes"], 6 * 262144)

    def test_a_table_says_what_was_exposed(self):
        text = self.ok("trace", "run", LAYERS, *SMALL, "--ranks")
        self.assertIn("- not validated: ", text)
        self.assertRegex(text, r"JOB +RANKS +TIME +COMPUTE +EXPOSED +IDLE +FABRIC +NVLINK")
        self.assertRegex(text, r"switch and switch +\d")

    def test_jobs_share_the_fabric_and_random_placement_changes_it(self):
        alone = self.json("trace", "run", LAYERS, "--cluster", "hgx-h200:8")
        both = self.json("trace", "run", LAYERS, "--cluster", "hgx-h200:8", "--placement", "0-3",
                         "--job", f"{LAYERS}@4-7")
        self.assertEqual(len(both["jobs"]), 2)
        self.assertEqual(both["jobs"][1]["ranks"][0]["gpu"], 32)
        self.assertGreaterEqual(both["makespan_us"], alone["makespan_us"] * 0.999)
        shuffled = ("trace", "run", LAYERS, "--cluster", "hgx-h200:8", "--placement", "random")
        self.assertEqual(self.json(*shuffled), self.json(*shuffled))

    def test_exports_have_the_same_flows(self):
        goal, chakra, table = (self.out / name for name in ("f.goal", "f.et", "f.csv"))
        played = self.json("trace", "run", EXPERTS, *SMALL, "--per-node", "1",
                           "--export", f"goal={goal}", "--export", f"chakra={chakra}",
                           "--export", f"csv={table}")
        sent, received = messages_of(goal.read_text())
        self.assertEqual(sent, received)
        flows = {}
        for row in csv.DictReader(table.read_text().splitlines()):
            key = (int(row["from_rank"]), int(row["to_rank"]))
            flows[key] = flows.get(key, 0) + int(row["bytes"])
        # A barrier's messages of one byte come before each collective.
        for key, size in flows.items():
            self.assertAlmostEqual(sent[key], size, delta=20)
        self.assertEqual(sum(flows.values()), played["jobs"][0]["fabric_bytes"])
        replayed = self.json("trace", "run", str(goal), *SMALL, "--per-node", "1")
        self.assertAlmostEqual(replayed["makespan_us"] / played["makespan_us"], 1, delta=0.1)
        files = [str(self.out / f"f.{rank}.et") for rank in range(4)]
        replayed = self.json("trace", "run", *files, *SMALL, "--per-node", "1")
        self.assertAlmostEqual(replayed["makespan_us"] / played["makespan_us"], 1, delta=0.1)

    def test_steps_are_played_as_they_are_exported(self):
        goal = self.out / "f.goal"
        whole = self.json("trace", "run", LAYERS, *SMALL, "--export", f"goal={goal}")
        steps = self.json("trace", "run", LAYERS, *SMALL, "--steps")
        again = self.json("trace", "run", str(goal), *SMALL)
        self.assertEqual(whole["jobs"][0]["fabric_bytes"], steps["jobs"][0]["fabric_bytes"])
        self.assertNotEqual(whole["makespan_us"], steps["makespan_us"])
        self.assertAlmostEqual(steps["makespan_us"] / whole["makespan_us"], 1, delta=0.2)
        self.assertAlmostEqual(again["makespan_us"] / steps["makespan_us"], 1, delta=0.001)

    def test_every_option_of_run_acts_or_is_refused_by_name(self):
        # Rank 0 sends two long messages at once, in a fabric where the place of a node counts.
        trace = self.out / "fan.goal"
        trace.write_text("num_ranks 4\n"
                         "rank 0 {\na: send 4000000b to 1 tag 1\nb: send 4000000b to 2 tag 1\n"
                         "c: calc 1000\n}\n"
                         "rank 1 {\na: recv 4000000b from 0 tag 1\nb: calc 400000\n"
                         "b requires a\n}\n"
                         "rank 2 {\na: calc 700000\nb: recv 4000000b from 0 tag 1\n"
                         "b requires a\n}\n"
                         "rank 3 {\na: calc 5\n}\n")
        groups = self.out / "groups.json"
        groups.write_text('{"0": [0, 1]}')
        file = self.out / "written"
        fan = [str(trace), "--per-node", "1"]
        base = ["trace", "run", "--cluster", "hgx-h200:8", *fan]
        # Values of operands, and what stands beside an option so that it can act.
        values = {"cluster": "hgx-h200:4", "nodes": "2", "placement": "random", "per-node": "2",
                  "seed": "9", "job": f"{trace}@4-7", "groups": str(groups), "eager": "8MB",
                  "message-time": "1ms", "export": f"csv={file}", "timeline": str(file)}
        played = {"seed": [LAYERS, "--json", "--placement", "random"],
                  "placement": [LAYERS, "--json"],
                  "steps": [LAYERS], "groups": [EXPERTS, "--per-node", "1"],
                  "rendezvous": [*fan, "--eager", "1KiB"]}
        idle, pairs = [], 0
        node = json.loads(self.ok("help", "--json"))
        for name in ("trace", "run"):
            node = next(each for each in node["commands"] if each["name"] == name)
        for option in node["options"]:
            name = option["names"][-1].removeprefix("--")
            operand = option["operand"] or ""
            if name == "help":
                continue
            choices = [values[name]] if name in values else operand.split("|") if operand else [""]
            plain = ["trace", "run", "--cluster", "hgx-h200:8", *played.get(name, fan)]
            outcomes = [self.outcome(plain, file)]
            for value in choices:
                word = [f"--{name}", value] if value else [f"--{name}"]
                outcomes.append(self.outcome(self.without(plain, name) + word, file))
            refused = any(status == 2 and f"--{name} " in said
                          for status, said, _ in outcomes[1:])
            if not refused and all(each == outcomes[0] for each in outcomes):
                idle.append(name)
            pairs += 1
        self.assertEqual(idle, [])
        self.assertGreaterEqual(pairs, 15)
        self.assertIn("--seed changes nothing here",
                      self.refused(*base, "--seed", "3", status=2))
        self.assertIn("--ranks changes nothing here",
                      self.refused(*base, "--ranks", "--json", status=2))
        self.assertIn("--steps changes nothing here", self.refused(*base, "--steps", status=2))
        for option in ("--nodes", "--per-node"):
            self.assertIn(option, self.refused("trace", "run", str(trace), "--cluster",
                                               "hgx-h200:8", option, "0", status=2))

    @staticmethod
    def without(words, name):
        """Returns a command line without an option and its value."""
        if f"--{name}" not in words:
            return words
        at = words.index(f"--{name}")
        return words[:at] + words[at + 2:]

    def outcome(self, words, file):
        """Returns the status, all text and the files that a command leaves."""
        done = self.softib(*words)
        written = sorted(self.out.glob(file.name + "*"))
        content = [each.read_bytes() for each in written]
        for each in written:
            each.unlink()
        return done.returncode, done.stdout + done.stderr, content

    def test_groups_that_nobody_names_are_refused(self):
        groups = self.out / "groups.json"
        groups.write_text('{"nobody": [0, 1]}')
        for words in (("show", HALO), ("show", PROFILE), ("convert", HALO, str(self.out / "h.et")),
                      ("scale", "--ranks", "8", HALO, str(self.out / "h.et")),
                      ("run", HALO, "--job", LAYERS, "--cluster", "hgx-h200:8")):
            with self.subTest(words):
                self.assertIn("--groups changes nothing here: no operation",
                              self.refused("trace", *words, "--groups", str(groups), status=2))

    def test_files_are_looked_at_before_any_work(self):
        ran = self.out / "ran"
        halo = self.out / "halo.goal"
        shutil.copy(HALO, halo)
        before = halo.read_text()
        for words, status, says in (
                (("record", "-o", "/nowhere/x.goal", "--", "touch", str(ran)), 1,
                 "/nowhere/x.goal"),
                (("run", str(halo), *SMALL, "--timeline", str(halo)), 2, "is read too"),
                (("run", str(halo), *SMALL, "--timeline", "/nowhere/x"), 1, "/nowhere/x"),
                (("run", str(halo), *SMALL, "--timeline", str(ran), "--export", f"csv={ran}"), 2,
                 "would be written twice"),
                (("run", str(halo), *SMALL, "--timeline", "-", "--json"), 2, "standard output"),
                (("convert", str(halo), str(halo)), 2, "is read too"),
                (("scale", "--ranks", "8", str(halo), "/nowhere/x.goal"), 1, "/nowhere/x.goal")):
            with self.subTest(words):
                done = self.softib("trace", *words)
                self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
                self.assertIn(says, done.stderr)
                self.assertFalse(ran.exists())
        self.assertEqual(halo.read_text(), before)
        self.assertEqual(json.loads(self.ok("trace", "run", HALO, *SMALL, "--timeline", "-")).keys()
                         & {"traceEvents"}, {"traceEvents"})

    def test_a_run_of_hours_is_refused_at_once(self):
        trace = self.out / "long.goal"
        trace.write_text("num_ranks 2\nrank 0 {\na: send 900000000000000b to 1 tag 1\n}\n"
                         "rank 1 {\na: recv 900000000000000b from 0 tag 1\n}\n")
        run = ("trace", "run", str(trace), *SMALL, "--per-node", "1")
        self.assertRegex(self.refused(*run, "--model", "packet"),
                         "about [0-9]+ hours; take --model flow, or go on with --yes")
        self.ok(*run)
        self.assertIn("--yes changes nothing here", self.refused(*run, "--yes", status=2))

    def test_a_node_is_placed_once(self):
        self.assertIn("has node 0 twice", self.refused(
            "trace", "run", HALO, *SMALL, "--placement", "0,1,0", status=2))

    def test_timeline_is_chromes(self):
        page = self.out / "line.json"
        self.ok("trace", "run", EXPERTS, *SMALL, "--timeline", str(page))
        names = [event["name"] for event in json.loads(page.read_text())["traceEvents"]
                 if event["ph"] == "X"]
        self.assertEqual(names.count("dispatch"), 4)

    def test_convert_and_scale(self):
        told = self.json("trace", "convert", EXPERTS, str(self.out / "e.et"))
        self.assertEqual((told["ranks"], told["collectives"]["all-to-all"]["count"]), (4, 8))
        self.assertEqual(sorted(told["written"]), sorted(str(file) for file in self.out.iterdir()))
        said = self.json("trace", "show", str(self.out))
        self.assertEqual(said["collectives"]["all-to-all"]["count"], 8)
        self.assertIn("--cluster changes nothing here", self.refused(
            "trace", "convert", HALO, str(self.out / "h.goal"), *SMALL, status=2))
        large = self.out / "large.goal"
        told = self.json("trace", "scale", "--ranks", "64", HALO, str(large))
        self.assertEqual((told["ranks"], told["written"]), (64, [str(large)]))
        self.assertEqual(self.ok("trace", "scale", "--ranks", "64", HALO, str(large)), "")
        self.assertEqual(self.json("trace", "show", str(large))["ranks"], 64)
        played = self.json("trace", "run", str(large), "--cluster", "hgx-h200:8")
        self.assertGreater(played["makespan_us"], 40)

    def test_errors_name_the_remedy(self):
        bad = self.out / "bad.goal"
        bad.write_text("num_ranks 2\nrank 0 {\nl1: sent 8b to 1\n}\n")
        for arguments, status, message in (
                (("run", *SMALL), 2, "say which trace to play"),
                (("run", HALO), 2, "say which cluster: --cluster NAME"),
                (("run", str(bad), *SMALL), 1,
                 "bad.goal:3: an operation is send, recv or calc, not 'sent'"),
                (("run", LAYERS, "--cluster", "hgx-h200:1"), 1,
                 "32 ranks need as many GPUs, and 8"),
                (("run", HALO, *SMALL, "--placement", "all"), 2,
                 "must be linear, random, round-robin"),
                (("run", HALO, *SMALL, "--export", "xml=f"), 2,
                 "must be goal=FILE, chakra=FILE or csv=FILE"),
                (("convert", EXPERTS, str(self.out / "x.goal")), 1, "say with --cluster NAME"),
                (("convert", HALO, str(self.out / "x.txt")), 2, "must end with .goal"),
                (("scale", "--ranks", "6", HALO, str(self.out / "x.goal")), 2, "a multiple of 4"),
                (("record", "-o", str(self.out / "x.goal"), "--", "true"), 1,
                 "no process sent a message")):
            with self.subTest(arguments):
                done = self.softib("trace", *arguments)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(message, done.stderr)

    @unittest.skipUnless(shutil.which("ib_write_bw"), "perftest is not installed")
    def test_a_live_job_is_recorded_as_its_ports_counted(self):
        """perftest between two hosts: the recorded bytes by pair are what ports counted, without
        headers."""
        trace = self.out / "live.goal"
        self.ok("up", "rec", "--hosts", "2")
        server = f"{SOFTIB} exec -f rec h0 -- ib_write_bw -n 1000 -s 8192 -p 18999"
        client = f"{SOFTIB} exec -f rec h1 -- ib_write_bw -n 1000 -s 8192 -p 18999 127.0.0.1"
        script = (f"{server} >/dev/null & for i in $(seq 50); do sleep 0.1; "
                  f"{client} >/dev/null 2>&1 && break; done; wait")
        done = self.softib("trace", "record", "--json", "-o", str(trace), "--", "sh", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        sent, received = messages_of(trace.read_text())
        self.assertEqual(sent, received)
        report = json.loads(done.stderr.splitlines()[-1])
        self.assertEqual((report["written"], report["status"], report["bytes"]),
                         ([str(trace)], 0, sum(sent.values())))
        self.assertIn(1000 * 8192, sent.values())
        counted = self.ok("exec", "-f", "rec", "h1", "--", "perfquery", "-x")
        words = int(re.search(r"PortXmitData:\.*(\d+)", counted)[1])
        # The difference is the headers of packets.
        self.assertAlmostEqual(words * 4 / (1000 * 8192), 1, delta=0.02)
        played = self.json("trace", "run", str(trace), "--cluster", "hgx-h200:2",
                           "--per-node", "1")
        self.assertEqual(sum(sent.values()), played["jobs"][0]["fabric_bytes"])
        self.ok("down", "rec")

    @unittest.skipUnless(MPI_CHECK.exists(), "Open MPI was not found when softib was built")
    def test_an_mpi_job_is_recorded_and_becomes_one_of_thousands(self):
        """Open MPI over UCX, with a rank on each of four hosts; scaled copies send as much."""
        trace = self.out / "mpi.goal"
        self.ok("up", "rec", "--hosts", "4")
        self.ok("trace", "record", "-o", str(trace), "--", str(SOFTIB), "mpirun", "-f", "rec",
                "-n", "4", "--mpi", "openmpi", str(MPI_CHECK), "brief")
        self.ok("down", "rec")
        shown = self.json("trace", "show", str(trace))
        self.assertEqual(shown["ranks"], 4)
        sent, received = messages_of(trace.read_text())
        self.assertEqual(sent, received)
        self.assertEqual({a for a, _ in sent}, set(range(4)))
        played = self.json("trace", "run", str(trace), *SMALL, "--per-node", "1")
        # UCX has a queue pair to its own port too.
        others = sum(size for (a, b), size in sent.items() if a != b)
        self.assertEqual(others, played["jobs"][0]["fabric_bytes"])
        large = self.out / "large.goal"
        self.ok("trace", "scale", "--ranks", "2048", str(trace), str(large))
        scaled = self.json("trace", "run", str(large), "--cluster", "superpod-h100:8")
        moved = scaled["jobs"][0]["fabric_bytes"] + scaled["jobs"][0]["nvlink_bytes"]
        self.assertEqual(moved, 512 * others)
        self.assertGreaterEqual(scaled["makespan_us"], max(
            rank["compute_us"] for rank in scaled["jobs"][0]["ranks"]))

    def test_any_run_is_exported(self):
        """Messages that sim, plan collective and plan train export can be played again, with the
        same bytes."""
        goal, ranks = self.out / "run.goal", self.out / "ranks"
        ranks.mkdir()
        files = ("--export", f"goal={goal}", "--export", f"chakra={ranks / 'run.et'}",
                 "--export", f"csv={self.out / 'run.csv'}")
        runs = (
            ("sim", "--hosts", "16", "--topology", "fat-tree", "--traffic", "all-to-all",
             "--size", "64KiB"),
            ("plan", "collective", *SMALL, "--sizes", "64M", "--algorithms", "tree"),
            ("plan", "train", "--model", "megatron-3.6b", *SMALL, "--gpus", "32", "--tp", "2",
             "--pp", "2", "--batch", "16"),
            ("plan", "train", "--model", "llama3.1-8b", *SMALL, "--gpus", "32", "--tp", "2",
             "--cp", "4", "--batch", "4", "--sequence", "16384", "--export-layers", "4"))
        for run in runs:
            with self.subTest(run):
                said = self.json(*run, *files)
                sent, received = messages_of(goal.read_text())
                self.assertEqual(sent, received)
                with open(self.out / "run.csv", newline="") as table:
                    rows = list(csv.DictReader(table))
                self.assertEqual(sum(int(row["bytes"]) for row in rows), sum(sent.values()))
                played = self.json("trace", "run", str(goal), *SMALL)
                again = self.json("trace", "run", *map(str, ranks.iterdir()), *SMALL)
                for file in ranks.iterdir():
                    file.unlink()
                self.assertAlmostEqual(again["makespan_us"] / played["makespan_us"], 1, delta=0.02)
                if "step_s" in said:
                    self.assertAlmostEqual(played["makespan_us"] / 1e6 / said["step_s"],
                                           1, delta=0.1)
                if "rows" in said:
                    self.assertAlmostEqual(played["makespan_us"] / said["rows"][0]["us"], 1,
                                           delta=0.2)

    def test_what_switches_compute_has_no_messages(self):
        said = self.refused("plan", "collective", *SMALL, "--sizes", "1M", "--algorithms", "sharp",
                            "--export", f"goal={self.out / 'x.goal'}")
        self.assertIn("switches compute it", said)
        said = self.refused("plan", "collective", *SMALL, "--export", "goal=x.goal", status=2)
        self.assertIn("one size and one algorithm", said)


if __name__ == "__main__":
    unittest.main()
