# SPDX-License-Identifier: BSD-2-Clause
"""softib plan calibrate: this machine's CPU is timed, and a plan uses what came out."""

import json
import pathlib
import subprocess
import unittest

from cli_case import CliCase

PYTHON = "/usr/bin/python3"  # It has NumPy, and may have PyTorch.
HERE = """[gpu_rates]
bf16 = {tera}
memory_gbs = {giga}
sms = 1
"""


class PlanCalibrate(CliCase):
    def file(self, name, text=""):
        path = pathlib.Path(self.scratch, name)
        path.write_text(text)
        return str(path)

    def test_a_cpu_is_timed_and_a_plan_uses_its_rates(self):
        program = self.file("measure.py", self.ok("plan", "calibrate", "--program"))
        measured = self.file("measured.json")
        subprocess.run([PYTHON, program, "--device", "cpu", "--quick", "--output", measured],
                       check=True, capture_output=True, timeout=300)
        kernels = json.loads(pathlib.Path(measured).read_text())["kernels"]
        flops = max(2 * each["m"] * each["n"] * each["k"] * each["batch"] / each["seconds"]
                    for each in kernels if each["kind"] == "product")
        moved = max(each["bytes"] / each["seconds"] for each in kernels if each["kind"] == "pass")
        # No product takes more than a tenth of this "peak", so that noise does not reach it.
        machine = self.file("machine.toml", HERE.format(tera=10 * flops / 1e12,
                                                        giga=10 * moved / 1e9))
        self.assertIn("the planner knows no GPU 'CPU'",
                      self.refused("plan", "calibrate", "--measurements", measured))
        rates = self.file("rates.toml")
        said = self.ok("plan", "calibrate", "--measurements", measured, "--cluster", machine,
                       "-o", rates)
        self.assertRegex(said, r"products, bf16 +7 +0\.[01]")
        # The whole way in one command, from the kernels to the rates.
        at_once = self.ok("plan", "calibrate", "--device", "cpu", "--quick", "--python", PYTHON,
                          "--cluster", machine)
        for text in (pathlib.Path(rates).read_text(), at_once):
            self.assertIn('base = "hopper"', text)
            self.assertRegex(text, r"\[matmul\]\nbf16 = 0\.[0-9]+\n")
        train = ("plan", "train", "--model", "llama3.1-8b", "--cluster", machine, "--zero", "3")
        theirs, ours = (self.json(*train, *more) for more in ((), ("--rates", rates)))
        self.assertGreater(ours["step_s"], 2 * theirs["step_s"])

    def test_what_cannot_be_measured_is_said(self):
        self.assertIn("name a Python with PyTorch by --python",
                      self.refused("plan", "calibrate", "--python", "/nowhere/python"))
        none = self.file("no_torch.py")
        self.assertIn("the reason stands above",
                      self.refused("plan", "calibrate", "--python", "false"))
        self.assertIn("no file of measurements",
                      self.refused("plan", "calibrate", "--measurements", none))
        self.assertIn("cannot read",
                      self.refused("plan", "calibrate", "--measurements", "/nowhere"))
        measurements = pathlib.Path(__file__).resolve().parents[2] / "src/plan/train/kernels"
        same = self.file("same.json", (measurements / "h200.json").read_text())
        self.refused("plan", "calibrate", "--measurements", same, "-o", same, status=2)
        self.assertTrue(pathlib.Path(same).read_text())


if __name__ == "__main__":
    unittest.main()
