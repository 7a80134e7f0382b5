// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/guids.h"

#include "core/wire/sa/guid_info_record.h"

namespace softib::sm {

namespace {

using wire::GuidInfoRecord;
namespace status = wire::sa_status;

namespace gir {
constexpr std::uint64_t kLid = wire::component(&GuidInfoRecord::lid);
constexpr std::uint64_t kBlock = wire::component(&GuidInfoRecord::block_num);
}  // namespace gir

constexpr int kFirstGuid = 4;  // The component mask bit of GUID 0.
constexpr std::size_t kBlockGuids = 8;
/// The prefix of GUIDs that the SA chooses. It is locally administered, so that no manufacturer has
/// it.
constexpr std::uint64_t kAssignedPrefix = 0x0200'5F00'0000'0000;

}  // namespace

std::optional<Guid> SaGuids::find(Guid alias) const {
    const auto found = by_alias_.find(alias.value);
    return found == by_alias_.end() ? std::nullopt : std::optional(found->second);
}

Guid SaGuids::entry(const Subnet& subnet, EndPort end, std::size_t index) const {
    const Guid port = subnet.port(end).guid;
    if (index == 0) {
        return port;
    }
    const auto found = aliases_.find(port);
    return found != aliases_.end() && index < found->second.size() ? found->second[index] : Guid{};
}

void SaGuids::answer(const SaQuery& query, EndPort end, std::uint8_t block, SaTable& table) const {
    GuidInfoRecord record{.lid = base_lid(query.subnet, end), .block_num = block};
    for (std::size_t i = 0; i < kBlockGuids; ++i) {
        record.guid_info.guid[i] = entry(query.subnet, end, block * kBlockGuids + i);
    }
    table.add(record);
}

SaStatus SaGuids::handle_get(const SaQuery& query, SaTable& table) const {
    const auto asked = query.record<GuidInfoRecord>();
    for_each_asked(query, query.has(gir::kLid), asked.lid, [&](EndPort end) {
        if (table.full() || !may_see(query, end)) {
            return;
        }
        const std::size_t entries = std::max<std::size_t>(query.subnet.port(end).info.guid_cap, 1);
        for (std::size_t block = 0; block * kBlockGuids < entries; ++block) {
            if (query.has(gir::kBlock) && asked.block_num != block) {
                continue;
            }
            bool matches = true;
            for (std::size_t i = 0; i < kBlockGuids; ++i) {
                matches = matches && (!query.has(std::uint64_t{1} << (kFirstGuid + i)) ||
                                      asked.guid_info.guid[i] ==
                                          entry(query.subnet, end, block * kBlockGuids + i));
            }
            if (matches) {
                answer(query, end, static_cast<std::uint8_t>(block), table);
            }
        }
    });
    return wire::mad_status::kOk;
}

std::expected<SaGuids::Target, SaStatus> SaGuids::target_of(const SaQuery& query) const {
    if (!query.has(gir::kLid | gir::kBlock)) {
        return std::unexpected(status::kInsufficientComponents);
    }
    const auto asked = query.record<GuidInfoRecord>();
    const std::optional<EndPort> end = query.subnet.by_lid(asked.lid);
    if (!end) {
        return std::unexpected(status::kNoRecords);
    }
    // Only the port itself and trusted requesters may change its aliases.
    if (!query.requester.trusted && !same(*end, query.requester.port)) {
        return std::unexpected(status::kRequestDenied);
    }
    const std::size_t entries = query.subnet.port(*end).info.guid_cap;
    if (asked.block_num * kBlockGuids >= entries) {
        return std::unexpected(status::kNoRecords);
    }
    const auto mask = static_cast<std::uint8_t>(query.components >> kFirstGuid);
    if (asked.block_num == 0 && (mask & 1) != 0) {
        return std::unexpected(status::kRequestInvalid);
    }
    return Target{*end, asked.block_num, entries, mask};
}

Guid SaGuids::assign() {
    Guid guid;
    do {
        guid = Guid{kAssignedPrefix | ++assigned_};
    } while (by_alias_.contains(guid.value));
    return guid;
}

/// Gives a port the aliases that it asks for. For an entry of zero the SA chooses a GUID. A GUID
/// that another port has is not given; the answer shows the GUIDs that the port has afterwards.
SaStatus SaGuids::handle_set(const SaQuery& query, SaTable& table) {
    const auto target = target_of(query);
    if (!target) {
        return target.error();
    }
    const auto asked = query.record<GuidInfoRecord>();
    const Guid port = query.subnet.port(target->end).guid;
    Aliases& aliases = aliases_[port];
    aliases.resize(std::max(aliases.size(), target->entries));
    bool changed = false;
    for (std::size_t i = 0; i < kBlockGuids; ++i) {
        const std::size_t index = target->block * kBlockGuids + i;
        if ((target->mask >> i & 1) == 0 || index >= target->entries) {
            continue;
        }
        const Guid wanted = asked.guid_info.guid[i];
        if ((wanted == Guid{} && aliases[index] != Guid{}) ||
            (wanted != Guid{} &&
             (by_alias_.contains(wanted.value) || query.subnet.by_port_guid(wanted).has_value()))) {
            continue;
        }
        by_alias_.erase(aliases[index].value);
        aliases[index] = wanted == Guid{} ? assign() : wanted;
        by_alias_.emplace(aliases[index].value, port);
        changed = true;
    }
    if (changed) {
        changes_.push_back({port, target->block});
    }
    answer(query, target->end, target->block, table);
    return wire::mad_status::kOk;
}

SaStatus SaGuids::remove(const SaQuery& query, const Target& target, SaTable& table) {
    const Guid port = query.subnet.port(target.end).guid;
    const auto found = aliases_.find(port);
    bool changed = false;
    for (std::size_t i = 0; found != aliases_.end() && i < kBlockGuids; ++i) {
        const std::size_t index = target.block * kBlockGuids + i;
        if ((target.mask >> i & 1) == 0 || index >= found->second.size() ||
            found->second[index] == Guid{}) {
            continue;
        }
        by_alias_.erase(found->second[index].value);
        found->second[index] = Guid{};
        changed = true;
    }
    if (changed) {
        changes_.push_back({port, target.block});
    }
    answer(query, target.end, target.block, table);
    return wire::mad_status::kOk;
}

void SaGuids::restore(Guid port, Aliases aliases) {
    for (std::size_t i = 1; i < aliases.size(); ++i) {
        if (aliases[i] != Guid{} && !by_alias_.emplace(aliases[i].value, port).second) {
            aliases[i] = Guid{};
        }
    }
    aliases_[port] = std::move(aliases);
}

std::optional<SaGuids::Change> SaGuids::poll_change() {
    if (changes_.empty()) {
        return std::nullopt;
    }
    const Change change = changes_.front();
    changes_.pop_front();
    return change;
}

}  // namespace softib::sm
