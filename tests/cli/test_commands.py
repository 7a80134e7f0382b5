# SPDX-License-Identifier: BSD-2-Clause
"""up, down, list, status, topo, exec, env, route, link."""

import json
import os
import pathlib
import subprocess
import time
import unittest
import xml.etree.ElementTree

from cli_case import SANITIZED, SOFTIB, CliCase


class UpAndDown(CliCase):
    def test_default_fabric_comes_up_and_goes(self):
        self.assertIn("fabric default is up: 2 hosts, 2 HCAs, 1 switch", self.ok("up"))
        self.assertEqual([f["name"] for f in self.json("list")], ["default"])
        self.assertEqual(self.ok("down"), "fabric default is down\n")
        self.assertEqual(self.json("list"), [])

    def test_up_reports_json(self):
        up = self.json("up", "lab", "--topology", "fat-tree", "--hosts", "8", "--radix", "4",
                       "--generation", "hdr")
        self.assertEqual((up["name"], up["hosts"], up["switches"], up["generation"]),
                         ("lab", 8, 6, "HDR"))
        os.kill(up["pid"], 0)

    def test_second_up_is_refused_and_the_first_stays(self):
        self.ok("up")
        self.assertIn("fabric 'default' is already up", self.refused("up"))
        self.ok("status")

    def test_down_of_nothing_says_so(self):
        self.assertEqual(self.refused("down", "lab"),
                         "softib: no fabric 'lab' is up; see what there is with: softib list")

    def test_two_fabrics_live_side_by_side(self):
        self.ok("up", "one", "--hosts", "1")
        self.ok("up", "two", "--hosts", "3", "--host-pattern", "n{}")
        self.assertEqual([(f["name"], f["hosts"], f["up"]) for f in self.json("list")],
                         [("one", 1, True), ("two", 3, True)])
        self.assertEqual(self.ok("exec", "-f", "two", "n2", "--", "printenv", "SOFTIB_HOST"),
                         "n2\n")
        self.ok("down", "one")
        self.ok("exec", "-f", "two", "n0", "--", "true")

    def test_one_fabric_needs_no_name(self):
        self.ok("up", "lab", "--hosts", "3")
        self.assertEqual(self.json("status")["name"], "lab")
        self.assertEqual(self.ok("exec", "h2", "--", "printenv", "SOFTIB_FABRIC"), "lab\n")
        for words in (("addr",), ("topo",), ("sm",), ("routes", "check"), ("route", "show"),
                      ("env", "h0")):
            self.ok(*words)
        self.assertEqual(self.ok("down"), "fabric lab is down\n")

    def test_one_fabric_needs_no_name_beside_private_ones(self):
        self.ok("up", "lab")
        self.assertEqual(self.ok("run", "--", "env", "-u", "SOFTIB_FABRIC", "softib", "down"),
                         "fabric lab is down\n")

    def test_default_is_meant_where_it_is_up(self):
        for name in ("default", "lab"):
            self.ok("up", name)
        self.assertEqual(self.json("status")["name"], "default")
        self.assertEqual(self.ok("down"), "fabric default is down\n")
        self.assertEqual(self.json("status")["name"], "lab")

    def test_several_without_a_name_are_named(self):
        self.ok("up", "one")
        self.ok("up", "two")
        for words in (("status",), ("exec", "h0", "--", "true"), ("topo",), ("down",)):
            self.assertEqual(self.refused(*words),
                             "softib: which fabric? (up: one, two); name one with -f, "
                             "or set SOFTIB_FABRIC")
        self.assertEqual(self.refused("status", "-f", "three"),
                         "softib: no fabric 'three' is up (up: one, two); "
                         "start it with: softib up three")

    def test_down_takes_several(self):
        for name in ("one", "two", "three"):
            self.ok("up", name)
        self.assertEqual(self.ok("down", "one", "three"),
                         "fabric one is down\nfabric three is down\n")
        self.assertEqual(self.json("down", "two"), [{"name": "two", "was_up": True}])

    def test_down_ends_none_if_one_of_them_is_not_up(self):
        self.ok("up", "two")
        down = self.softib("down", "one", "two", "three", "--json")
        self.assertEqual((down.returncode, down.stdout), (1, ""))
        self.assertIn("no fabric 'one' is up (up: two)", down.stderr)
        self.assertIn("no fabric 'three' is up", down.stderr)
        self.ok("status", "-f", "two")

    def test_progress_shows_on_a_terminal_alone(self):
        hosts = 2000 if SANITIZED else 12000  # Enough hosts that the start takes a while.
        words = ["up", "--hosts", str(hosts), "--topology", "fat-tree", "--radix", "64"]
        master, slave = os.openpty()
        with subprocess.Popen([SOFTIB, *words], env=self.env, stdout=subprocess.DEVNULL,
                              stderr=slave) as up:
            os.close(slave)
            shown = b""
            try:
                while piece := os.read(master, 4096):
                    shown += piece
            except OSError:
                pass  # The other end is closed.
        os.close(master)
        self.assertEqual(up.returncode, 0)
        self.assertIn(f"fabric default: bringing up {hosts} hosts …", shown.decode())
        # The line is gone when the fabric is up.
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-40:])
        self.ok("down")
        self.assertEqual(self.softib(*words).stderr, "")

    def test_sixteen_hosts_come_up_fast(self):
        start = time.monotonic()
        self.ok("up", "--hosts", "16")
        self.assertLess(time.monotonic() - start, 0.3 * self.patience())

    def test_thousand_hosts_come_up_fast(self):
        start = time.monotonic()
        self.ok("up", "--hosts", "1000", "--topology", "fat-tree", "--radix", "64")
        self.assertLess(time.monotonic() - start, 3.0 * self.patience())
        self.assertFalse(pathlib.Path(self.dir, "default", "hosts").exists())

    @staticmethod
    def patience():
        """Other tests run at the same time; the figures themselves are for `make bench`."""
        return 5

    def test_directory_is_the_users_alone(self):
        self.ok("up")
        for path in (self.dir, f"{self.dir}/default", f"{self.dir}/default/softibd.sock"):
            self.assertEqual(os.stat(path).st_mode & 0o077, 0, path)

    def test_writable_base_directory_is_refused(self):
        os.chmod(self.dir, 0o777)
        self.assertIn(f"fix it with: chmod go-w {self.dir}", self.refused("up"))
        os.chmod(self.dir, 0o700)

    def test_long_paths_work(self):
        self.env["SOFTIB_RUNTIME_DIR"] = os.path.join(self.dir, "x" * 120)
        self.ok("up")
        self.ok("exec", "h0", "--", "true")
        self.ok("down")
        os.unlink(os.path.join(self.env["SOFTIB_RUNTIME_DIR"], ".lock"))
        os.rmdir(self.env["SOFTIB_RUNTIME_DIR"])
        self.env["SOFTIB_RUNTIME_DIR"] = self.dir


class Inspection(CliCase):
    def test_status_shows_ports(self):
        self.ok("up", "--hosts", "2", "--hcas", "2")
        status = self.json("status")
        self.assertEqual([h["name"] for h in status["hosts"]], ["h0", "h1"])
        hcas = [hca for host in status["hosts"] for hca in host["hcas"]]
        self.assertEqual([hca["name"] for hca in hcas], ["mlx5_0", "mlx5_1"] * 2)
        self.assertEqual(sorted(hca["lid"] for hca in hcas), [1, 2, 3, 4])
        self.assertEqual({hca["state"] for hca in hcas}, {"Active"})
        self.assertEqual({hca["rate_gbps"] for hca in hcas}, {400})
        self.assertEqual(len({hca["port_guid"] for hca in hcas}), 4)
        self.assertEqual(status["programs"], [])
        self.assertIn("no program is attached", self.ok("status", "-v"))

    def test_status_of_nothing_tells_how_to_start_it(self):
        self.assertEqual(self.refused("status", "-f", "lab"),
                         "softib: no fabric 'lab' is up; start it with: softib up lab")

    def test_topo_draws(self):
        self.ok("up", "--topology", "fat-tree", "--hosts", "4", "--radix", "4")
        tree = self.ok("topo")
        for name in ("leaf0", "h3/mlx5_0"):
            self.assertIn(name, tree)
        self.assertIn("graph", self.ok("topo", "--dot", "-"))
        svg = os.path.join(self.dir, "picture.svg")
        self.ok("topo", "--svg", svg)
        self.assertTrue(xml.etree.ElementTree.parse(svg).getroot().tag.endswith("svg"))
        os.unlink(svg)
        self.assertEqual(len(self.json("topo")["cables"]), 4 + 4)

    def test_topo_draws_a_description_that_is_not_up(self):
        self.assertIn("h7/mlx5_0", self.ok("topo", "--hosts", "8"))

    def test_list_of_nothing(self):
        self.assertEqual(self.ok("list"), "no fabric is up; start one with: softib up\n")


class Exec(CliCase):
    def test_environment_of_a_host(self):
        self.ok("up", "lab")
        lines = self.ok("exec", "-f", "lab", "h1", "--", "env").splitlines()
        env = dict(line.split("=", 1) for line in lines if "=" in line)
        self.assertEqual(env["SOFTIB_FABRIC"], "lab")
        self.assertEqual(env["SOFTIB_HOST"], "h1")
        self.assertEqual(env["SOFTIB_DIR"], f"{self.dir}/lab")
        self.assertEqual(env["SOFTIB_SYSROOT"], f"{self.dir}/lab/hosts/h1")
        self.assertTrue(env["PATH"].startswith(os.path.dirname(SOFTIB)))
        self.assertTrue(env["NCCL_IBVERBS_LIB"].endswith("/softib/libibverbs.so.1"))

    def test_nested_exec_changes_the_host_and_repeats_no_path(self):
        self.ok("up")
        env = self.ok("exec", "h0", "--", "softib", "exec", "h1", "--", "env")
        self.assertIn("SOFTIB_HOST=h1\n", env)
        path = next(line for line in env.splitlines()
                    if line.startswith("LD_LIBRARY_PATH=")).split("=", 1)[1]
        self.assertEqual(sum(entry.endswith("/lib/softib") for entry in path.split(":")), 1)

    def test_json_tells_of_the_program_beside_its_output(self):
        self.ok("up", "lab")
        for flags in ((), ("--ns",)):
            done = self.softib("exec", "--json", *flags, "h1", "--", "sh", "-c",
                               "echo $$; echo wrong >&2; exit 5")
            if flags and done.returncode == 1:
                continue  # The system forbids it.
            report, own = done.stderr.splitlines()
            report = json.loads(report)
            self.assertEqual((done.returncode, own, int(done.stdout)),
                             (5, "wrong", report.pop("pid")))
            self.assertEqual(report, {"fabric": "lab", "host": "h1",
                                      "command": ["sh", "-c", "echo $$; echo wrong >&2; exit 5"]})
        self.assertIn("no host 'h9'", self.refused("exec", "--json", "h9", "--", "true"))

    def test_exit_status_is_the_programs(self):
        self.ok("up")
        self.assertEqual(self.softib("exec", "h0", "--", "sh", "-c", "exit 5").returncode, 5)
        self.assertEqual(self.softib("exec", "h0", "--", "no-such-program").returncode, 127)
        self.assertEqual(self.softib("exec", "h0", "--", "/etc/passwd").returncode, 126)

    def test_arguments_behind_the_dashes_are_the_programs(self):
        self.ok("up")
        said = self.ok("exec", "h0", "--", "printf", "%s,", "-f", "--", "--help")
        self.assertEqual(said, "-f,--,--help,")

    def test_unknown_host_lists_the_hosts(self):
        self.ok("up", "--hosts", "12")
        self.assertEqual(self.refused("exec", "hx", "--", "true"),
                         "softib: no host 'hx' in fabric 'default'; it has "
                         "h0, h1, h2, h3, h4, h5, h6, h7, … h11")

    def test_without_a_fabric_it_tells_how_to_start_one(self):
        self.assertEqual(self.refused("exec", "h0", "--", "true"),
                         "softib: no fabric 'default' is up; start it with: softib up")

    def test_env_prints_what_a_shell_exports(self):
        self.ok("up")
        script = self.ok("env", "h1") + 'printf %s "$SOFTIB_HOST"'
        shown = subprocess.run(["/bin/sh", "-c", script], env=self.env, capture_output=True,
                               text=True)
        self.assertEqual(shown.stdout, "h1", shown.stderr)

    def test_namespace_gives_real_paths(self):
        self.ok("up")
        probe = ('cat /sys/class/infiniband/mlx5_0/ports/1/lid; '
                 'test -c /dev/infiniband/uverbs0 && '
                 'echo > /dev/null && ls -d /sys/class/net && printenv LD_PRELOAD')
        result = self.softib("exec", "--ns", "h1", "--", "sh", "-c", probe)
        if "user namespaces" in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual(result.stdout, "0x2\n/sys/class/net\n", result.stderr)


class RoutesAndLinks(CliCase):
    def table(self, switch):
        rows = self.ok("route", "show", switch).splitlines()[1:]
        return {int(row.split()[0]): row.split()[2] for row in rows}

    def test_routes_are_shown_set_and_cleared(self):
        self.ok("up", "--hosts", "3")
        self.assertIn("sw0", self.ok("route", "show"))
        self.assertEqual(self.table("sw0"), {1: "1", 2: "2", 3: "3", 4: "0"})
        self.ok("route", "clear", "sw0", "2")
        self.assertEqual(self.table("sw0")[2], "none")
        self.ok("route", "set", "sw0", "2", "3")
        self.assertEqual(self.table("sw0")[2], "3")

    def test_wrong_routes_are_refused(self):
        self.ok("up")
        self.assertEqual(self.refused("route", "show", "swx"),
                         "softib: no switch 'swx' in fabric 'default'; it has sw0")
        self.assertEqual(self.refused("route", "clear", "sw0", "77"),
                         "softib: LID must be a number from 1 to 3, not '77'")
        self.assertEqual(self.refused("route", "set", "sw0", "1", "200"),
                         "softib: PORT must be a number from 0 to 2, not '200'")

    def test_a_pulled_cable_is_down_at_both_ends(self):
        self.ok("up")
        self.ok("link", "down", "sw0", "2")
        self.assertEqual(self.states(), ["Active", "Down"])
        self.ok("link", "up", "h1/mlx5_0")
        self.assertEqual(self.states(), ["Active", "Active"])
        self.assertIn("no cable at 'sw9' port 1", self.refused("link", "down", "sw9"))

    def test_commands_that_change_things_report_json(self):
        self.ok("up", "--data-path", "packet")
        self.assertEqual(self.json("route", "show")[0]["switch"], "sw0")
        self.assertEqual(self.json("route", "show", "sw0")[1],
                         {"lid": 2, "node": "h1/mlx5_0", "port": 2, "next": "h1/mlx5_0"})
        self.assertEqual(self.json("route", "clear", "sw0", "2"),
                         {"switch": "sw0", "lid": 2, "port": None})
        self.assertEqual(self.json("route", "set", "sw0", "2", "2"),
                         {"switch": "sw0", "lid": 2, "port": 2})
        self.assertEqual(self.json("link", "down", "sw0:2"),
                         {"node": "sw0", "port": 2, "link": "down"})
        self.assertEqual(self.json("switch", "kill", "sw0"), {"switch": "sw0", "power": False})
        self.assertEqual({each["drop"] for each in self.json("fault", "sw0:1", "--drop", "1%")},
                         {0.01})
        self.assertEqual(self.json("env", "h1")["SOFTIB_HOST"], "h1")
        folder = os.path.join(self.dir, "default", "hosts", "dump")
        self.json("env", "h0")  # Makes the directory.
        self.assertIn("opensm.fdbs", self.json("routes", "dump", folder)["files"])
        told = self.json("sm", "status")
        for name in ("lid", "priority", "adaptive_groups", "nodes", "full_sweeps", "partial_sweeps",
                     "smps", "lft_blocks", "others"):
            self.assertIsInstance(told[name], int, name)
        self.assertEqual(self.json("down"), [{"name": "default", "was_up": True}])

    def states(self):
        return [host["hcas"][0]["state"] for host in self.json("status")["hosts"]]


if __name__ == "__main__":
    unittest.main()
