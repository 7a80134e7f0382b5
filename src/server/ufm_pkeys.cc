// SPDX-License-Identifier: BSD-2-Clause
// Partitions of UFM's tree. When the answer to a change comes, all ports have the change.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <expected>

#include "core/sm/sa/codes.h"
#include "core/sm/sa/multicast.h"
#include "server/partition_book.h"
#include "server/ufm.h"

namespace softib::server {

namespace {

using telemetry::Inventory;
using telemetry::Node;

constexpr std::uint16_t kKeyMask = 0x7FFF;
constexpr std::uint64_t kSlMax = 15;
constexpr std::size_t kNameMax = 64;

std::optional<std::uint16_t> parse_pkey(std::string_view text) {
    std::uint16_t value = 0;
    text.remove_prefix(text.starts_with("0x") ? 2 : 0);
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    const bool good =
        error == std::errc{} && rest == text.data() + text.size() && (value & kKeyMask) != 0;
    return good ? std::optional(static_cast<std::uint16_t>(value & kKeyMask)) : std::nullopt;
}

/// Reads the GUID of an HCA's port; the GUID of an HCA stands for its port.
std::optional<Guid> parse_guid(const Inventory& inventory, std::string_view text) {
    std::uint64_t value = 0;
    text.remove_prefix(text.starts_with("0x") ? 2 : 0);
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc{} || rest != text.data() + text.size()) {
        return std::nullopt;
    }
    for (const Node& node : inventory.nodes) {
        if (node.kind != topo::NodeKind::kSwitch && node.port_count != 0 &&
            (node.guid.value == value || inventory.ports[node.port_first].guid.value == value)) {
            return inventory.ports[node.port_first].guid;
        }
    }
    return std::nullopt;
}

Response no_pkey(std::string_view text) {
    return Response::error(400, fmt::format("'{}' is no P_Key: write 0x1 to 0x7fff", text));
}

/// Returns a partition's multicast group as UFM tells its QoS: the MTU in KiB, the rate in Gb/s.
Json qos_json(const sm::Partition& partition) {
    const auto usual = sm::ipoib_broadcast_group(partition.pkey);
    const std::uint8_t mtu = partition.broadcast.mtu.value_or(usual.mtu);
    const std::uint8_t rate = partition.broadcast.rate.value_or(usual.rate);
    return {{"mtu_limit", (128U << mtu) / 1024},
            {"service_level", partition.broadcast.sl.value_or(usual.sl)},
            {"rate_limit", sm::rate_tenths(rate).value_or(0) / 10.0}};
}

/// The QoS that a request asks for, in the codes of SA records.
struct Qos {
    std::optional<std::uint8_t> mtu;
    std::optional<std::uint8_t> rate;
    std::optional<std::uint8_t> sl;
    bool any() const { return mtu || rate || sl; }
};
std::expected<Qos, Response> qos_of(const Call& call) {
    Qos qos;
    if (call.body.contains("mtu_limit")) {
        const auto limit = call.field<std::uint64_t>("mtu_limit", 0);
        if (limit != 2 && limit != 4) {
            return std::unexpected(Response::error(400, "mtu_limit is 2 or 4, in KiB"));
        }
        qos.mtu = limit == 2 ? wire::mtu_code::k2048 : wire::mtu_code::k4096;
    }
    if (call.body.contains("rate_limit")) {
        const auto gbps = call.field<double>("rate_limit", 0);
        const bool fits = gbps > 0 && gbps < 1e6;
        qos.rate =
            fits ? sm::rate_code(static_cast<std::uint32_t>(std::lround(gbps * 10))) : std::nullopt;
        if (!qos.rate) {
            return std::unexpected(
                Response::error(400,
                                "rate_limit is one of the rates of InfiniBand in Gb/s: 2.5, "
                                "5, 10, 14, 20, 25, … 1200"));
        }
    }
    if (call.body.contains("service_level")) {
        const auto sl = call.field<std::uint64_t>("service_level", 0);
        if (sl > kSlMax) {
            return std::unexpected(Response::error(400, "service_level is 0 to 15"));
        }
        qos.sl = static_cast<std::uint8_t>(sl);
    }
    return qos;
}

bool is_partition_name(std::string_view name) {
    return !name.empty() && name.size() <= kNameMax &&
           std::ranges::all_of(name, [](unsigned char c) {
               return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
           });
}

Response is_operators(std::string_view field, std::uint16_t pkey) {
    return Response::error(
        409, fmt::format("'{}' of {:#x} is in the fabric's own partitions; change their file",
                         field, pkey));
}

/// Sets what a request says about a partition but its members. Returns the refusal, if any.
std::optional<Response> set_traits(const Call& call, const PartitionBook& book, std::uint16_t pkey,
                                   BookedPartition& partition) {
    const auto qos = qos_of(call);
    if (!qos) {
        return qos.error();
    }
    const sm::Partition* const own = book.operators(PKey{pkey});
    const auto name = call.field("partition_name", std::string());
    if (call.body.contains("partition_name") && (own != nullptr || !is_partition_name(name))) {
        return own != nullptr
                   ? is_operators("partition_name", pkey)
                   : Response::error(400, "partition_name has letters, digits, '.', '_' and '-'");
    }
    partition.name = name.empty() ? partition.name : name;
    const bool always_ipoib = own != nullptr && own->ipoib;
    const bool always_index0 = own != nullptr && own->at_index0;
    if (always_ipoib && (qos->any() || !call.field("ip_over_ib", true))) {
        return is_operators(qos->any() ? "QoS" : "ip_over_ib", pkey);
    }
    if (always_index0 && !call.field("index0", true)) {
        return is_operators("index0", pkey);
    }
    partition.ipoib = call.field("ip_over_ib", partition.ipoib);
    partition.index0 = call.field("index0", partition.index0);
    if (qos->any() && !partition.ipoib) {
        return Response::error(
            409,
            "mtu_limit, rate_limit and service_level are those of a partition's IPoIB group, "
            "and it has none: send ip_over_ib true too");
    }
    partition.mtu = qos->mtu ? qos->mtu : partition.mtu;
    partition.rate = qos->rate ? qos->rate : partition.rate;
    partition.sl = qos->sl ? qos->sl : partition.sl;
    return std::nullopt;
}

std::vector<std::string> guids_of_hosts(const Inventory& inventory,
                                        const std::vector<std::string>& hosts,
                                        std::string& missing) {
    std::vector<std::string> guids;
    for (const std::string& host : hosts) {
        bool found = false;
        for (const Node& node : inventory.nodes) {
            const bool is_its = node.name == host || node.name.starts_with(host + "/");
            if (is_its && node.kind != topo::NodeKind::kSwitch && node.port_count != 0) {
                guids.push_back(ufm_guid(inventory.ports[node.port_first].guid));
                found = true;
            }
        }
        missing = found ? missing : host;
    }
    return guids;
}

}  // namespace

/// Reads the partitions of a fabric, changes them by `change`, and writes them.
template <typename Change>
Response Ufm::change_book(Change&& change) {
    if (config_.controls == nullptr) {
        return Response::error(404, "this fabric can only be looked at");
    }
    auto book = PartitionBook::parse(config_.controls->partitions());
    if (!book) {
        return Response::error(409, book.error());
    }
    if (std::optional<Response> refusal = change(*book)) {
        return *refusal;
    }
    const auto written = config_.controls->set_partitions(book->text());
    if (!written) {
        return Response::error(409, written.error());
    }
    state_.partitions = book->booked_text();
    return saved(Response::json("{}"));
}

std::optional<std::string> Ufm::restore_partitions() {
    auto book = PartitionBook::parse(config_.controls->partitions());
    if (!book || state_.partitions.empty() || book->booked_text() == state_.partitions) {
        return book ? std::nullopt : std::optional(book.error());
    }
    if (const auto taken = book->take_booked(state_.partitions); !taken) {
        return taken.error();
    }
    const auto written = config_.controls->set_partitions(book->text());
    return written ? std::nullopt : std::optional(written.error());
}

std::vector<Route> Ufm::pkey_routes() {
    using enum ValueKind;
    const std::vector<Parameter> lists{
        {"guids_data", kFlag, "with the members"},
        {"qos_conf", kFlag, "with MTU, rate and service level"},
        {"port_info", kFlag, "", false, {}, "`resources/ports` has the ports"}};
    const Parameter pkey{"pkey", kText, "", true};
    const std::vector<Parameter> traits{
        pkey,
        {"partition_name", kText, ""},
        {"ip_over_ib", kFlag, "whether the partition has a group for IPoIB"},
        {"index0", kFlag, "whether the P_Key is at index 0"},
        {"mtu_limit", kNumber, "of the IPoIB group, 2 or 4 KiB"},
        {"rate_limit", kReal, "of the IPoIB group, Gb/s"},
        {"service_level", kNumber, "of the IPoIB group"}};
    const auto with = [&](std::vector<Parameter> more) {
        std::vector<Parameter> all = traits;
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    const std::vector<std::string_view> memberships{"full", "limited"};
    const Parameter membership{"membership", kText, "", false, memberships};
    const std::vector<Parameter> members = with({{"guids", kTexts, "of HCA ports"},
                                                 membership,
                                                 {"memberships", kTexts, "one for each GUID"}});
    const std::vector<Parameter> qos{pkey, traits[4], traits[5], traits[6]};
    const Handler list = answer_by(this, &Ufm::list_pkeys);
    const Handler set = answer_by(this, &Ufm::set_qos);
    const Handler add = answer_by(this, &Ufm::add_pkey);
    return {
        get("/resources/pkeys", list, "partitions", lists),
        get("/resources/pkeys/{pkey}", list, "a partition; {} if there is none", lists),
        post("/resources/pkeys", add, "adds members", members),
        put("/resources/pkeys", answer_by(this, &Ufm::replace_pkey),
            "replaces the members that clients added", members),
        post("/resources/pkeys/add", add, "makes a partition", traits),
        put("/resources/pkeys/qos_conf", set, "sets MTU, rate and service level", qos),
        post("/resources/pkeys/qos_conf", set, kSameAnswer, qos),
        post("/resources/pkeys/hosts", answer_by(this, &Ufm::add_hosts), "adds all HCAs of hosts",
             with({{"hosts_names", kTexts, "names, also with commas", true},
                   membership,
                   {"job_id", kText, "", false, {}, "partitions know no jobs"}})),
        remove("/resources/pkeys/{pkey}", answer_by(this, &Ufm::remove_pkey),
               "removes what clients made"),
        remove("/resources/pkeys/{pkey}/guids/{guids}", answer_by(this, &Ufm::remove_guids),
               "takes out members"),
        remove("/resources/pkeys/{pkey}/hosts/{hosts}", answer_by(this, &Ufm::remove_hosts),
               "takes out hosts"),
    };
}

Response Ufm::list_pkeys(const Call& call) {
    const std::lock_guard lock(mutex_);
    const auto book = PartitionBook::parse(
        config_.controls == nullptr ? std::string() : config_.controls->partitions());
    if (!book) {
        return Response::error(409, book.error());
    }
    const auto wanted = call.names.empty() ? std::nullopt : parse_pkey(call.name());
    if (!call.names.empty() && !wanted) {
        return no_pkey(call.name());
    }
    std::map<std::uint16_t, Json> members;
    for (const sm::Partition& partition : book->all()) {
        members.try_emplace(partition.pkey.value, Json::array());
    }
    const auto snapshot = config_.collector->snapshot();
    for (const Node& node : snapshot->inventory->nodes) {
        if (node.kind == topo::NodeKind::kSwitch || node.port_count == 0) {
            continue;
        }
        const Guid guid = snapshot->inventory->ports[node.port_first].guid;
        const auto keys = sm::keys_of(book->all(), {.guid = guid});
        for (const PKey key : keys) {
            const bool full = (key.value & 0x8000) != 0;
            members[key.value & kKeyMask].push_back({{"guid", ufm_guid(guid)},
                                                     {"membership", full ? "full" : "limited"},
                                                     {"index0", key == keys.front()}});
        }
    }
    Json all = Json::object();
    for (auto& [pkey, guids] : members) {
        const auto partition = std::ranges::find(book->all(), PKey{pkey}, &sm::Partition::pkey);
        const bool known = partition != book->all().end();
        Json one{{"partition", known ? partition->name : ""},
                 {"ip_over_ib", known && partition->ipoib}};
        if (call.flag("qos_conf")) {
            one["qos_conf"] =
                qos_json(known ? *partition : sm::Partition{.name = {}, .pkey = PKey{pkey}});
        }
        if (call.flag("guids_data")) {
            one["guids"] = std::move(guids);
        }
        all[fmt::format("{:#x}", pkey)] = std::move(one);
    }
    if (!wanted) {
        if (call.flag("guids_data") || call.flag("qos_conf")) {
            return Response::json(to_text(all));
        }
        Json names = Json::array();
        for (const auto& [name, one] : all.items()) {
            names.push_back(name);
        }
        return Response::json(to_text(names));
    }
    const auto one = all.find(fmt::format("{:#x}", *wanted));
    // UFM's answer for a P_Key that does not exist is {}.
    return Response::json(one == all.end() ? "{}" : to_text(*one));
}

Response Ufm::add_pkey(const Call& call) {
    return change_pkey(call, call.texts("guids"), false);
}

Response Ufm::replace_pkey(const Call& call) {
    return change_pkey(call, call.texts("guids"), true);
}

Response Ufm::change_pkey(const Call& call, const std::vector<std::string>& guids, bool replaces) {
    const auto pkey = parse_pkey(call.field("pkey", std::string()));
    if (!pkey) {
        return no_pkey(call.field("pkey", std::string()));
    }
    const auto each = call.texts("memberships");
    const std::string common = call.field("membership", std::string("full"));
    if (!each.empty() && each.size() != guids.size()) {
        return Response::error(400, "guids and memberships are lists of texts of one length");
    }
    if (!each.empty() && call.body.contains("membership")) {
        return Response::error(400,
                               "'membership' is that of all, 'memberships' one for each: "
                               "leave one of them out");
    }
    const auto snapshot = config_.collector->snapshot();
    const std::lock_guard lock(mutex_);
    return change_book([&](PartitionBook& book) -> std::optional<Response> {
        BookedPartition& partition = book.booked()[*pkey];
        if (auto refusal = set_traits(call, book, *pkey, partition)) {
            return refusal;
        }
        if (replaces) {
            partition.members.clear();
        }
        for (std::size_t i = 0; i < guids.size(); ++i) {
            const auto guid = parse_guid(*snapshot->inventory, guids[i]);
            const std::string& membership = each.empty() ? common : each[i];
            if (!guid || (membership != "full" && membership != "limited")) {
                return Response::error(
                    400, guid ? "membership is full or limited"
                              : fmt::format("no HCA port has the GUID '{}'", guids[i]));
            }
            partition.members[guid->value] = membership == "full";
        }
        return std::nullopt;
    });
}

/// Sets the QoS of a partition that clients have made.
Response Ufm::set_qos(const Call& call) {
    const auto pkey = parse_pkey(call.field("pkey", std::string()));
    if (!pkey) {
        return no_pkey(call.field("pkey", std::string()));
    }
    if (call.body.size() == 1) {
        return Response::error(400, "say which: mtu_limit, rate_limit or service_level");
    }
    const std::lock_guard lock(mutex_);
    return change_book([&](PartitionBook& book) -> std::optional<Response> {
        const auto partition = book.booked().find(*pkey);
        if (partition == book.booked().end()) {
            return book.operators(PKey{*pkey}) != nullptr
                       ? is_operators("QoS", *pkey)
                       : Response::error(404, fmt::format("there is no partition {:#x}", *pkey));
        }
        return set_traits(call, book, *pkey, partition->second);
    });
}

Response Ufm::add_hosts(const Call& call) {
    std::vector<std::string> hosts;
    for (const std::string& names : call.texts("hosts_names")) {
        std::ranges::move(split_list(names), std::back_inserter(hosts));
    }
    std::string missing;
    const auto guids = guids_of_hosts(*config_.collector->snapshot()->inventory, hosts, missing);
    return !missing.empty() || hosts.empty()
               ? Response::error(400, fmt::format("no host '{}'", missing))
               : change_pkey(call, guids, false);
}

Response Ufm::remove_guids(const Call& call) {
    return remove_members(call.name(0), split_list(call.name(1)));
}

Response Ufm::remove_guids_from(const Call& call) {
    return remove_members(call.field("pkey", std::string()), call.texts("guids"));
}

Response Ufm::remove_members(std::string_view pkey, const std::vector<std::string>& guids) {
    const auto key = parse_pkey(pkey);
    if (!key) {
        return no_pkey(pkey);
    }
    const auto snapshot = config_.collector->snapshot();
    const std::lock_guard lock(mutex_);
    return change_book([&](PartitionBook& book) -> std::optional<Response> {
        const auto partition = book.booked().find(*key);
        for (const std::string& text : guids) {
            const auto guid = parse_guid(*snapshot->inventory, text);
            if (!guid) {
                return Response::error(400, fmt::format("no HCA port has the GUID '{}'", text));
            }
            if (book.is_operators(PKey{*key}, *guid)) {
                return Response::error(409, fmt::format("{} is a member of {} by the fabric's own "
                                                        "partitions; change their file",
                                                        text, pkey));
            }
            if (partition != book.booked().end()) {
                partition->second.members.erase(guid->value);
            }
        }
        return std::nullopt;
    });
}

Response Ufm::remove_hosts(const Call& call) {
    std::string missing;
    const auto guids = guids_of_hosts(*config_.collector->snapshot()->inventory,
                                      split_list(call.name(1)), missing);
    return missing.empty() ? remove_members(call.name(), guids)
                           : Response::error(400, fmt::format("no host '{}'", missing));
}

Response Ufm::remove_pkey(const Call& call) {
    const auto key = parse_pkey(call.name());
    if (!key) {
        return no_pkey(call.name());
    }
    const std::lock_guard lock(mutex_);
    return change_book([&](PartitionBook& book) -> std::optional<Response> {
        if (book.booked().erase(*key) == 0) {
            return Response::error(404, fmt::format("no partition {} was made here", call.name()));
        }
        return std::nullopt;
    });
}

}  // namespace softib::server
