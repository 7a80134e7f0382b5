#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs NCCL between virtual hosts on a machine with one GPU: every collective, with its data
# checked, over TCP sockets, over softib through the host's memory, and over softib with GPUDirect,
# in one run. Needs python3 with PyTorch for CUDA.
#
#   bash bench/nccl.sh [--worlds 2,4,8] [--sizes 1K,32K,...] [--minutes 12] [--write FILE]
#                      [--transports sockets,staged,gpudirect,gpudirect-large]
#
# It is in the source tree and in the archive of `make portable`; SOFTIB names another softib.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

die() { echo "nccl.sh: $*" >&2; exit 1; }

for softib in "${SOFTIB:-}" "$here/../bin/softib" "$here/../build/bin/softib"; do
    [ -x "$softib" ] && break
done
[ -x "$softib" ] || die "no softib beside this script; set SOFTIB to its path, or run 'make build'"
command -v nvidia-smi >/dev/null || die "no nvidia-smi: this needs an NVIDIA GPU with its driver"
python3 -c 'import torch, sys; sys.exit(not torch.distributed.is_nccl_available())' ||
    die "python3 has no PyTorch with NCCL: pip install torch"

work=$(mktemp -d /tmp/softib-nccl.XXXXXX)
export SOFTIB_RUNTIME_DIR=$work/fabric
export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps
mkdir -p "$SOFTIB_RUNTIME_DIR" "$CUDA_MPS_PIPE_DIRECTORY"

# The kernels of all ranks wait for each other. Without MPS they take turns on the GPU.
mps=off
if command -v nvidia-cuda-mps-control >/dev/null &&
    nvidia-cuda-mps-control -d 2>"$work/mps.err"; then
    mps=on
else
    echo "nccl.sh: no MPS, ranks will take turns on the GPU:" \
         "$(cat "$work/mps.err" 2>/dev/null || echo 'nvidia-cuda-mps-control is not installed')" >&2
fi
finish() {
    [ $mps = on ] && echo quit | nvidia-cuda-mps-control >/dev/null 2>&1
    rm -rf "$work"
}
trap finish EXIT

"$softib" run --hosts 8 -- python3 "$here/nccl_launch.py" --mps $mps --work "$work" "$@"
