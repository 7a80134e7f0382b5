// SPDX-License-Identifier: BSD-2-Clause
#include "server/partition_book.h"

#include <fmt/format.h>

#include <algorithm>

namespace softib::server {

namespace {

constexpr std::string_view kMark = "# What follows was asked for over HTTP.\n";
/// The partitions of a fabric without a file: all ports are full members of the default partition.
constexpr std::string_view kWithoutFile = "Default=0x7fff, ipoib : ALL=full ;\n";

std::string refusal(const sm::PartitionError& error) {
    return fmt::format("partitions.conf:{}: {}", error.line, error.message);
}

std::string trait(const char* name, std::optional<std::uint8_t> code) {
    return code ? fmt::format(", {}={}", name, *code) : std::string();
}

std::string name_of(std::uint16_t pkey, const BookedPartition& partition) {
    return partition.name.empty() ? fmt::format("pkey{:04x}", pkey) : partition.name;
}

std::string definition(std::uint16_t pkey, const BookedPartition& partition) {
    std::string members;
    for (const auto& [guid, full] : partition.members) {
        members += fmt::format("{} {:#018x}={}", members.empty() ? "" : ",", guid,
                               full ? "full" : "limited");
    }
    const std::string traits = partition.ipoib
                                   ? ", ipoib" + trait("mtu", partition.mtu) +
                                         trait("rate", partition.rate) + trait("sl", partition.sl)
                                   : std::string();
    return fmt::format("{}={:#06x}{}{} :{} ;\n", name_of(pkey, partition), pkey, traits,
                       partition.index0 ? ", indx0" : "", members);
}

}  // namespace

std::expected<PartitionBook, std::string> PartitionBook::parse(std::string_view text) {
    PartitionBook book;
    const std::size_t mark = text.find(kMark);
    book.operators_ = text.empty() ? std::string(kWithoutFile) : std::string(text.substr(0, mark));
    auto all = sm::parse_partitions(text.empty() ? kWithoutFile : text);
    auto operators = sm::parse_partitions(book.operators_);
    if (!all || !operators) {
        return std::unexpected(refusal(all ? operators.error() : all.error()));
    }
    book.all_ = std::move(*all);
    book.operators_rules_ = std::move(*operators);
    if (mark != std::string_view::npos) {
        if (auto taken = book.take_booked(text.substr(mark)); !taken) {
            return std::unexpected(taken.error());
        }
    }
    return book;
}

std::expected<void, std::string> PartitionBook::take_booked(std::string_view text) {
    auto asked = sm::parse_partitions(text);
    if (!asked) {
        return std::unexpected(refusal(asked.error()));
    }
    booked_.clear();
    for (const sm::Partition& partition : *asked) {
        BookedPartition& booked = booked_[partition.pkey.value];
        booked.name = partition.name == name_of(partition.pkey.value, {}) ? "" : partition.name;
        booked.mtu = partition.broadcast.mtu;
        booked.rate = partition.broadcast.rate;
        booked.sl = partition.broadcast.sl;
        booked.ipoib = partition.ipoib;
        booked.index0 = partition.at_index0;
        for (const sm::PartitionMember& member : partition.members) {
            booked.members[member.guid.value] = member.membership == sm::Membership::kFull;
        }
    }
    return {};
}

std::string PartitionBook::text() const {
    return booked_.empty() ? operators_ : operators_ + std::string(kMark) + booked_text();
}

std::string PartitionBook::booked_text() const {
    std::string out;
    for (const auto& [pkey, partition] : booked_) {
        out += definition(pkey, partition);
    }
    return out;
}

const sm::Partition* PartitionBook::operators(PKey pkey) const {
    const auto found = std::ranges::find(operators_rules_, pkey, &sm::Partition::pkey);
    return found == operators_rules_.end() ? nullptr : &*found;
}

bool PartitionBook::is_operators(PKey pkey, Guid port) const {
    const auto keys = sm::keys_of(operators_rules_, {.guid = port});
    return std::ranges::any_of(keys, [&](PKey key) { return same_partition(key, pkey); });
}

}  // namespace softib::server
