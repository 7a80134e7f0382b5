// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/passes.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "plan/train/layer_cost.h"
#include "plan/train/memory.h"

namespace softib::plan {

namespace {

bool alike(const std::vector<PassExchange>& one, const std::vector<PassExchange>& other) {
    return std::ranges::equal(one, other, [](const PassExchange& a, const PassExchange& b) {
        return a.peers == b.peers && a.exchange == b.exchange;
    });
}

bool alike(const LayerPass& one, const LayerPass& other) {
    return alike(one.beside, other.beside) &&
           std::ranges::equal(one.blocks, other.blocks, [](const PassBlock& a, const PassBlock& b) {
               return alike(a.exchanges, b.exchanges) && alike(a.beside, b.beside);
           });
}

/// Merges an exchange into another. Returns the latency that is saved, as far as nothing hid it.
double add(PassExchange& sum, const PassExchange& other) {
    const double exposed = std::max(0.0, other.seconds - other.hidden_s);
    const double saved = std::min(other.latency_s, exposed);
    sum.bytes += other.bytes;
    sum.seconds += other.seconds - other.latency_s;
    sum.hidden_s += other.hidden_s;
    return saved;
}

void add(LayerPass& sum, const LayerPass& other) {
    for (std::size_t i = 0; i < sum.beside.size(); ++i) {
        add(sum.beside[i], other.beside[i]);
    }
    for (std::size_t b = 0; b < sum.blocks.size(); ++b) {
        PassBlock& block = sum.blocks[b];
        const PassBlock& more = other.blocks[b];
        block.compute_s += more.compute_s;
        for (std::size_t i = 0; i < block.exchanges.size(); ++i) {
            block.compute_s += add(block.exchanges[i], more.exchanges[i]);
        }
        for (std::size_t i = 0; i < block.beside.size(); ++i) {
            add(block.beside[i], more.beside[i]);
        }
    }
}

}  // namespace

const char* to_string(Peers peers) {
    constexpr std::array kNames{"tensor", "context",     "expert",
                                "data",   "expert data", "expert tensor"};
    return kNames[static_cast<std::size_t>(peers)];
}

std::vector<StagePasses> passes_of(const Model& model, const Cluster& cluster,
                                   const Mapping& mapping, const Communication& communication) {
    const LayerCosts costs(model, mapping, cluster.gpu, communication);
    std::map<std::pair<bool, Keeping>, LayerPasses> layers;
    const auto layer_of = [&](std::uint32_t layer, std::uint32_t first_layer) -> LayerPasses& {
        const bool experts = model.has_experts(layer);
        const Keeping keeping = keeping_of(mapping, layer - first_layer);
        const auto [found, added] = layers.try_emplace({experts, keeping});
        if (added) {
            costs.layer(experts, keeping, &found->second);
        }
        return found->second;
    };
    LayerPasses embedding;
    LayerPasses logits;
    costs.embedding(&embedding);
    costs.logits(&logits);
    const auto first = first_layers(model, mapping);
    std::vector<StagePasses> stages(mapping.virtual_stages());
    for (std::uint32_t i = 0; i < stages.size(); ++i) {
        StagePasses& stage = stages[i];
        if (i == 0) {
            stage.forward.push_back(embedding.forward);
        }
        for (std::uint32_t layer = first[i]; layer < first[i + 1]; ++layer) {
            stage.forward.push_back(layer_of(layer, first[i]).forward);
        }
        if (i + 1 == stages.size()) {
            stage.forward.push_back(logits.forward);
            stage.backward.push_back(logits.backward);
        }
        for (std::uint32_t layer = first[i + 1]; layer-- > first[i];) {
            stage.backward.push_back(layer_of(layer, first[i]).backward);
        }
        if (i == 0) {
            stage.backward.push_back(embedding.backward);
        }
    }
    return stages;
}

std::vector<LayerPass> put_together(std::vector<LayerPass> passes, std::uint32_t layers) {
    std::vector<LayerPass> made;
    std::uint32_t together = 0;
    for (LayerPass& pass : passes) {
        if (together != 0 && together < layers && alike(made.back(), pass)) {
            add(made.back(), pass);
            ++together;
        } else {
            made.push_back(std::move(pass));
            together = 1;
        }
    }
    return made;
}

}  // namespace softib::plan
