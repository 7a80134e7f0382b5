// SPDX-License-Identifier: BSD-2-Clause
// Assigns LIDs to ports. A port keeps the LID that it had in this run or an earlier one; a port
// with a LID from another manager keeps that one if it is free. New ports get the lowest free LIDs,
// HCAs before switches, in the order of GUIDs.
#include <algorithm>

#include "core/sm/manager.h"

namespace softib::sm {

namespace {

class LidSpace {
  public:
    void take(std::size_t base, std::uint8_t lmc) {
        const std::size_t end = std::min(base + (std::size_t{1} << lmc), used_.size());
        for (std::size_t i = base; i < end; ++i) {
            used_[i] = true;
        }
    }
    bool is_free(std::size_t base, std::uint8_t lmc) const {
        const std::size_t count = std::size_t{1} << lmc;
        if (base == 0 || base % count != 0 || base + count > used_.size()) {
            return false;
        }
        for (std::size_t i = 0; i < count; ++i) {
            if (used_[base + i]) {
                return false;
            }
        }
        return true;
    }
    /// Returns the lowest free range from `from` on; std::nullopt if there is no room.
    std::optional<std::size_t> find(std::size_t from, std::uint8_t lmc) const {
        const std::size_t step = std::size_t{1} << lmc;
        for (from = (from + step - 1) / step * step; from + step <= used_.size(); from += step) {
            if (is_free(from, lmc)) {
                return from;
            }
        }
        return std::nullopt;
    }

  private:
    std::vector<bool> used_ = std::vector<bool>(kLidMulticastMin.value);
};

/// Reserves the LIDs of ports that are not in `present`, and forgets those that another port has by
/// now. All 2^LMC LIDs are reserved if they can belong to one HCA port, since only the return of
/// the port shows whether it is one or a switch.
void keep_for_absent(std::map<std::uint64_t, Lid>& lids,
                     const std::map<std::uint64_t, std::uint8_t>& present, std::uint8_t lmc,
                     LidSpace& space) {
    std::vector<Lid> absent;
    std::erase_if(lids, [&](const auto& entry) {
        const auto& [guid, lid] = entry;
        if (present.contains(guid)) {
            return false;
        }
        if (!space.is_free(lid.value, 0)) {
            return true;
        }
        space.take(lid.value, 0);
        absent.push_back(lid);
        return false;
    });
    for (const Lid lid : absent) {
        const bool aligned = lid.value % (1U << lmc) == 0;
        space.take(lid.value, aligned ? lmc : std::uint8_t{0});
    }
}

}  // namespace

/// Gives a LID to every port that has none in lid_lmcs_. The LIDs of an earlier run are used only
/// where they fit, since that run may have had another LMC, and a user may have edited the file.
void Manager::assign_lids() {
    std::vector<EndPort> fresh;
    subnet_.for_each_end_port([&](EndPort end) {
        if (!lid_lmcs_.contains(subnet_.port(end).guid.value)) {
            fresh.push_back(end);
        }
    });
    if (fresh.empty()) {
        return;
    }
    std::ranges::sort(fresh, {}, [&](EndPort end) {
        return std::pair(subnet_.node(end.node).is_switch(), subnet_.port(end).guid.value);
    });
    LidSpace space;
    for (const auto& [guid, lmc] : lid_lmcs_) {
        space.take(config_.lids.at(guid).value, lmc);
    }
    const auto try_lid = [&](EndPort end, Lid lid) {
        const std::uint8_t lmc = subnet_.node(end.node).is_switch() ? std::uint8_t{0} : config_.lmc;
        const std::uint64_t guid = subnet_.port(end).guid.value;
        if (!space.is_free(lid.value, lmc)) {
            return false;
        }
        space.take(lid.value, lmc);
        config_.lids[guid] = lid;
        lid_lmcs_[guid] = lmc;
        return true;
    };
    std::erase_if(fresh, [&](EndPort end) {
        const auto remembered = config_.lids.find(subnet_.port(end).guid.value);
        if (remembered == config_.lids.end()) {
            return false;
        }
        const Lid lid = remembered->second;
        config_.lids.erase(remembered);
        return try_lid(end, lid);
    });
    keep_for_absent(config_.lids, lid_lmcs_, config_.lmc, space);
    std::erase_if(fresh, [&](EndPort end) { return try_lid(end, subnet_.port(end).info.lid); });
    std::size_t next = 1;
    for (const EndPort end : fresh) {
        const auto found =
            space.find(next, subnet_.node(end.node).is_switch() ? std::uint8_t{0} : config_.lmc);
        if (!found) {
            event({.kind = ManagerEvent::kRoutingFailed,
                   .text = "the subnet has more ports than LIDs: lower the LMC or split it"});
            return;
        }
        next = *found;
        try_lid(end, Lid{static_cast<std::uint16_t>(next)});
    }
}

std::vector<LidRange> Manager::lid_ranges() const {
    std::vector<LidRange> ranges;
    for (const auto& [guid, first] : config_.lids) {
        const auto lmc = lid_lmcs_.find(guid);
        const std::uint32_t count = lmc == lid_lmcs_.end() ? 1U : 1U << lmc->second;
        ranges.push_back(
            {Guid{guid}, first, Lid{static_cast<std::uint16_t>(first.value + count - 1)}});
    }
    return ranges;
}

}  // namespace softib::sm
