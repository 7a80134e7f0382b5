// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Alias GUIDs: further GUIDs of a port, which programs request and return by GUIDInfoRecord (IBA
// vol. 1, 15.2.5.18). The first GUID of a port is its own and cannot be changed. The manager writes
// changes into the port: see poll_change().

#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/sm/sa/query.h"

namespace softib::sm {

class SaGuids {
  public:
    /// The alias GUIDs of one port; entry 0 is unused.
    using Aliases = std::vector<Guid>;

    /// Returns the port GUID of the port that has this alias; std::nullopt if none has it.
    std::optional<Guid> find(Guid alias) const;
    const std::map<Guid, Aliases>& all() const { return aliases_; }

    SaStatus handle_get(const SaQuery& query, SaTable& table) const;
    SaStatus handle_set(const SaQuery& query, SaTable& table);
    /// Deletes aliases. Denies the request if one of them is a member of a multicast group, as
    /// in_use(alias) says.
    template <typename InUse>
    SaStatus handle_delete(const SaQuery& query, SaTable& table, const InUse& in_use);

    /// Sets the aliases of a port, as a snapshot has them.
    void restore(Guid port, Aliases aliases);

    struct Change {
        Guid port{};
        std::uint8_t block = 0;
    };
    /// Returns the next block of GUIDs that has changed; std::nullopt if there is none.
    std::optional<Change> poll_change();

  private:
    struct Target {
        EndPort end;
        std::uint8_t block = 0;
        std::size_t entries = 0;  ///< Size of the port's whole table.
        std::uint8_t mask = 0;    ///< Entries of the block that the request names.
    };
    std::expected<Target, SaStatus> target_of(const SaQuery& query) const;
    SaStatus remove(const SaQuery& query, const Target& target, SaTable& table);
    Guid entry(const Subnet& subnet, EndPort end, std::size_t index) const;
    Guid assign();
    void answer(const SaQuery& query, EndPort end, std::uint8_t block, SaTable& table) const;

    std::map<Guid, Aliases> aliases_;
    std::unordered_map<std::uint64_t, Guid> by_alias_;
    std::uint32_t assigned_ = 0;
    std::deque<Change> changes_;
};

template <typename InUse>
SaStatus SaGuids::handle_delete(const SaQuery& query, SaTable& table, const InUse& in_use) {
    const auto target = target_of(query);
    if (!target) {
        return target.error();
    }
    for (std::size_t i = 0; i < 8; ++i) {
        const Guid alias = entry(query.subnet, target->end, target->block * std::size_t{8} + i);
        if ((target->mask >> i & 1) != 0 && alias != Guid{} && in_use(alias)) {
            return wire::sa_status::kRequestDenied;
        }
    }
    return remove(query, *target, table);
}

}  // namespace softib::sm
