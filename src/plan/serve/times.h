// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How long GPUs take to serve: the forward pass of new tokens by the same kernels as a training
// step's, and for each token of an answer the weights and the KV cache read once.

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <string>

#include "plan/cluster/cluster.h"
#include "plan/train/communication.h"
#include "plan/train/mapping.h"
#include "plan/train/model.h"

namespace softib::plan {

/// GPUs that compute together.
struct ServeMapping {
    std::uint32_t tp = 8;  ///< GPUs of an instance, of one node; experts are divided among them.
    Recipe recipe = Recipe::kBf16;
    double kv_bytes_of_number = 2;
};

class ServeTimes {
  public:
    /// Makes the times of instances of a cluster. The error says what does not fit, and what would.
    static std::expected<std::unique_ptr<ServeTimes>, std::string> make(
        const Model& model, const Cluster& cluster, const ServeMapping& mapping);

    /// Returns the seconds of the prefill of `tokens` behind `known` whose KV cache is there.
    double prefill(double tokens, double known) const;
    /// Returns the seconds of one token for each of `batch` sequences with `context` tokens in all.
    double step(std::uint32_t batch, double context) const;
    /// Returns the bytes of a GPU's memory that weights take.
    double weight_bytes() const;
    /// Returns the tokens whose KV caches an instance has room for.
    double kv_tokens_most() const;

  private:
    ServeTimes(const Model& model, const Cluster& cluster, const ServeMapping& mapping);
    Mapping mapping_of(std::uint32_t sequences, std::uint32_t tokens) const;
    /// Returns the seconds of all layers' forward pass.
    double layers_s(const Mapping& mapping) const;
    double logits_s(const Mapping& mapping) const;

    Model model_;
    Cluster cluster_;
    ServeMapping serve_;
    LinkCommunication communication_;
    mutable std::map<std::uint32_t, double> steps_ = {};  ///< Seconds without KV cache, by batch.
};

}  // namespace softib::plan
