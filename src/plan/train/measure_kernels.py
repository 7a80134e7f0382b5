#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Times the kernels of a training step on this machine's GPU, for `softib plan calibrate`.

    measure_kernels.py --output FILE [--device cuda|cuda:N|cpu] [--quick]

Products of matrices in each recipe that GPU and PyTorch have, attention, passes over the memory,
the start of a kernel, and exchanges by NCCL where the machine has several GPUs. The file is JSON:
one line of shapes and seconds for each kernel. With --device cpu and no PyTorch, NumPy computes,
in numbers of 32 bits. The program needs nothing of softib, so it may be copied to another machine.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

HEADS, HEAD_DIM = 32, 128
MIB = 1 << 20


def say(text):
    print(f"softib: {text}", file=sys.stderr, flush=True)


class NumpyOnCpu:
    """Products, attention and passes of NumPy."""
    recipes = ["bf16"]

    def __init__(self):
        import numpy
        self.np = numpy
        self.random = numpy.random.default_rng(1)

    def about(self):
        return {"device": "CPU", "software": f"NumPy {self.np.__version__}, numbers of 32 bits"}

    def numbers(self, *shape):
        return self.random.standard_normal(shape, dtype=self.np.float32)

    def seconds(self, calls, least_s):
        """Returns the time of a call: the median of rounds that go through all calls."""
        for call in calls:
            call()
        rounds, began = [], time.perf_counter()
        while len(rounds) < 3 or time.perf_counter() - began < least_s:
            before = time.perf_counter()
            for call in calls:
                call()
            rounds.append((time.perf_counter() - before) / len(calls))
        return statistics.median(rounds)

    def product(self, recipe, m, n, k, batch):
        def make():
            left, right = self.numbers(batch, m, k), self.numbers(batch, k, n)
            out = self.np.empty((batch, m, n), self.np.float32)
            return lambda: self.np.matmul(left, right, out=out)
        return [make() for _ in range(2)]

    def attention(self, tokens, heads):
        q, k, v, grad = (self.numbers(heads, tokens, HEAD_DIM) for _ in range(4))
        hidden = self.np.triu(self.np.full((tokens, tokens), -self.np.inf, self.np.float32), 1)

        def forward():
            scores = q @ k.swapaxes(1, 2) / math.sqrt(HEAD_DIM) + hidden
            scores = self.np.exp(scores - scores.max(-1, keepdims=True))
            parts = scores / scores.sum(-1, keepdims=True)
            return parts, parts @ v

        def backward():
            parts, out = forward()  # The scores are computed again, as fused kernels do.
            of_parts = grad @ v.swapaxes(1, 2)
            of_scores = parts * (of_parts - (grad * out).sum(-1, keepdims=True))
            return parts.swapaxes(1, 2) @ grad, of_scores @ k, of_scores.swapaxes(1, 2) @ q
        return forward, backward

    def passes(self, numbers):
        source, other = self.numbers(numbers), self.numbers(numbers)
        out = self.np.empty_like(source)
        return [(8 * numbers, lambda: self.np.copyto(out, source)),
                (12 * numbers, lambda: self.np.add(source, other, out=out))]

    def start(self):
        few = self.np.zeros(8, self.np.float32)
        return self.seconds([lambda: self.np.add(few, few, out=few)] * 100, 0.05)

    def exchanges(self):
        return []


class Torch:
    """Kernels of PyTorch, on a GPU or on the CPU."""

    def __init__(self, torch, device):
        self.torch = torch
        self.device = torch.device(device)
        self.gpu = self.device.type == "cuda"
        self.recipes = ["bf16", "fp16"]
        if self.gpu:
            self.device = torch.device("cuda", self.device.index or 0)
            torch.cuda.set_device(self.device)
            major, minor = torch.cuda.get_device_capability(self.device)
            self.capability = 10 * major + minor
            self.recipes += ["fp8", "fp8-block"] if self.capability >= 89 else []
            self.recipes += ["mxfp8", "nvfp4"] if self.capability >= 100 else []
        else:
            self.recipes = ["bf16"]

    def about(self):
        if not self.gpu:
            return {"device": "CPU", "software": f"PyTorch {self.torch.__version__} on the CPU"}
        chip = self.torch.cuda.get_device_properties(self.device)
        about = {"device": chip.name, "capability": self.capability,
                 "sms": chip.multi_processor_count,
                 "software": f"PyTorch {self.torch.__version__}, CUDA {self.torch.version.cuda}"}
        try:
            said = subprocess.run(
                ["nvidia-smi", "--query-gpu=power.limit", "--format=csv,noheader,nounits", "-i",
                 str(chip.uuid) if hasattr(chip, "uuid") and str(chip.uuid).startswith("GPU-")
                 else f"GPU-{chip.uuid}" if hasattr(chip, "uuid") else str(self.device.index or 0)],
                capture_output=True, text=True, timeout=30, check=True).stdout
            about["power_w"] = float(said.strip().splitlines()[0])
        except (OSError, ValueError, IndexError, subprocess.SubprocessError):
            say("nvidia-smi says no power limit: that of the data sheet is taken")
        return about

    def numbers(self, *shape):
        return self.torch.randn(*shape, device=self.device, dtype=self.torch.bfloat16)

    def seconds(self, calls, least_s):
        if not self.gpu:
            return NumpyOnCpu.seconds(self, calls, least_s)
        for call in calls:
            call()
        self.torch.cuda.synchronize()
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        rounds, repeat, began = [], 1, time.perf_counter()
        while len(rounds) < 3 or time.perf_counter() - began < least_s:
            begin.record()
            for _ in range(repeat):
                for call in calls:
                    call()
            end.record()
            end.synchronize()
            took = begin.elapsed_time(end) / 1e3
            rounds.append(took / repeat / len(calls))
            if took < 0.02:  # Hosts launch slower than GPUs compute: queues must be full.
                repeat *= 2
                rounds.clear()
        return statistics.median(rounds)

    def scaled(self, recipe, m, n, k):
        """Returns products of 8 or 4 bits with their scales: forward, and backward, which adds
        exactly."""
        torch, device = self.torch, self.device
        if recipe == "nvfp4":
            left, right = (torch.randint(0, 255, (rows, k // 2), device=device,
                                         dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
                           for rows in (m, n))
        else:
            left, right = (torch.randn(rows, k, device=device).to(torch.float8_e4m3fn)
                           for rows in (m, n))
        if recipe == "fp8":
            scales = (torch.ones((), device=device), torch.ones((), device=device))
        elif recipe == "fp8-block":  # 1 x 128 of the left, 128 x 128 of the right.
            scales = (torch.ones(k // 128, m, device=device).t(),
                      torch.ones(n // 128, k // 128, device=device).t())
        else:  # Ones in any order are the same, so that their tiles of 128 x 4 do not matter.
            kind, each = ((torch.float8_e8m0fnu, 32) if recipe == "mxfp8" else
                          (torch.float8_e4m3fn, 16))
            scales = tuple(torch.ones(math.ceil(rows / 128) * 128 * math.ceil(k / each / 4) * 4,
                                      device=device).to(kind) for rows in (m, n))

        def call(fast):
            return torch._scaled_mm(left, right.t(), *scales, out_dtype=torch.bfloat16,
                                    use_fast_accum=fast)
        ways = (True, False, False) if recipe == "fp8" else (False,)
        return [lambda fast=fast: call(fast) for fast in ways]

    def product(self, recipe, m, n, k, batch):
        torch = self.torch
        if recipe not in ("bf16", "fp16"):
            if batch > 1:
                return []
            return self.scaled(recipe, m, n, k) + self.scaled(recipe, m, n, k)
        kind = torch.bfloat16 if recipe == "bf16" else torch.float16

        def make():
            left = torch.randn(batch, m, k, device=self.device, dtype=kind)
            right = torch.randn(batch, n, k, device=self.device, dtype=kind).transpose(1, 2)
            return (lambda: torch.bmm(left, right)) if batch > 1 else (
                lambda: torch.mm(left[0], right[0]))
        return [make() for _ in range(2)]

    def attention(self, tokens, heads):
        torch = self.torch
        q, k, v, grad = (self.numbers(1, heads, tokens, HEAD_DIM) for _ in range(4))
        leaves = [each.requires_grad_() for each in (q, k, v)]
        attend = torch.nn.functional.scaled_dot_product_attention

        def forward():
            return attend(q, k, v, is_causal=True)

        def without_gradients():
            with torch.no_grad():
                return forward()
        if self.gpu:  # cuDNN's kernels are the quickest where they are.
            from torch.nn.attention import SDPBackend, sdpa_kernel
            ways = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]
            self.sdpa = sdpa_kernel(ways, set_priority=True)
            self.sdpa.__enter__()
        out = forward()
        return without_gradients, lambda: torch.autograd.grad(out, leaves, grad,
                                                              retain_graph=True)

    def passes(self, numbers):
        torch = self.torch
        source, other = self.numbers(numbers), self.numbers(numbers)
        out = torch.empty_like(source)
        return [(4 * numbers, lambda: out.copy_(source)),
                (6 * numbers, lambda: torch.add(source, other, out=out))]

    def start(self):
        few = self.torch.zeros(8, device=self.device)
        if not self.gpu:
            return self.seconds([lambda: few.add_(1)] * 100, 0.05)
        graph, kernels = self.torch.cuda.CUDAGraph(), 200
        few.add_(1)
        with self.torch.cuda.graph(graph):
            for _ in range(kernels):
                few.add_(1)
        return self.seconds([graph.replay], 0.2) / kernels

    def exchanges(self):
        if not self.gpu or self.torch.cuda.device_count() < 2:
            return []
        ranks = self.torch.cuda.device_count()
        said = subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", "--standalone",
             f"--nproc-per-node={ranks}", os.path.abspath(__file__), "--exchange"],
            capture_output=True, text=True, check=False)
        lines = [line for line in said.stdout.splitlines() if line.startswith("{")]
        if said.returncode or not lines:
            say(f"NCCL's exchanges failed: {said.stderr.strip().splitlines()[-1:]}")
        return [json.loads(line) for line in lines]


def exchange():
    """Times exchanges of all GPUs of this machine: one of the processes that do."""
    import torch
    import torch.distributed as dist
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    timer = Torch(torch, f"cuda:{rank}")
    for size in (MIB, 16 * MIB, 256 * MIB):
        data = timer.numbers(size // 2)
        out = torch.empty_like(data)
        for kind, call in (("all-to-all", lambda: dist.all_to_all_single(out, data)),
                           ("all-reduce", lambda: dist.all_reduce(data))):
            for _ in range(5):
                call()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(20):
                call()
            end.record()
            end.synchronize()
            if rank == 0:
                print(json.dumps({"kind": kind, "ranks": dist.get_world_size(), "bytes": size,
                                  "seconds": begin.elapsed_time(end) / 20e3}), flush=True)
    dist.destroy_process_group()


def shapes(quick, small):
    """Returns the products that are timed: (m, n, k, batch)."""
    if small:
        return [(m, n, k, 1) for m in (128, 256) for n, k in ((256, 256), (512, 256), (256, 1024))
                ] + [(64, 128, 256, 4)]
    if quick:
        return [(2048, 4096, 4096, 1), (8192, 8192, 8192, 1), (8192, 28672, 4096, 1),
                (8192, 4096, 14336, 1), (512, 8192, 8192, 1), (512, 2048, 4096, 16)]
    layers = ((4096, 4096), (6144, 4096), (28672, 4096), (4096, 14336), (8192, 8192),
              (2048, 7168), (8192, 28672))
    return [(m, n, k, 1) for m in (512, 2048, 8192, 16384) for n, k in layers] + [
        (4096, 4096, 512, 1), (512, 2048, 4096, 16), (256, 1536, 4096, 32), (1024, 4096, 2048, 8)]


def measure(timer, quick, small):
    least_s = 0.05 if quick else 0.3
    kernels = []
    for recipe in timer.recipes:
        wanted = shapes(quick, small)
        for place, (m, n, k, batch) in enumerate(wanted):
            say(f"products, {recipe}: {place + 1} of {len(wanted)}")
            try:
                calls = timer.product(recipe, m, n, k, batch)
                if calls:
                    kernels.append({"kind": "product", "recipe": recipe, "m": m, "n": n, "k": k,
                                    "batch": batch, "seconds": timer.seconds(calls, least_s)})
            except (RuntimeError, AttributeError, TypeError, ValueError, NotImplementedError) as no:
                say(f"no products in {recipe}: {str(no).splitlines()[0]}")
                break
    say("attention")
    tokens, heads = (256, 4) if small else (8192, HEADS)
    flops = 2 * 2 * heads * HEAD_DIM * tokens * tokens / 2  # Half of the scores are not hidden.
    for kind, call in zip(("flash", "flash-backward"), timer.attention(tokens, heads)):
        kernels.append({"kind": kind, "flops": flops, "seconds": timer.seconds([call], least_s)})
    say("memory")
    for size, call in timer.passes((4 if small else 256) * MIB):
        kernels.append({"kind": "pass", "bytes": size, "seconds": timer.seconds([call], least_s)})
    kernels.append({"kind": "start", "seconds": timer.start()})
    if not small:
        say("exchanges between GPUs")
        kernels += timer.exchanges()
    return kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", metavar="FILE", help="where the measurements go (JSON)")
    parser.add_argument("--device", default=None, help="cuda, cuda:N or cpu (default: cuda)")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter kernels")
    parser.add_argument("--exchange", action="store_true", help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.exchange:
        return exchange()
    if not said.output:
        parser.error("say where the measurements go: --output FILE")
    try:
        import torch
    except ImportError:
        torch = None
    device = said.device or "cuda"
    if device != "cpu" and torch is None:
        sys.exit(f"softib: {sys.executable} has no PyTorch: install it, name another Python, or "
                 "time the CPU with --device cpu")
    if device != "cpu" and not torch.cuda.is_available():
        sys.exit("softib: PyTorch sees no GPU; --device cpu times the CPU")
    timer = Torch(torch, device) if torch else NumpyOnCpu()
    small = device == "cpu"
    if not small:
        say("warming up, since clocks fall when a GPU computes for seconds")
        timer.seconds(timer.product("bf16", 8192, 8192, 8192, 1), 1 if said.quick else 5)
    result = {**timer.about(), "kernels": measure(timer, said.quick, small)}
    with open(said.output, "w", encoding="utf-8") as file:
        head = {key: value for key, value in result.items() if key != "kernels"}
        rows = ",\n".join(json.dumps(kernel) for kernel in result["kernels"])
        file.write(json.dumps(head)[:-1] + f', "kernels": [\n{rows}\n]}}\n')
    return None


if __name__ == "__main__":
    main()
