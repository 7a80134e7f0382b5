#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""UCC's own test of its collectives (ucc_test_mpi) with its SHARP transport, from the installation
that SOFTIB_UCC names: UCC built with our headers and libsharp_coll (--with-sharp), a UCX that it
accepts, and Open MPI. SOFTIB_UCX_LIBRARIES names the folder of that UCX's libraries, where it is
not the system's. The test compares every element with MPI's result."""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Program, Report, skip

# Ranks and the fabric that they are on, with one to three levels of switches.
WORLDS = [(2, ["--hosts", "2"]),
          (4, ["--topology", "fat-tree", "--hosts", "8", "--radix", "4"]),
          (8, ["--topology", "fat-tree", "--hosts", "8", "--radix", "4"]),
          (16, ["--topology", "fat-tree", "--hosts", "16", "--radix", "4", "--levels", "3"])]
TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
         "float64"]
OPERATIONS = ["sum", "prod", "max", "min", "land", "lor", "lxor", "band", "bor", "bxor"]
# UCC's SHARP transport takes the whole vector's length for a slice's in a reduce-scatter in place.
COLLECTIVES = {"barrier": "0", "allreduce": "2", "bcast": "0", "allgather": "2",
               "reduce_scatter": "0"}
SETTINGS = {
    "UCC_TLS": "ucp,sharp", "UCC_TL_SHARP_TUNE": "inf", "UCC_TL_SHARP_MIN_TEAM_SIZE": "2",
    "UCC_TL_SHARP_TEAM_MAX_PPN": "64", "UCC_TL_SHARP_DEVICES": "mlx5_0:1",
    "UCC_COLL_TRACE": "info", "UCX_TLS": "rc_v,self", "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,vader", "OMPI_MCA_mpi_yield_when_idle": "1",
    # What the results are compared with: this part of Open MPI's saturates sums of 8 bits.
    "OMPI_MCA_op": "^avx", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
TIMEOUT_S = 600


def run(fabric, prefix, ranks, collective):
    libraries = [str(prefix / "lib"), os.environ.get("SOFTIB_UCX_LIBRARIES", "")]
    env = dict(fabric.env, LD_LIBRARY_PATH=":".join(filter(None, libraries)), **SETTINGS)
    argv = [fabric.softib, "mpirun", "-f", fabric.name, "-n", str(ranks), "--mpi", "openmpi",
            str(prefix / "bin" / "ucc_test_mpi"), "-c", collective, "-t", "world,reverse", "-M",
            "host", "-m", "8:131072", "-d", ",".join(TYPES), "-o", ",".join(OPERATIONS), "-I",
            COLLECTIVES[collective]]
    program = Program(argv, argv, env)
    fabric.programs.append(program)
    result = program.wait(TIMEOUT_S).check()
    fabric.programs.remove(program)
    counts = dict(re.findall(r"^(total tests|passed|failed): +(\d+)", result.output, re.MULTILINE))
    if counts.get("failed") != "0" or int(counts.get("passed", 0)) == 0:
        raise Failure(f"{counts}\n{result}")
    if "TL_SHARP" not in result.output:
        raise Failure(f"nothing was done by SHARP\n{result}")
    return result


def main():
    report = Report("ucc")
    if "SOFTIB_UCC" not in os.environ:
        skip("SOFTIB_UCC names no installation of UCC")
    prefix = pathlib.Path(os.environ["SOFTIB_UCC"])
    for ranks, flags in WORLDS:
        with Fabric(*flags) as fabric:
            for collective in COLLECTIVES:
                report.case(f"{ranks} ranks", collective,
                            lambda: run(fabric, prefix, ranks, collective))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
