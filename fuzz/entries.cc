// SPDX-License-Identifier: BSD-2-Clause
#include "entries.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/wire/cc.h"
#include "core/wire/formats.h"
#include "core/wire/smp.h"
#include "management_entries.h"

namespace softib::fuzz {

namespace {

using namespace softib::wire;
using Input = std::span<const std::uint8_t>;

/// Too short gives nothing; else the value survives emit and parse, the bytes too but for the
/// reserved bits, and it can be printed and compared.
template <Attribute T>
bool format_holds(Input input) {
    const std::optional<T> value = parse<T>(input);
    if (!value) {
        return input.size() < T::kBytes;
    }
    constexpr auto kMask = layout_mask<T>();
    std::vector<std::uint8_t> emitted(input.begin(), input.end());
    emit(*value, std::span(emitted));
    for (std::size_t i = 0; i < input.size(); ++i) {
        const std::uint8_t mask = i < T::kBytes ? kMask[i] : 0xFF;
        if (emitted[i] != (input[i] & mask)) {
            return false;
        }
    }
    return parse<T>(emitted) == value && !to_string(*value).empty() &&
           matches(*value, *value, ~std::uint64_t{0});
}

/// A view opens on 256 bytes and on nothing else, and writes back what it read.
bool views_hold(Input input) {
    std::vector<std::uint8_t> bytes(input.begin(), input.end());
    const auto mad = Mad<std::uint8_t>::checked(bytes);
    const auto smp = Smp<std::uint8_t>::checked(bytes);
    const auto sa = Sa<std::uint8_t>::checked(bytes);
    const auto cc = Cc<std::uint8_t>::checked(bytes);
    if (!mad || !smp || !sa || !cc) {
        return bytes.size() != kMadBytes && !mad && !smp && !sa && !cc;
    }
    const auto repr = MadRepr::parse(*Mad<const std::uint8_t>::checked(input));
    repr.emit(*mad);
    smp->set_direction(smp->direction());
    smp->set_status(smp->status());
    smp->set_mkey(smp->mkey());
    smp->set_dr_slid(smp->dr_slid());
    smp->set_dr_dlid(smp->dr_dlid());
    cc->set_cc_key(cc->cc_key());
    const auto rmpp = sa->rmpp();
    sa->set_rmpp(rmpp);
    return !to_string(repr).empty() && std::ranges::equal(bytes, input) && sa->rmpp() == rmpp;
}

bool multi_path_gids_hold(Input input) {
    const auto record = parse<MultiPathRecord>(input);
    if (!record) {
        return true;
    }
    const std::size_t count = std::size_t{record->sgid_count} + record->dgid_count;
    const auto gids = parse_multi_path_gids(*record, input);
    const bool enough = input.size() >= MultiPathRecord::kBytes + 16 * count;
    return gids ? enough && gids->size() == count : !enough;
}

constexpr Entry kEntries[] = {
    {"MadViews", views_hold},
    {"MultiPathGids", multi_path_gids_hold},
    {"RmppEndpoint", rmpp_endpoint_holds},
    {"SubnetAdmin", subnet_admin_holds},
    {"NodeAgents", node_agents_hold},
    {"Netlist", netlist_holds},
#define SOFTIB_WIRE_FORMAT(name) {#name, format_holds<name>},
#include "core/wire/formats.inc"
#undef SOFTIB_WIRE_FORMAT
};

}  // namespace

std::span<const Entry> entries() {
    return kEntries;
}

}  // namespace softib::fuzz
