// SPDX-License-Identifier: BSD-2-Clause
#include "view/programs.h"

#include <atomic>
#include <cstring>
#include <utility>

namespace softib::view {

namespace {

constexpr std::array<std::pair<shm::Tier, const char*>, kTiers> kTierNames{{
    {shm::Tier::kShared, "shared"},
    {shm::Tier::kMapped, "mapped"},
    {shm::Tier::kCopy, "copy"},
    {shm::Tier::kHelper, "helper"},
    {shm::Tier::kGpu, "gpu"},
}};

/// Counts the entries in use in the batches that belong to a process.
template <typename Entry, typename InUse>
std::uint32_t count_entries(const std::atomic<shm::Owner>* batches, const Entry* entries,
                            std::uint32_t entries_max, shm::Owner owner, InUse in_use) {
    std::uint32_t count = 0;
    for (std::uint32_t b = 0; b < entries_max / shm::kBatchEntries; ++b) {
        if (batches[b].load(std::memory_order_relaxed) != owner) {
            continue;
        }
        for (std::uint32_t i = 0; i < shm::kBatchEntries; ++i) {
            if (in_use(entries[b * shm::kBatchEntries + i])) {
                ++count;
            }
        }
    }
    return count;
}

}  // namespace

std::vector<Program> programs(const shm::Arena& arena) {
    std::vector<Program> found;
    for (std::uint32_t i = 0; i < shm::procs_used(arena); ++i) {
        const shm::ProcSlot& slot = arena.procs[i];
        const shm::ProcState state = slot.state.load(std::memory_order_acquire);
        if (state != shm::ProcState::kLive && state != shm::ProcState::kAttaching) {
            continue;
        }
        Program program;
        program.owner = static_cast<shm::Owner>(i + 1);
        program.pid = slot.pid;
        program.command.assign(slot.command, strnlen(slot.command, sizeof slot.command));
        if (slot.host_first < arena.header->hosts) {
            program.host = arena.hosts[slot.host_first].name;
        }
        found.push_back(std::move(program));
    }
    return found;
}

Holdings holdings(const shm::Arena& arena, shm::Owner owner) {
    Holdings held;
    held.qps = count_entries(arena.qp_batches, arena.qps, shm::kQpsMax, owner,
                             [=](const shm::QpShared& qp) { return qp.owner == owner; });
    held.cqs = count_entries(arena.cq_batches, arena.cqs, shm::kCqsMax, owner,
                             [=](const shm::CqShared& cq) { return cq.owner == owner; });
    held.srqs = count_entries(
        arena.srq_batches, arena.srqs, shm::kSrqsMax, owner,
        [=](const shm::SrqShared& srq) { return srq.live.load(std::memory_order_relaxed) != 0; });
    held.mrs = count_entries(
        arena.mr_batches, arena.mrs, shm::kMrsMax, owner,
        [=](const shm::MrShared& mr) { return mr.key.load(std::memory_order_relaxed) != 0; });
    const shm::ProcSlot& slot = arena.proc(owner);
    for (std::size_t i = 0; i < kTiers; ++i) {
        const auto tier = static_cast<std::size_t>(kTierNames[i].first);
        held.memory[i] = {.name = kTierNames[i].second,
                          .regions = slot.regions_by_tier[tier].load(),
                          .bytes = slot.bytes_by_tier[tier].load()};
    }
    return held;
}

}  // namespace softib::view
