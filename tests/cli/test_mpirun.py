#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""softib mpirun: where ranks go, what comes back, and what is said when something is missing. MPI
programs themselves are in tests/clients/test_mpi.py."""

import json
import os
import pathlib
import shutil
import tempfile
import unittest

from cli_case import BUILD, CliCase

RANK = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK"}
FOUND = [mpi for mpi in RANK if shutil.which(f"mpirun.{mpi}")]


class Mpirun(CliCase):
    def setUp(self):
        super().setUp()
        # MPICH's mpirun tells rank 0 the end of its input. If all ranks have ended before that, it
        # dies of SIGPIPE, with softib and without (1 of 200 runs on a busy machine). The input of
        # these runs has no end.
        self.input, writer = os.pipe()
        self.addCleanup(os.close, self.input)
        self.addCleanup(os.close, writer)

    def softib(self, *words, **kwargs):
        return super().softib(*words, stdin=self.input, **kwargs)

    def without_mpi(self):
        """Returns an environment in which PATH leads to a shell and to no mpirun."""
        folder = tempfile.TemporaryDirectory(prefix="softib-path-")
        self.addCleanup(folder.cleanup)
        os.symlink("/bin/sh", pathlib.Path(folder.name, "sh"))
        return dict(self.env, PATH=folder.name)

    def test_says_what_is_missing(self):
        self.assertIn("no fabric 'default' is up", self.refused("mpirun", "-n", "2", "sh"))
        self.ok("up")
        self.assertEqual(self.refused("mpirun", "-n", "2", status=2),
                         "softib: say what to run: softib mpirun -n N PROGRAM")
        self.assertIn("cannot run no-such-program",
                      self.refused("mpirun", "no-such-program", status=127))
        self.assertIn("--mpi", self.refused("mpirun", "--mpi", "lam", "sh", status=2))
        self.assertIn("--ranks", self.refused("mpirun", "-n", "0", "sh", status=2))

    def test_says_what_to_install(self):
        self.ok("up")
        env = self.without_mpi()
        said = self.refused("mpirun", "-n", "2", "sh", env=env)
        self.assertIn("apt install openmpi-bin libopenmpi-dev, or mpich libmpich-dev", said)
        said = self.refused("mpirun", "-n", "2", "--mpi", "mpich", "sh", env=env)
        self.assertIn("no mpirun of MPICH in PATH; install it: apt install mpich libmpich-dev",
                      said)

    def test_another_program_of_that_name_is_no_mpi(self):
        self.ok("up")
        env = self.without_mpi()
        fake = pathlib.Path(env["PATH"], "mpirun")
        fake.write_text("#!/bin/sh\necho 'mpirun of somebody else 1.0'\n")
        fake.chmod(0o755)
        self.assertIn("install one of them", self.refused("mpirun", "sh", env=env))

    @unittest.skipUnless(FOUND, "no MPI is installed")
    def test_ranks_go_to_hosts_in_turn(self):
        self.ok("up", "lab", "--hosts", "3")
        for mpi in FOUND:
            said = self.ok("mpirun", "-f", "lab", "-n", "5", "--mpi", mpi, "sh", "-c",
                           f"echo ${RANK[mpi]} $SOFTIB_HOST $SOFTIB_FABRIC")
            self.assertEqual(sorted(said.split("\n"))[1:],
                             ["0 h0 lab", "1 h1 lab", "2 h2 lab", "3 h0 lab", "4 h1 lab"])

    @unittest.skipUnless(FOUND, "no MPI is installed")
    def test_json_tells_where_ranks_are_before_they_start(self):
        self.ok("up", "lab", "--hosts", "3")
        for mpi in FOUND:
            for ranks, hosts in ((2, ["h0", "h1"]), (5, ["h0", "h1", "h2"])):
                done = self.softib("mpirun", "--json", "-n", str(ranks), "--mpi", mpi, "printenv",
                                   "SOFTIB_HOST")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(sorted(done.stdout.split()),
                                 sorted(hosts[i % len(hosts)] for i in range(ranks)))
                report = json.loads(done.stderr.splitlines()[0])
                self.assertEqual(
                    (report["fabric"], report["ranks"], report["hosts"], report["command"]),
                    ("lab", ranks, hosts, ["printenv", "SOFTIB_HOST"]))
                self.assertIn("mpirun", report["launcher"])

    @unittest.skipUnless(FOUND, "no MPI is installed")
    def test_one_rank_a_host_in_a_fabric_of_its_own(self):
        for mpi in FOUND:
            said = self.ok("run", "--hosts", "4", "--", "softib", "mpirun", "--mpi", mpi,
                           "printenv", "SOFTIB_HOST")
            self.assertEqual(sorted(said.split()), ["h0", "h1", "h2", "h3"])

    @unittest.skipUnless(FOUND, "no MPI is installed")
    def test_exit_status_is_the_programs(self):
        self.ok("up")
        for mpi in FOUND:
            result = self.softib("mpirun", "-n", "2", "--mpi", mpi, "--", "sh", "-c", "exit 7")
            self.assertEqual(result.returncode, 7, result.stdout + result.stderr)

    @unittest.skipUnless(FOUND, "no MPI is installed")
    def test_settings_of_the_user_win(self):
        self.ok("up")
        for mpi in FOUND:
            words = ["mpirun", "-n", "1", "--mpi", mpi, "printenv", "UCX_TLS"]
            self.assertEqual(self.ok(*words), "rc_v,self\n")
            self.assertEqual(self.ok(*words, env=dict(self.env, UCX_TLS="ud_v,self")),
                             "ud_v,self\n")

    def test_program_of_another_mpi_is_refused(self):
        programs = {mpi: BUILD / "examples" / f"mpi_check.{mpi}" for mpi in RANK}
        if not all(program.exists() for program in programs.values()):
            self.skipTest("examples were not built for both MPIs")
        self.ok("up")
        said = self.refused("mpirun", "-n", "2", "--mpi", "mpich", str(programs["openmpi"]))
        self.assertIn("is linked with Open MPI: under MPICH each rank would be a program by itself",
                      said)


if __name__ == "__main__":
    unittest.main()
