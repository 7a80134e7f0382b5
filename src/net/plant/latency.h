// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The latencies of silicon. Makers give few figures, and only for some of their products; a missing
// one is taken from the nearest product. Everything here is a default that a configuration
// overrides.

#include "core/link/rate.h"
#include "core/topo/graph.h"

namespace softib::net {

/// Returns the latency of a switch from first bit in to first bit out, without load and without its
/// cables.
constexpr link::TimePs switch_latency(topo::Generation generation) {
    return topo::row_of(generation).switch_ps;
}

/// The latency of an HCA, one way, from its memory bus to the cable or back. Product briefs of
/// ConnectX-5 and later give 600 ns from host to host without a switch; half of it is one side.
inline constexpr link::TimePs kAdapterLatency = 300'000;

}  // namespace softib::net
