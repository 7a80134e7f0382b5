// SPDX-License-Identifier: BSD-2-Clause
#include "answer/networks.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

namespace softib::answer {

namespace {

/// What is kept at most: networks, GPUs of their clusters, and sets of groups played on one.
constexpr std::size_t kNetworksMost = 32;
constexpr std::uint64_t kGpusMost = 1U << 16;
constexpr std::size_t kPlayedMost = 1U << 12;

}  // namespace

struct Networks::Shelf {
    struct Kept {
        plan::Cluster cluster;
        std::uint32_t gpus;
        plan::PlacementOptions options;
        std::unique_ptr<plan::FabricCommunication> network;
    };
    std::mutex mutex = {};
    std::vector<Kept> all = {};  ///< The last one was used last.

    /// Takes a network off the shelf; nullptr if there is none like that.
    std::unique_ptr<plan::FabricCommunication> find(const plan::Cluster& cluster,
                                                    std::uint32_t gpus,
                                                    const plan::PlacementOptions& options) {
        const std::lock_guard lock(mutex);
        const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Kept& each) {
            return each.gpus == gpus && each.options == options && each.cluster == cluster;
        });
        if (found == all.rend()) {
            return nullptr;
        }
        auto network = std::move(found->network);
        all.erase(std::prev(found.base()));
        return network;
    }
    /// Keeps a network, and forgets the oldest ones if there are too many.
    void keep(Kept one) {
        std::vector<Kept> forgotten;  // Their memory is given back without the lock.
        const std::lock_guard lock(mutex);
        all.push_back(std::move(one));
        const auto gpus = [&] {
            return std::accumulate(
                all.begin(), all.end(), std::uint64_t{0},
                [](std::uint64_t sum, const Kept& each) { return sum + each.cluster.gpus(); });
        };
        while (all.size() > kNetworksMost || (all.size() > 1 && gpus() > kGpusMost)) {
            forgotten.push_back(std::move(all.front()));
            all.erase(all.begin());
        }
    }
};

Networks::Networks() : shelf_(std::make_shared<Shelf>()) {}

std::expected<std::shared_ptr<plan::Communication>, std::string> Networks::take(
    const plan::Cluster& cluster, std::uint32_t gpus, const plan::PlacementOptions& options) {
    auto network = shelf_->find(cluster, gpus, options);
    if (network == nullptr) {
        auto made = plan::FabricCommunication::make(cluster, gpus, options);
        if (!made) {
            return std::unexpected(made.error());
        }
        network = *std::move(made);
    }
    return std::shared_ptr<plan::Communication>(
        network.release(),
        [shelf = shelf_, cluster, gpus, options](plan::Communication* communication) {
            std::unique_ptr<plan::FabricCommunication> back(
                static_cast<plan::FabricCommunication*>(communication));
            if (!back->fault() && back->played() <= kPlayedMost) {
                shelf->keep({cluster, gpus, options, std::move(back)});
            }
        });
}

std::size_t Networks::kept() const {
    const std::lock_guard lock(shelf_->mutex);
    return shelf_->all.size();
}

}  // namespace softib::answer
