// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The planner's own numbers for the rows of fabric_rows.toml and machine_rows.toml. 0 stands for an
// operation that could not be timed, which no row expects.

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/topo/link_speed.h"
#include "plan/collective/collective_model.h"
#include "plan/collective/victims.h"

namespace softib::plan {

using topo::Generation;

inline constexpr std::uint64_t kKibi = 1 << 10;
inline constexpr std::uint64_t kMebi = 1 << 20;
inline constexpr std::uint64_t kGibi = 1 << 30;

/// Returns the time of an operation on a cluster.
Timing timed(const Cluster& cluster, const CollectiveOptions& options, Op op, Algorithm algorithm,
             std::uint64_t bytes, std::optional<Protocol> protocol = std::nullopt);

// ---- Components, in validation_numbers.cc ----

/// Counts the switches of a level of a SuperPOD of H100.
double superpod_switches(std::uint32_t units, std::uint32_t level);
/// Counts the cables of its nodes, or those above its leaves. The 4 ports of the manager are cabled
/// to leaves too.
double superpod_cables(std::uint32_t units, bool of_nodes);
double meta_gpus();
/// Returns the number of cables above a spine for each cable below it.
double meta_taper();
/// Returns the HCAs of the largest full tree of three levels in one subnet.
double endpoints_of_a_subnet(std::uint32_t radix);

// ---- Links and collectives, in validation_numbers.cc ----

double edr_write_gbps();
double mpi_latency_us();
/// Returns the time of an operation of 8 GiB on the first nodes of the machine of NCCL's report.
Timing b200(Op op, Algorithm algorithm, std::uint32_t nodes, std::uint32_t channels);
/// Returns the time of an operation of hosts on a tree of two levels.
double on_hosts_us(Generation generation, std::uint32_t hosts, Op op, Algorithm algorithm,
                   std::uint64_t bytes);
/// Returns the rate of an all-reduce on a streaming tree, as a part of the rate between two hosts.
double sat_of_link();
double sat_gain();  ///< How much faster than a ring it is.
/// Returns the length from which on a streaming tree is faster than a low-latency tree.
double sat_threshold();
double sharp_trees(Generation generation);
/// Returns the latency of a small all-reduce on nodes of 8 GPUs.
double nccl_small(std::uint32_t nodes, Algorithm algorithm);
/// Returns the rate of a dispatch as DeepEP counts it: a GPU's bytes to all nodes, its own
/// included.
double deepep_dispatch(std::uint32_t nodes);
/// Returns the time of a dispatch of 128 tokens to 8 experts each, in FP8 with scales.
double deepep_low_latency();

// ---- Machines, in validation_machines.cc ----

/// Returns the time of an operation with Open MPI, whose ranks post a receive and a send in each
/// step.
double mpi_us(std::uint32_t hosts, Op op, Algorithm algorithm, std::uint64_t bytes);
/// Returns the time in which all other hosts send to one (`gather`), or one sends to all others;
/// each message is an equal part of `bytes`.
double one_and_all_us(std::uint32_t hosts, std::uint64_t bytes, bool gather);
/// Returns how many times longer victims take beside an aggressor than alone.
double slowdown(std::uint32_t hosts, VictimOp op, std::uint64_t bytes, Aggressor aggressor);
/// Returns the rate of an RDMA WRITE of 8 MiB on the packet model.
double write_gbps(Generation generation);
/// Returns the busbw with one algorithm, or with NCCL's choice.
double nccl_busbw(std::string_view preset, std::uint64_t bytes,
                  std::optional<Algorithm> algorithm = std::nullopt);
/// Returns the busbw of rings with the faster of LL and Simple: NCCL does not use LL128 if a GPU
/// and its NIC are not behind one PCIe switch.
double rings_without_ll128(std::string_view preset, std::uint64_t bytes);
/// Returns the busbw of two hosts with one GPU and one NDR NIC each.
double one_nic_busbw(Algorithm algorithm, std::uint64_t bytes);

}  // namespace softib::plan
