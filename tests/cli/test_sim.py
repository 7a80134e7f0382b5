# SPDX-License-Identifier: BSD-2-Clause
"""softib sim as a user types it: traffic, reports in every form, failures, errors with a remedy."""

import csv
import html.parser
import io
import json
import os
import pathlib
import pty
import re
import resource
import signal
import subprocess
import tomllib
import unittest

from cli_case import SANITIZED, SOFTIB, TIMEOUT_S, CliCase

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "sim"
TREE = ("--topology", "fat-tree", "--hosts", "32", "--radix", "8", "--engine", "ftree")


class Page(html.parser.HTMLParser):
    """The elements of a page, and the files that it would load."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.loads = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta",):
            self.open.append(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Sim(CliCase):
    def test_a_run_of_hours_or_without_memory_is_refused_before_it_begins(self):
        tree = ("sim", "--topology", "fat-tree", "--hosts", "16", "--radix", "4")
        self.assertRegex(self.refused(*tree, "--size", "1TB", "--repetitions", "30"),
                         r"this would take less than 1 GiB and about \d+ (minutes|hours); "
                         "go on with --yes")
        self.assertRegex(self.refused(*tree, "--size", "8", "--repetitions", "4000000000"),
                         r"this would take \d+ GiB .*, more memory than is free; go on with --yes")
        self.ok(*tree, "--yes")
        self.assertIn("'yes' is not for", self.refused(*tree, "--traffic", "sharp-allreduce",
                                                       "--yes", status=2))

    def test_a_table_for_people(self):
        text = self.ok("sim", *TREE, "--traffic", "shift", "--shift", "4", "--size", "200kB")
        self.assertIn("fat-tree, 32 hosts, 12 switches: routes by ftree, 1 data VL", text)
        self.assertRegex(text, r"shift +32 +200 kB +32/32 ")
        self.assertRegex(text, r"COMPLETION +MIN +MEDIAN")
        self.assertNotIn("\x1b", text)

    def test_every_report_says_what_it_is_worth(self):
        scenario = pathlib.Path(self.scratch, "base.toml")
        scenario.write_text('[fabric]\nhosts = 4\n[[traffic]]\npattern = "shift"\nsize = "9kB"\n')
        sweep = pathlib.Path(self.scratch, "sweep.toml")
        sweep.write_text('base = "base.toml"\n[vary]\nsize = ["9kB", "10kB"]\n')
        shift, reduced = ("sim", str(scenario)), ("sim", "--traffic", "sharp-allreduce")
        page = pathlib.Path(self.scratch, "page.html")
        for words, pages in ((shift, True), ((*shift, "--model", "flow"), True),
                             ((*shift, "--compare", "ib,roce"), True), ((*shift, "whatif"), True),
                             (("sim", "--sweep", str(sweep)), False), (reduced, False)):
            said = [self.ok(*words), " ".join(self.json(*words)["basis"])]
            if pages:
                self.ok(*words, "--html", str(page))
                said.append(page.read_text())
            for text in said:
                with self.subTest(words=words, text=text):
                    self.assertRegex(text, "model (packet|flow): ")
                    self.assertIn("assumed: 200 ns in a switch, 25 ns in a cable", text)
                    self.assertIn("docs/validation.md", text)
                    self.assertRegex(text, "no published measurement validates|not validated")

    def test_json_says_all_of_it(self):
        said = self.json("sim", *TREE, "--traffic", "incast,target=h3,sources=8", "--size", "1MB")
        self.assertEqual(said["fabric"]["engine"], "ftree")
        traffic = said["traffic"][0]
        self.assertEqual(traffic["delivered"], 8)
        self.assertEqual(traffic["bytes"], 8_000_000)
        self.assertAlmostEqual(traffic["gbps"], 397.5, delta=3)
        self.assertEqual(sum(b["messages"] for b in traffic["histogram"]), 8)
        self.assertRegex(said["congestion"][0]["text"], r" is full because of \d+ flows to h3")
        self.assertGreater(said["busiest_links"][0]["use"], 0.9)

    def test_the_same_seed_gives_the_same_run(self):
        def run(seed):
            said = self.json("sim", *TREE, "--seed", seed)
            return said["log_hash"], said["traffic"]
        self.assertEqual(run("5"), run("5"))
        self.assertNotEqual(run("5"), run("6"))

    def test_adaptive_routing_is_quicker(self):
        tree = ("--topology", "fat-tree", "--hosts", "128", "--radix", "8", "--levels", "3",
                "--size", "400kB")
        fixed = self.json("sim", *tree)["traffic"][0]["finished_ps"]
        adaptive = self.json("sim", *tree, "--adaptive")["traffic"][0]["finished_ps"]
        self.assertLess(adaptive, 0.6 * fixed)

    def test_a_group_shift_needs_ways_round(self):
        fly = ("--topology", "dragonfly", "--hosts", "72", "--traffic", "group-shift")
        fixed = self.json("sim", *fly)["traffic"][0]["finished_ps"]
        adaptive = self.json("sim", *fly, "--adaptive")["traffic"][0]["finished_ps"]
        self.assertLess(adaptive, 0.6 * fixed)
        self.assertIn("take topology dragonfly",
                      self.refused("sim", *TREE, "--traffic", "group-shift", status=2))

    def test_subnets_are_joined_by_routers(self):
        trees = ("--topology", "fat-tree", "--hosts", "60", "--radix", "16")
        joined = trees + ("--subnets", "2", "--routers", "2")
        said = self.json("sim", *joined)
        self.assertEqual(said["traffic"][0]["delivered"], 60)
        self.assertGreater(said["packets"]["routed"], 0)
        self.assertIn("2 subnets and 2 routers", self.ok("sim", *joined))
        self.assertEqual(self.json("sim", *trees)["packets"]["routed"], 0)
        self.assertIn("routers = 1 or more",
                      self.refused("sim", *trees, "--subnets", "2", status=2))
        self.assertIn("a running fabric is one subnet", self.refused("up", *joined, status=2))
        report = self.json("topo", *joined, "--report")
        self.assertEqual([subnet["lids"] for subnet in report["subnets"]], [38, 38])

    def test_the_flow_model_crosses_routers(self):
        joined = ("--topology", "fat-tree", "--hosts", "60", "--radix", "16", "--subnets", "2",
                  "--routers", "2", "--traffic", "shift,shift=30", "--size", "1MB")
        packets = self.json("sim", *joined)
        flows = self.json("sim", *joined, "--model", "flow")
        self.assertEqual(flows["traffic"][0]["delivered"], 60)
        # Two cables join the subnets: both models know them as the bottleneck.
        for said in (packets, flows):
            self.assertRegex(said["busiest_links"][0]["link"] + said["busiest_links"][0]["to"],
                             "router")
        self.assertAlmostEqual(flows["traffic"][0]["finished_ps"] /
                               packets["traffic"][0]["finished_ps"], 1, delta=0.02)
        self.assertIn("2 subnets and 2 routers", self.ok("sim", *joined, "--model", "flow"))

    def test_the_flow_model_answers_the_same_question(self):
        flags = ("--traffic", "shift,shift=4", "--size", "4MB")
        packets = self.json("sim", *TREE, *flags)
        flows = self.json("sim", *TREE, *flags, "--model", "flow")
        self.assertEqual((packets["model"], flows["model"]), ("packet", "flow"))
        self.assertAlmostEqual(flows["traffic"][0]["finished_ps"] /
                               packets["traffic"][0]["finished_ps"], 1, delta=0.01)
        self.assertIsNone(flows["packets"])
        self.assertIsNone(flows["busiest_links"][0]["xmit_wait"])
        self.assertIsNotNone(packets["busiest_links"][0]["xmit_wait"])
        text = self.ok("sim", *TREE, *flags, "--model", "flow")
        self.assertIn("XmitWait, flows that wait behind others", text)
        self.assertNotIn("XMITWAIT", text)
        page = Page(self.ok("sim", *TREE, *flags, "--model", "flow", "--html", "-"))
        self.assertEqual(page.open, [])
        links = csv.DictReader(io.StringIO(
            self.ok("sim", *TREE, *flags, "--model", "flow", "--csv-links", "-")))
        self.assertEqual({row["xmit_wait_ps"] for row in links}, {""})

    def test_the_flow_model_names_the_root_and_ranks_losses(self):
        said = self.json("sim", *TREE, "--traffic", "incast,target=h3,sources=8", "--size", "1MB",
                         "--model", "flow")
        self.assertAlmostEqual(said["traffic"][0]["gbps"], 397.5, delta=3)
        self.assertRegex(said["congestion"][0]["text"], r" is full because of 8 flows to h3$")
        said = self.json("sim", "whatif", *TREE, "--model", "flow", "--fail-random", "2")
        self.assertEqual([case["delivered"] for case in said["cases"]], [32, 32])

    def test_the_flow_model_refuses_what_needs_packets(self):
        for flags in (("--congestion-control",), ("--window", "4"), ("--contexts", "9"),
                      ("--message-rate", "1M"), ("--fail-random", "1@1us")):
            self.assertIn("needs packets, and the flow model has none",
                          self.refused("sim", *TREE, "--model", "flow", *flags, status=2))
        self.assertEqual(self.refused("sim", "--model", "fluid", status=2),
                         'softib: --model must be packet or flow, not "fluid"')

    def test_an_adapter_begins_no_more_messages_than_its_rate_allows(self):
        said = self.json("sim", "--hosts", "2", "--traffic", "shift", "--size", "8",
                         "--repetitions", "1000", "--outstanding", "100", "--message-rate", "2M")
        self.assertAlmostEqual(said["duration_ps"] / 1e6, 500, delta=2)
        self.assertIn("--message-rate must be a number of messages as 200M",
                      self.refused("sim", "--message-rate", "fast", status=2))

    def test_tables_of_comma_separated_values(self):
        rows = list(csv.DictReader(io.StringIO(self.ok("sim", *TREE, "--csv", "-"))))
        self.assertEqual(len(rows), 32)
        self.assertEqual({row["from"] for row in rows}, {f"h{i}" for i in range(32)})
        self.assertTrue(all(float(row["gbps"]) > 0 for row in rows))
        links = list(csv.DictReader(io.StringIO(self.ok("sim", *TREE, "--csv-links", "-"))))
        self.assertEqual(len(links), 128)
        # Switches choose, so nobody knows the flows of cables between them.
        links = list(csv.DictReader(io.StringIO(
            self.ok("sim", *TREE, "--adaptive", "--csv-links", "-"))))
        self.assertEqual({row["flows"] for row in links
                          if row["link"][0] in "ls" and row["to"][0] in "ls"}, {""})

    def test_what_came_until_the_end_counts(self):
        for model, most in ("packet", 4 * 397), ("flow", 4 * 398):
            arguments = ("--hosts", "4", "--size", "10MB", "--until", "50us", "--model", model)
            traffic = self.json("sim", *arguments)["traffic"][0]
            self.assertEqual((traffic["delivered"], traffic["unfinished"]), (0, 4))
            self.assertEqual(traffic["bytes"], traffic["partial_bytes"])
            self.assertAlmostEqual(traffic["gbps"], most, delta=0.03 * most)
            rows = list(csv.DictReader(io.StringIO(self.ok("sim", *arguments, "--csv", "-"))))
            self.assertEqual(sum(int(row["arrived_bytes"]) for row in rows), traffic["bytes"])
            self.assertAlmostEqual(sum(float(row["gbps"]) for row in rows), traffic["gbps"],
                                   delta=0.01)

    def test_a_netlist_without_speeds_is_said_to_have_none(self):
        path = os.path.join(self.dir, "hand.net")
        pathlib.Path(path).write_text('Switch 2 "s"\n[1] "a"[1]\n[2] "b"[1]\n'
                                      'Hca 1 "a"\n[1] "s"[1]\nHca 1 "b"\n[1] "s"[2]\n')
        notes = self.json("sim", "--from", path, "--size", "10kB")["notes"]
        os.unlink(path)
        self.assertRegex(notes[0], r"4 ends of cables without a speed: .* 10 Gb/s \(4x SDR\)")

    def test_messages_that_are_given_up_are_said_and_load_no_cable_beyond_its_rate(self):
        cut = ("--topology", "fat-tree", "--hosts", "16", "--radix", "8", "--fail-random", "16")
        said = self.json("sim", *cut, "--size", "1MB")
        failed = said["traffic"][0]["failed"]
        self.assertGreater(failed, 0)
        self.assertRegex(said["notes"][0],
                         rf"^{failed} messages failed, as that from h\d+ to h\d+: "
                         "its sender gave up after 8 timeouts in a row")
        for link in said["busiest_links"]:
            self.assertLessEqual(link["gbps"], link["link_gbps"])
        flow = self.json("sim", *cut, "--size", "1MB", "--model", "flow")
        self.assertRegex(flow["notes"][0], rf"^{failed} messages failed, .*: no route leads there$")

    def test_what_nothing_delivered_has_no_time(self):
        """A fabric that stops at once must not look like the fastest one."""
        stuck = ("--topology", "torus", "--dimensions", "7", "--hosts", "14", "--engine", "minhop",
                 "--traffic", "shift,shift=6", "--size", "4MB")
        both = self.json("sim", *stuck, "--compare", "ib,roce")["variants"]
        for variant in both:
            self.assertEqual((variant["delivered"], variant["finished_us"],
                              variant["completion_us_p50"], variant["message_gbps"]),
                             (0, None, None, None))
        text = self.ok("sim", *stuck, "--compare", "ib,roce")
        self.assertRegex(text, r"completion: median +- +-")
        rows = list(csv.DictReader(io.StringIO(
            self.ok("sim", "whatif", *stuck, "--fail-random", "1", "--csv", "-"))))
        self.assertEqual((rows[0]["delivered"], rows[0]["finished_us"], rows[1]["of_before"]),
                         ("0", "", ""))
        self.assertEqual(rows[1]["delivered"], "14")

    def test_a_failure_after_the_end_is_said(self):
        said = self.json("sim", *TREE, "--size", "10kB", "--fail-link", "leaf0:5@1s")
        self.assertEqual(said["notes"], ["the failure at 1 s comes after the end of the run"])

    def test_a_page_that_needs_nothing_else(self):
        page = Page(self.ok("sim", *TREE, "--traffic", "incast", "--html", "-"))
        self.assertEqual(page.loads, [])
        self.assertEqual(page.open, [])
        self.assertGreaterEqual(page.tags.count("svg"), 4)
        self.assertGreater(page.tags.count("rect"), 100)

    def test_examples_run(self):
        names = sorted(EXAMPLES.glob("*.toml"))
        self.assertGreaterEqual(len(names), 5)
        for name in names:
            with self.subTest(name.name):
                said = self.json("sim", str(name))
                for run in [v["report"] for v in said.get("variants", [])] or [said]:
                    self.assertGreater(run["packets"]["hops"], 0)

    def test_the_schema_knows_the_keys_of_the_examples(self):
        def check(value, schema, where):
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            kinds = {dict: "object", list: "array", str: "string", bool: "boolean",
                     int: "integer", float: "number"}
            kind = kinds[type(value)]
            self.assertTrue(kind in types or (kind == "integer" and "number" in types),
                            f"{where}: {value}")
            if kind == "object":
                for key, inner in value.items():
                    self.assertIn(key, schema["properties"], where)
                    check(inner, schema["properties"][key], f"{where}.{key}")
            elif kind == "array" and "items" in schema:
                for inner in value:
                    check(inner, schema["items"], where)
        schema = json.loads(self.ok("sim", "--schema"))
        for name in EXAMPLES.glob("*.toml"):
            check(tomllib.loads(name.read_text()), schema, name.name)

    def test_flags_win_over_the_scenario(self):
        said = self.json("sim", str(EXAMPLES / "permutation.toml"), "--hosts", "64",
                         "--traffic", "shift")
        self.assertEqual(said["fabric"]["hosts"], 64)
        self.assertEqual([t["pattern"] for t in said["traffic"]], ["shift"])

    def test_a_cable_that_fails_during_the_run(self):
        said = self.json("sim", str(EXAMPLES / "failure.toml"))
        self.assertEqual(said["traffic"][0]["delivered"], 64)
        self.assertGreater(said["packets"]["lost"] + said["packets"]["discarded"], 0)
        never = self.json("sim", str(EXAMPLES / "failure.toml"), "--repair-after", "never",
                          "--retries", "2")
        self.assertGreater(never["traffic"][0]["failed"], 0)

    def test_a_deadlock_is_explained(self):
        said = self.json("sim", "--topology", "torus", "--dimensions", "8", "--hosts", "8",
                         "--engine", "minhop", "--traffic", "shift,shift=3", "--size", "1MB",
                         "--buffer", "8KiB")
        self.assertGreater(said["traffic"][0]["unfinished"], 0)
        self.assertRegex(said["notes"][0], r"^\d+ messages will never be delivered$")
        self.assertIn("has no credits: the buffer of", said["notes"][1])

    def test_a_fabric_that_lost_its_shape_is_routed_by_another_engine(self):
        said = self.json("sim", "--topology", "torus", "--dimensions", "4x4", "--hosts", "16",
                         "--engine", "dor", "--fail-random", "8", "--size", "10kB")
        self.assertRegex(said["notes"][0], "^dor refuses the damaged fabric; its routes are by ")
        self.assertEqual(said["traffic"][0]["delivered"], 16)

    @unittest.skipIf(SANITIZED, "a sanitizer reserves more memory than the limit")
    def test_a_lack_of_memory_is_a_sentence(self):
        done = subprocess.run(
            [SOFTIB, "sim", "--topology", "fat-tree", "--hosts", "40000", "--radix", "64",
             "--traffic", "shift", "--yes"], env=self.env, capture_output=True, text=True,
            timeout=TIMEOUT_S, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (250_000_000,) * 2))
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertEqual(done.stderr, "softib: there is not enough memory for this: take a "
                                      "smaller fabric or fewer messages\n")

    def test_a_dump_of_ibnetdiscover(self):
        path = os.path.join(self.dir, "net.dump")
        pathlib.Path(path).write_text(self.ok("topo", *TREE[:-2], "--ibnetdiscover", "-"))
        said = self.json("sim", "--from", path, "--size", "10kB")
        os.unlink(path)
        self.assertEqual(said["fabric"]["hosts"], 32)
        self.assertEqual(said["traffic"][0]["delivered"], 32)

    def test_whatif_ranks_losses(self):
        said = self.json("sim", "whatif", *TREE, "--size", "100kB", "--fail-random", "2",
                         "--seeds", "3")
        self.assertEqual(said["cases"][0]["lost"], "nothing")
        self.assertEqual(len(said["cases"]), 4)
        for case in said["cases"]:
            self.assertEqual(case["delivered"], 32)
        shares = [loss["mean_share"] for loss in said["worst_cables"]]
        self.assertEqual(shares, sorted(shares))
        self.assertLessEqual(shares[0], said["mean_share_before"])
        # A lost leaf takes its hosts with it.
        self.assertTrue(said["worst_switches"][0]["lost"].startswith("leaf"))
        self.assertGreater(said["worst_switches"][0]["unreachable_flows"], 0)
        text = self.ok("sim", "whatif", *TREE, "--size", "100kB", "--fail-link", "leaf0:5")
        self.assertRegex(text, r"leaf0:5 +ftree|leaf0:5 +updn|leaf0:5 +nue")
        rows = list(csv.DictReader(io.StringIO(
            self.ok("sim", "whatif", *TREE, "--size", "9kB", "--fail-random", "2", "--csv", "-"))))
        for row in rows:
            self.assertNotIn(None, row)
            self.assertEqual(row["delivered"], "32")
        self.assertIn("SWITCH", text)

    def test_whatif_loses_routers(self):
        joined = ("--topology", "fat-tree", "--hosts", "60", "--radix", "16", "--subnets", "2",
                  "--routers", "3", "--traffic", "shift,shift=30", "--size", "100kB")
        said = self.json("sim", "whatif", *joined, "--fail-router", "router1")
        self.assertEqual([case["lost"] for case in said["cases"]], ["nothing", "router1"])
        self.assertEqual([case["delivered"] for case in said["cases"]], [60, 60])
        self.assertLess(said["cases"][1]["of_before"], 0.9)
        self.assertEqual({loss["lost"] for loss in said["worst_routers"]},
                         {"router0", "router1", "router2"})
        self.assertRegex(said["worst_cables"][0]["lost"], r"^router\d-s\d$")
        self.assertIn("ROUTER", self.ok("sim", "whatif", *joined, "--model", "flow",
                                        "--fail-link", "router2-s1"))
        two = self.json("sim", "whatif", *joined, "--fail-router", "router0",
                        "--fail-router", "router1", "--fail-router", "router2")
        self.assertEqual(two["cases"][1]["lost"], "router0, router1, router2")
        self.assertEqual(two["cases"][1]["delivered"], 0)
        self.assertIn("there is no router 'router9'",
                      self.refused("sim", *joined, "--fail-router", "router9", status=2))
        self.assertEqual(self.json("sim", "whatif", *TREE)["worst_routers"], [])

    def test_the_manual_has_every_flag(self):
        manual = (EXAMPLES.parents[1] / "docs" / "man" / "softib-sim.1"
                  ).read_text().replace("\\", "")
        described = self.ok("sim", "--help").split("\nFabric:")[0]
        for flag in re.findall(r"^ +(--[a-z-]+)", described, re.M):
            self.assertIn(flag, manual)

    def test_errors_tell_what_to_do(self):
        self.assertEqual(self.refused("sim", "--size", "much", status=2),
                         'softib: --size must be a size as 2MB, 64KiB or 512, not "much"')
        self.assertIn("--traffic must be one of permutation, shift,",
                      self.refused("sim", "--traffic", "chaos", status=2))
        self.assertIn("--traffic: there is no host 'h7'",
                      self.refused("sim", "--traffic", "incast", "--target", "h7", status=2))
        self.assertIn("--fail-link: there is no port 'leaf9:1'",
                      self.refused("sim", "--fail-link", "leaf9:1", status=2))
        self.assertEqual(self.refused("sim", "/nonexistent.toml"),
                         "softib: cannot read /nonexistent.toml: No such file or directory")
        self.assertIn("leave switches no choice", self.refused(
            "sim", "--topology", "torus", "--dimensions", "3x3", "--hosts", "9",
            "--engine", "dor", "--adaptive"))

    def test_ctrl_c_ends_with_the_results_so_far(self):
        # Longer than a test would wait.
        process = subprocess.Popen([SOFTIB, "sim", "--hosts", "8", "--size", "100GB", "--json"],
                                   env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, err)
        said = json.loads(out)
        self.assertTrue(said["stopped"])
        self.assertEqual(said["traffic"][0]["unfinished"], 8)
        self.assertGreater(said["packets"]["hops"], 0)

    def test_a_bar_on_a_terminal(self):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([SOFTIB, "sim", "--hosts", "8", "--size", "100GB", "--json"],
                                   env=self.env, stdout=subprocess.PIPE, stderr=theirs, text=True)
        os.close(theirs)
        drawn = b""
        while b"events/s" not in drawn:
            drawn += os.read(ours, 1000)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        os.close(ours)
        self.assertRegex(drawn.decode(), r"\[[#.]{24}\] \d+ %  [\d.]+ \w+  [\d.]+ million events/s")


if __name__ == "__main__":
    unittest.main()
