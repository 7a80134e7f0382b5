// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What passes over layers consist of, in order: computing, and what ranks exchange within it.
// layer_cost.h has the same as sums; exports of a step (plan/trace) need the order.

#include <cstdint>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/train/communication.h"
#include "plan/train/mapping.h"
#include "plan/train/model.h"

namespace softib::plan {

/// The ranks that take part in an exchange: a group of Groups.
enum class Peers : std::uint8_t { kTensor, kContext, kExpert, kData, kExpertData, kExpertTensor };
const char* to_string(Peers peers);

struct PassExchange {
    Peers peers = Peers::kTensor;
    Exchange exchange = Exchange::kAllReduce;
    double bytes = 0;      ///< Bytes as Exchange counts them.
    double seconds = 0;    ///< Time of the exchange alone.
    double latency_s = 0;  ///< The part of `seconds` that does not depend on the bytes.
    double hidden_s = 0;   ///< Seconds of computing that go on beside the exchange.
};

/// Computing that exchanges divide: attention, or an MLP.
struct PassBlock {
    double compute_s = 0;
    std::vector<PassExchange> exchanges = {};  ///< One after the other, computing between them.
    std::vector<PassExchange> beside = {};     ///< One after the other, beside all of the block.
};

/// A pass over one layer, over the embedding or over the logits.
struct LayerPass {
    std::vector<PassBlock> blocks = {};
    std::vector<PassExchange> beside = {};  ///< One after the other, beside all blocks.
};
struct LayerPasses {
    LayerPass forward = {};
    LayerPass backward = {};  ///< The backward pass, after what is computed again.
};

/// The passes of a virtual stage over one micro-batch, layer by layer in the order of time.
struct StagePasses {
    std::vector<LayerPass> forward = {};
    std::vector<LayerPass> backward = {};
};

/// Returns the passes of each virtual stage, with the same seconds that time_step() adds up.
std::vector<StagePasses> passes_of(const Model& model, const Cluster& cluster,
                                   const Mapping& mapping, const Communication& communication);

/// Returns the passes with those of up to `layers` neighbouring layers merged into one where their
/// exchanges are alike. The bytes stay the same in sum. The latencies of exchanges that were merged
/// away become computing, as far as nothing hid them, so that passes take as long as before.
std::vector<LayerPass> put_together(std::vector<LayerPass> passes, std::uint32_t layers);

}  // namespace softib::plan
