// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/permutations.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/base/check.h"

namespace softib::routing {

namespace {

void note(Contention& contention, std::uint32_t flows) {
    ++contention.tried;
    contention.worst = std::max(contention.worst, flows);
    contention.mean += (flows - contention.mean) / contention.tried;
}

}  // namespace

Permutations::Permutations(const Graph& graph, const Tables& tables, const PortMap& ports,
                           std::span<const Lid> ranks)
    : lfts_(tables.lfts), ports_(ports), flows_(ports.size()) {
    for (const Lid lid : ranks) {
        const std::uint32_t target = graph.target_of(lid);
        SOFTIB_CHECK(target != kNone);
        hosts_.push_back({graph.targets()[target].at, lid});
    }
    if (!ranks.empty()) {
        return;
    }
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < graph.targets().size(); ++i) {
        if (!graph.targets()[i].is_switch()) {
            order.push_back(i);
        }
    }
    std::ranges::sort(order, {}, [&](std::uint32_t i) {
        return std::tuple(graph.targets()[i].order, graph.targets()[i].lid);
    });
    for (const std::uint32_t i : order) {
        hosts_.push_back({graph.targets()[i].at, graph.targets()[i].lid});
    }
}

void Permutations::clear() {
    std::ranges::fill(flows_, 0U);
    busiest_ = 0;
}

void Permutations::send(const Host& from, const Host& to) {
    std::uint32_t at = from.at;
    // The verifier reports routes that loop; here the walk must only end.
    for (std::size_t hops = 0; at != to.at && hops < flows_.size(); ++hops) {
        const std::uint8_t port = lfts_.at(at, to.lid);
        const std::uint32_t next = ports_.peer(at, port);
        if (next == kNone) {
            return;
        }
        busiest_ = std::max(busiest_, ++flows_[ports_.index(at, port)]);
        at = next;
    }
}

std::uint32_t Permutations::shift(std::uint32_t shift) {
    clear();
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        const std::size_t to = i + shift;
        send(hosts_[i], hosts_[to < hosts_.size() ? to : to - hosts_.size()]);
    }
    return busiest_;
}

std::uint32_t Permutations::random(Prng& prng) {
    clear();
    std::vector<std::uint32_t> to(hosts_.size());
    std::iota(to.begin(), to.end(), 0U);
    for (std::size_t i = to.size(); i > 1; --i) {
        std::swap(to[i - 1], to[prng.below(i)]);
    }
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        send(hosts_[i], hosts_[to[i]]);
    }
    return busiest_;
}

Contention Permutations::shifts(const VerifyOptions& options) {
    Contention result;
    if (hosts_.size() < 2) {
        return result;
    }
    const auto all = host_count() - 1;
    if (all <= options.shifts_max) {
        for (std::uint32_t by = 1; by <= all; ++by) {
            note(result, shift(by));
        }
        return result;
    }
    Prng prng(options.seed);
    for (std::uint32_t i = 0; i < options.shift_samples; ++i) {
        note(result, shift(static_cast<std::uint32_t>(1 + prng.below(all))));
    }
    return result;
}

Contention Permutations::randoms(const VerifyOptions& options) {
    Contention result;
    Prng prng(options.seed);
    for (std::uint32_t i = 0; i < options.random_samples && hosts_.size() > 1; ++i) {
        note(result, random(prng));
    }
    return result;
}

}  // namespace softib::routing
