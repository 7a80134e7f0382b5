# SPDX-License-Identifier: BSD-2-Clause
"""softib sim --sweep: all points are simulated once, parts add up, and errors come with a
remedy."""

import csv
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import unittest

from cli_case import SOFTIB, CliCase, wait_until

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "sim" / "sweeps"
SMALL = """seeds = 2
[vary]
hosts = [4, 8, 16]
size = ["10kB", "100kB"]
"""


class Sweep(CliCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="softib-sweep-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, text, name="s.toml"):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def sweep(self, *words, **kwargs):
        """Runs the sweep in the folder, with the points as CSV. Returns the rows."""
        self.ok("sim", "--sweep", *words, "--csv", "points.csv", cwd=self.folder, **kwargs)
        return self.rows()

    def rows(self):
        with open(self.folder / "points.csv", newline="") as file:
            return list(csv.DictReader(file))

    def stored(self, name="s.db"):
        """Returns number and hash of all rows of a database."""
        base = sqlite3.connect(self.folder / name)
        found = base.execute("SELECT number, log_hash FROM points ORDER BY number").fetchall()
        base.close()
        return found

    @staticmethod
    def results(rows):
        return [{key: value for key, value in row.items() if key != "cpu_seconds"} for row in rows]

    def test_every_point_is_simulated_as_alone(self):
        rows = self.sweep(self.write(SMALL))
        self.assertEqual(len(rows), 12)
        self.assertEqual({row["status"] for row in rows}, {"done"})
        self.assertEqual([row["number"] for row in rows], [str(i) for i in range(12)])
        point = rows[7]
        alone = self.json("sim", "--hosts", point["hosts"], "--size", point["size"],
                          "--seed", point["seed"])
        self.assertEqual(alone["log_hash"], point["log_hash"])
        self.assertEqual(alone["traffic"][0]["completion_us"]["max"],
                         float(point["completion_max_us"]))
        base = sqlite3.connect(self.folder / "s.db")
        report, = base.execute("SELECT report FROM points WHERE number = 7").fetchone()
        base.close()
        self.assertEqual(json.loads(report)["traffic"], alone["traffic"])

    def test_the_example_runs(self):
        text = self.ok("sim", "--sweep", str(EXAMPLES / "adaptive.toml"), cwd=self.folder)
        table, worth = text.split("\n\n")
        self.assertEqual(len(table.splitlines()), 1 + 24)
        self.assertEqual(worth.count("model packet"), 1)
        self.assertRegex(text, r"hosts +adaptive +size +seed +DELIVERED")

    def test_flags_and_the_flow_model_are_for_all_points(self):
        said = json.loads(self.ok("sim", "--sweep", self.write(SMALL), "--json", "--model", "flow",
                                  "--traffic", "shift", cwd=self.folder))
        self.assertEqual(len(said["points"]), 12)
        self.assertEqual({p["delivered"] for p in said["points"]}, {4, 8, 16})

    def test_what_is_done_is_not_done_again(self):
        name = self.write(SMALL)
        first = self.sweep(name)
        self.assertEqual(self.sweep(name), first)  # CPU seconds too.
        # With one value more, only its points are new.
        more = self.sweep(self.write(SMALL.replace("16]", "16, 32]")))
        self.assertEqual(len(more), 16)
        old = {(row["hosts"], row["size"], row["seed"]): row["cpu_seconds"] for row in first}
        again = {(row["hosts"], row["size"], row["seed"]): row["cpu_seconds"] for row in more}
        self.assertEqual({key: again[key] for key in old}, old)
        # Another flag, or another base, makes other points.
        other = self.sweep(name, "--mtu", "1024")
        self.assertNotEqual(self.results(other), self.results(more))

    def test_a_killed_sweep_goes_on_where_it_was(self):
        slow = self.write('[vary]\nseed = [1, 2, 3, 4, 5, 6, 7, 8]\nhosts = [32]\n'
                          'size = ["4MB"]\n')
        process = subprocess.Popen([SOFTIB, "sim", "--sweep", slow, "--jobs", "1"], env=self.env,
                                   cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        database = self.folder / "s.db"
        self.assertTrue(wait_until(
            lambda: database.exists() and database.stat().st_size != 0 and self.count() >= 2, 50))
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertTrue(wait_until(lambda: not self.processes()), "a simulation outlived its sweep")
        before = self.times()
        self.assertLess(len(before), 8)
        rows = self.sweep(slow)
        self.assertEqual(len(rows), 8)
        after = self.times()
        self.assertEqual({number: after[number] for number in before}, before)
        whole = self.sweep(slow, "--db", "other.db")
        self.assertEqual(self.results(whole), self.results(rows))

    def count(self):
        try:
            return len(self.times())
        except sqlite3.Error:
            return 0

    def times(self):
        base = sqlite3.connect(self.folder / "s.db")
        found = dict(base.execute("SELECT number, cpu_seconds FROM points").fetchall())
        base.close()
        return found

    def test_ctrl_c_keeps_what_is_done(self):
        slow = self.write('[vary]\nseed = [1, 2]\nhosts = [8]\nsize = ["100GB"]\n')
        process = subprocess.Popen([SOFTIB, "sim", "--sweep", slow], env=self.env, cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # The process of the sweep, and one for a point.
        self.assertTrue(wait_until(lambda: len(self.processes()) >= 2))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1)
        self.assertIn("the same command goes on where this one ended", err)
        self.assertTrue(wait_until(lambda: not self.processes()))

    def test_two_parts_are_the_whole(self):
        name = self.write(SMALL)
        whole = self.results(self.sweep(name))
        os.unlink(self.folder / "s.db")
        first = self.sweep(name, "--part", "1/2")
        second = self.sweep(name, "--part", "2/2")
        self.assertEqual(len(first), 6)
        self.assertEqual({row["number"] for row in first + second},
                         {str(i) for i in range(12)})
        self.assertEqual(self.results(self.sweep(name, "--merge")), whole)
        self.assertEqual(len(self.stored()), 12)

    def test_tasks_of_an_array_have_parts(self):
        name = self.write(SMALL)
        for task in ("10", "11", "12"):
            env = {**self.env, "SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_MIN": "10",
                   "SLURM_ARRAY_TASK_MAX": "12"}
            self.assertEqual(len(self.sweep(name, env=env)), 4)
        self.assertEqual(len(self.sweep(name, "--merge")), 12)
        self.assertEqual({row["status"] for row in self.rows()}, {"done"})
        env = {**self.env, "PBS_ARRAY_INDEX": "2"}
        self.assertIn("give --part $PBS_ARRAY_INDEX/N",
                      self.refused("sim", "--sweep", name, cwd=self.folder, env=env))

    def test_an_mpirun_shares_the_points(self):
        mpirun = shutil.which("mpirun.openmpi")
        if mpirun is None:
            self.skipTest("no mpirun.openmpi")
        name = self.write(SMALL)
        words = [mpirun, "-n", "2", "--oversubscribe", SOFTIB, "sim", "--sweep", name]
        if os.geteuid() == 0:
            words.insert(1, "--allow-run-as-root")
        done = subprocess.run(words, env=self.env, cwd=self.folder, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.db")),
                         ["s.part-1-of-2.db", "s.part-2-of-2.db"])
        self.assertEqual(len(self.sweep(name, "--merge")), 12)

    def test_a_point_that_fails_is_recorded_and_the_rest_goes_on(self):
        name = self.write('[vary]\nhosts = [2, 8]\ntraffic = ["permutation", '
                          '"incast,target=h5,size=10kB"]\n')
        result = self.softib("sim", "--sweep", name, "--csv", "points.csv", cwd=self.folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn("1 point failed; the errors are in s.db", result.stderr)
        rows = self.rows()
        self.assertEqual([row["status"] for row in rows], ["done", "failed", "done", "done"])
        self.assertIn("there is no host 'h5'", rows[1]["error"])
        self.assertEqual(rows[1]["gbps"], "")

    def test_a_point_that_delivers_nothing_has_no_time(self):
        name = self.write('[fabric]\ntopology = "torus"\ndimensions = "7"\nhosts = 14\n'
                          '[[traffic]]\npattern = "shift"\nshift = 6\nsize = "4MB"\n'
                          '[vary]\nengine = ["minhop", "dor"]\n')
        for _ in "as it comes", "from the database":
            rows = self.sweep(name)
            self.assertEqual((rows[0]["delivered"], rows[0]["duration_us"],
                              rows[0]["completion_p50_us"]), ("0", "", ""))
            self.assertGreater(float(rows[1]["duration_us"]), 0)
        self.assertRegex(self.ok("sim", name, cwd=self.folder), r"minhop +0/14 +- +- +- ")

    def test_errors_tell_what_to_do(self):
        def why(text, *words, **kwargs):
            return self.refused("sim", "--sweep", self.write(text), *words, cwd=self.folder,
                                **kwargs)
        self.assertIn("s.toml:2:1: unknown key 'hostes'; did you mean 'hosts'?",
                      why("[vary]\nhostes = [1]\n"))
        self.assertIn("s.toml:2:9: 'size' must be a size as 2MB, 64KiB or 512, not \"much\"",
                      why('[vary]\nsize = ["much"]\n'))
        self.assertIn("cannot read", why('base = "gone.toml"\nseeds = 2\n'))
        self.assertIn("--part must be as 2/8", why(SMALL, "--part", "3/2", status=2))
        self.assertIn("run the sweep first", why(SMALL, "--merge"))
        self.assertIn("say with --db where the results may be",
                      why(SMALL, "--db", "/nonexistent/folder/s.db"))
        self.assertIn("'html' is not for a sweep", why(SMALL, "--html", "x.html", status=2))
        self.assertIn("nothing varies", why("seed = 2\n"))
        self.assertIn("it names its scenario as base", why(SMALL, "s.toml", status=2))
        self.assertIn("--sweep", self.refused("sim", "--jobs", "2", status=2))


if __name__ == "__main__":
    unittest.main()
