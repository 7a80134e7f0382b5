// SPDX-License-Identifier: BSD-2-Clause
// Keys of how a fabric runs: its memory, data path, link layer, addresses and trunks.
#include <fmt/format.h>

#include <charconv>

#include "core/topo/trunk.h"
#include "spec/key_rule.h"

namespace softib::spec {

namespace {

constexpr std::uint64_t kArenaBytesMin = std::uint64_t{2} << 30;
constexpr std::uint64_t kArenaBytesMax = std::uint64_t{16} << 40;

Result set_arena(Description& description, const Value& value) {
    std::expected<std::uint64_t, std::string> bytes = std::unexpected(std::string());
    if (const auto* text = std::get_if<std::string>(&value)) {
        bytes = parse_bytes(*text);
    } else if (const auto* number = std::get_if<std::int64_t>(&value); number && *number >= 0) {
        bytes = static_cast<std::uint64_t>(*number);
    }
    if (!bytes || *bytes < kArenaBytesMin || *bytes > kArenaBytesMax) {
        return refuse("a size from 2GiB to 16TiB", value);
    }
    description.arena_bytes = *bytes;
    return {};
}

Result set_data_path(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || (*text != "direct" && *text != "packet")) {
        return refuse("direct or packet", value);
    }
    description.data_path = *text == "packet" ? DataPath::kPacket : DataPath::kDirect;
    return {};
}

Result set_telemetry(Description& description, const Value& value) {
    const auto* on = std::get_if<bool>(&value);
    if (on == nullptr) {
        return refuse("true or false", value);
    }
    description.telemetry = *on;
    return {};
}

Result set_link_layer(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || (*text != "infiniband" && *text != "ethernet")) {
        return refuse("infiniband or ethernet", value);
    }
    description.link_layer =
        *text == "ethernet" ? hca::LinkLayer::kEthernet : hca::LinkLayer::kInfiniBand;
    return {};
}

Result set_trunk(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || text->empty()) {
        return refuse("a text", value);
    }
    if (const auto plans = parse_trunks(*text); !plans) {
        return std::unexpected(fmt::format("is wrong: {}", plans.error()));
    }
    description.trunk = *text;
    return {};
}

Result set_link_scale(Description& description, const Value& value) {
    constexpr double kLeast = 1e-6;
    const auto* text = std::get_if<std::string>(&value);
    double scale = 0;
    const char* const end = text != nullptr ? text->data() + text->size() : nullptr;
    if (text == nullptr ||
        std::from_chars(text->data(), end, scale) != std::from_chars_result{end, std::errc{}} ||
        !(scale >= kLeast && scale <= 1.0)) {
        return refuse("a part of 1, as \"0.01\"", value);
    }
    description.link_scale = scale;
    return {};
}

/// Stores the addresses unchecked: hosts are known only when the fabric is made, so the daemon
/// checks them.
Result set_addresses(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
        return refuse("a list like \"10.0.0.1=h0, 10.0.0.2=h1\"", value);
    }
    description.addresses = *text;
    return {};
}

constexpr Live kOfInfiniBand{
    .acts = [](const Description& d) { return d.link_layer == hca::LinkLayer::kInfiniBand; },
    .needs = "link_layer = \"infiniband\"; on Ethernet every byte travels in packets"};
constexpr Live kOfEthernet{
    .acts = [](const Description& d) { return d.link_layer == hca::LinkLayer::kEthernet; },
    .needs = "link_layer = \"ethernet\""};
constexpr Live kOfPackets{.acts =
                              [](const Description& d) {
                                  return kOfInfiniBand.acts(d) && d.data_path == DataPath::kPacket;
                              },
                          .needs = "data_path = \"packet\" on InfiniBand"};
constexpr Live kOfTrunks{.acts = [](const Description& d) { return !d.trunk.empty(); },
                         .needs = "trunk"};

}  // namespace

std::span<const KeyRule> runtime_keys() {
    static constexpr KeyRule kRules[] = {
        {{"arena", "SIZE",
          "address space for programs' memory, used only where touched (default: as much as the "
          "machine has, at least 32GiB)"},
         Form::kText,
         set_arena,
         About::kOther},
        {{"data_path", "WAY", "direct: programs copy; packet: every byte travels in packets",
          "direct"},
         Form::kText,
         set_data_path,
         About::kOther,
         false,
         kOfInfiniBand},
        {{"link_layer", "WHAT", "infiniband, or ethernet: RoCEv2 over UDP, in packets",
          "infiniband"},
         Form::kText,
         set_link_layer,
         About::kOther},
        {{"roce_address_base", "IP", "ethernet: where the hosts' addresses begin", "127.55.0.0"},
         Form::kText,
         set_text<&EthernetPlan::base>,
         About::kOther,
         false,
         kOfEthernet},
        {{"roce_addresses", "LIST", "ethernet: addresses of network interfaces, as 10.0.0.1=h0"},
         Form::kText,
         set_text<&EthernetPlan::addresses>,
         About::kOther,
         false,
         kOfEthernet},
        {{"trunk", "WHERE", "link to another fabric, over UDP: SWITCH=IP:PORT,PEER-IP:PORT"},
         Form::kText,
         set_trunk,
         About::kOther},
        {{"trunk_key", "FILE", "the key that both ends of a trunk have: 32 hexadecimal digits"},
         Form::kText,
         set_file<&Description::trunk_key>,
         About::kOther,
         false,
         kOfTrunks},
        {{"site", "N", "with trunks: another number for each fabric, so that GUIDs differ", "0"},
         Form::kNumber,
         set_number<&Description::site, 0, topo::kSitesMax - 1>,
         About::kOther},
        {{"link_scale", "PART", "with packets: speed of all links, as a part of their own", "1"},
         Form::kText,
         set_link_scale,
         About::kOther,
         false,
         kOfPackets},
        {{"telemetry", "", "keep a history of all counters and events: see softib telemetry"},
         Form::kSwitch,
         set_telemetry,
         About::kOther},
        {{"addresses", "LIST", "more addresses for rdma_cm: IP=HOST or IP=HOST/DEVICE, by commas"},
         Form::kText,
         set_addresses,
         About::kOther},
    };
    return kRules;
}

}  // namespace softib::spec
