# SPDX-License-Identifier: BSD-2-Clause
"""Fabrics from files and as files: --from, topo --ibnetdiscover, topo --ibsim."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from cli_case import SOFTIB, CliCase, wait_until

# Two hosts, one with an adapter of two ports, on switches with links of their own speeds.
DUMP = """\
vendid=0x2c9
devid=0xd2f0
sysimgguid=0x50
switchguid=0x50(50)
Switch\t8 "S-0000000000000050"\t\t# "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 9 lmc 0
[1]\t"H-0000000000000010"[1](11) \t\t# "node1 mlx5_0" lid 4 4xHDR
[2]\t"H-0000000000000020"[1](21) \t\t# "node2 HCA-1" lid 5 4xEDR
[3]\t"H-0000000000000020"[2](22) \t\t# "node2 HCA-1" lid 6 4xFDR10

vendid=0x2c9
devid=0x101b
sysimgguid=0x10
caguid=0x10
Ca\t1 "H-0000000000000010"\t\t# "node1 mlx5_0"
[1](11) \t"S-0000000000000050"[1]\t\t# lid 4 lmc 0 "MF0;leaf1:MQM8700/U1" lid 9 4xHDR

vendid=0x2c9
devid=0x1011
sysimgguid=0x20
caguid=0x20
Ca\t2 "H-0000000000000020"\t\t# "node2 HCA-1"
[1](21) \t"S-0000000000000050"[2]\t\t# lid 5 lmc 0 "MF0;leaf1:MQM8700/U1" lid 9 4xEDR
[2](22) \t"S-0000000000000050"[3]\t\t# lid 6 lmc 0 "MF0;leaf1:MQM8700/U1" lid 9 4xFDR10
"""


class From(CliCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="softib-from-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.dump = str(self.folder / "dump.net")
        (self.folder / "dump.net").write_text(DUMP)

    def body(self, text):
        return text.split("\n\n", 1)[1]

    def test_dump_comes_up(self):
        self.assertIn(f"fabric default is up: 2 hosts, 3 HCAs, 1 switch (from {self.dump})",
                      self.ok("up", "--from", self.dump))
        hosts = {host["name"]: host["hcas"] for host in self.json("status")["hosts"]}
        self.assertEqual([hca["name"] for hca in hosts["node2"]], ["mlx5_0", "mlx5_1"])
        self.assertEqual([hca["rate_gbps"] for hca in hosts["node2"]], [100, 40])
        self.assertEqual(hosts["node1"][0]["port_guid"], "0x0000000000000011")
        self.assertEqual(self.ok("exec", "node1", "--", "printenv", "SOFTIB_HOST"), "node1\n")

    def test_json_names_the_file(self):
        up = self.json("up", "--from", self.dump)
        self.assertEqual((up["from"], up["topology"], up["hcas"]), (self.dump, None, 3))

    def test_running_fabric_is_written_as_it_was_read(self):
        self.ok("up", "--from", self.dump)
        self.assertEqual(self.body(self.ok("topo", "--ibnetdiscover", "-")), DUMP)

    def test_commands_pass_over_hcas_without_a_switch(self):
        loose = """
caguid=0x30
Ca\t1 "H-0000000000000030"\t\t# "node3 mlx5_0"
[1](31) \t"H-0000000000000040"[1]\t\t# "node4 mlx5_0" 4xEDR

caguid=0x40
Ca\t1 "H-0000000000000040"\t\t# "node4 mlx5_0"
[1](41) \t"H-0000000000000030"[1]\t\t# "node3 mlx5_0" 4xEDR

caguid=0x60
Ca\t1 "H-0000000000000060"\t\t# "node6 mlx5_0"
"""
        pathlib.Path(self.dump).write_text(DUMP + loose)
        self.ok("up", "--from", self.dump, "--data-path", "packet")
        words = [SOFTIB, "capture", "-w", str(self.folder / "a.pcap")]
        with subprocess.Popen(words, env=self.env, stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as capture:
            told = capture.stderr.readline()
            capture.terminate()
            self.assertEqual(capture.wait(), 0, told)
        self.assertIn("capturing", told)
        for host in ("node3", "node6"):
            self.refused("fault", host, "--drop", "1")
        self.assertTrue(self.ok("status"))

    def test_fabric_outlives_its_file_and_its_daemon(self):
        self.ok("up", "--from", self.dump)
        before = self.json("topo")
        os.unlink(self.dump)
        pid = self.daemon_pid()
        os.kill(pid, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.softib("status").returncode != 0))
        self.ok("up")
        self.assertEqual(self.json("topo"), before)

    def test_cable_from_a_switch_to_itself_is_no_route(self):
        cable = ('[4]\t"S-0000000000000050"[5]\t\t# "MF0;leaf1:MQM8700/U1" lid 9 4xHDR\n'
                 '[5]\t"S-0000000000000050"[4]\t\t# "MF0;leaf1:MQM8700/U1" lid 9 4xHDR\n')
        path = self.folder / "loop.net"
        path.write_text(DUMP.replace("4xFDR10\n\nvendid", f"4xFDR10\n{cable}\nvendid", 1))
        self.ok("up", "--from", str(path))
        seen = self.json("routes", "check")
        self.assertEqual((seen["ok"], seen["pairs"], seen["links"]), (True, 12, 0))
        self.ok("routes", "dump", str(self.folder / "routes"))

    def test_command_runs_on_a_private_copy(self):
        self.assertEqual(self.ok("run", "--from", self.dump, "--", "printenv", "SOFTIB_HOST"),
                         "node1\n")

    def test_description_names_a_file_beside_it(self):
        toml = self.folder / "lab.toml"
        toml.write_text('name = "lab"\nfrom = "dump.net"\n')
        self.assertIn("fabric lab is up: 2 hosts", self.ok("up", "-c", str(toml), cwd="/"))

    def test_every_format_describes_the_same(self):
        flags = ("--topology", "fat-tree", "--hosts", "12", "--hcas", "2", "--radix", "8",
                 "--generation", "XDR")
        drawn = self.json("topo", *flags)
        for form in ("--ibnetdiscover", "--ibsim"):
            path = str(self.folder / "again.net")
            self.assertEqual(self.ok("topo", *flags, form, path), "")
            self.assertEqual(self.json("topo", "--from", path), drawn, form)

    def test_flags_of_generated_fabrics_do_not_go_with_it(self):
        for flag, value in (("--hosts", "3"), ("--topology", "torus"), ("--generation", "NDR")):
            for command in (("up",), ("topo",), ("run", "--", "true")):
                words = [command[0], "--from", self.dump, flag, value, *command[1:]]
                self.assertEqual(self.refused(*words, status=2),
                                 f"softib: {flag} is for a fabric that is generated, but "
                                 f"{self.dump} has one already: leave out one of the two")
        self.assertEqual(self.json("list"), [])

    def test_log_of_a_terminal_comes_up_with_a_warning(self):
        log = self.folder / "putty.log"
        log.write_text("=~=~= PuTTY log =~=~=\r\n" +
                       DUMP.replace("\t", "").replace("\n", "\r\n") + "\radmin@sw1 > ")
        result = self.softib("topo", "--from", str(log), "--json")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr,
                         f"softib: warning: {log}: 2 lines were left out; the first, line 1 is no "
                         "line of ibnetdiscover or of an ibsim netlist: '=~=~= PuTTY log =~=~='\n")
        self.assertEqual(json.loads(result.stdout), self.json("topo", "--from", self.dump))

    def test_error_names_file_and_line(self):
        pathlib.Path(self.dump).write_text('Switch 8 "a"\n[1] "b"[1]\n')
        self.assertEqual(self.refused("up", "--from", self.dump),
                         f'softib: {self.dump}:2: the cable leads to "b", which is not in the '
                         'file; add that node or remove the line')
        self.assertEqual(self.json("list"), [])

    def test_missing_file(self):
        self.assertEqual(self.refused("topo", "--from", "/nonexistent/dump"),
                         "softib: cannot read /nonexistent/dump: No such file or directory")

    def test_switches_alone_are_drawn_but_not_run(self):
        pathlib.Path(self.dump).write_text('Switch 8 "alone"\n')
        self.assertIn("alone", self.ok("topo", "--from", self.dump))
        self.assertEqual(self.refused("up", "--from", self.dump),
                         f"softib: {self.dump} has no HCA, so no program could run on it; draw it "
                         f"with: softib topo --from {self.dump}")


if __name__ == "__main__":
    unittest.main()
