// SPDX-License-Identifier: BSD-2-Clause
// Partitions of UFM's tree. When the answer to a change comes, all ports have the change.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "server/partition_book.h"
#include "server/ufm.h"

namespace softib::server {

namespace {

using telemetry::Inventory;
using telemetry::Node;

constexpr std::uint16_t kKeyMask = 0x7FFF;

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

std::vector<std::string> split_list(std::string_view list) {
    std::vector<std::string> items;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        if (end != 0) {
            items.emplace_back(list.substr(0, end));
        }
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return items;
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

Response Ufm::pkeys(const Request& request, const Path& path) {
    const std::lock_guard lock(mutex_);
    const std::string_view what = path.size() > 2 ? path[2] : std::string_view{};
    if (!request.is_write()) {
        return list_pkeys(request, path);
    }
    if (request.method == "POST" && what == "hosts") {
        return add_hosts(request);
    }
    if (request.method == "POST" || request.method == "PUT") {
        return change_pkey(request, request.method == "PUT");
    }
    if (request.method == "DELETE" && path.size() == 3) {
        return remove_pkey(what);
    }
    if (request.method == "DELETE" && path.size() == 5 && path[3] == "guids") {
        return remove_guids(what, split_list(path[4]));
    }
    if (request.method == "DELETE" && path.size() == 5 && path[3] == "hosts") {
        return remove_hosts(what, path[4]);
    }
    return Response::error(404, "see docs/api.md for what pkeys take");
}

Response Ufm::list_pkeys(const Request& request, const Path& path) {
    const auto book = PartitionBook::parse(
        config_.controls == nullptr ? std::string() : config_.controls->partitions());
    if (!book) {
        return Response::error(409, book.error());
    }
    const auto wanted = path.size() > 2 ? parse_pkey(path[2]) : std::nullopt;
    if (path.size() > 2 && !wanted) {
        return no_pkey(path[2]);
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
    const bool with_guids = request.parameter("guids_data") == "true";
    Json all = Json::object();
    for (auto& [pkey, guids] : members) {
        const auto partition = std::ranges::find(book->all(), PKey{pkey}, &sm::Partition::pkey);
        const bool known = partition != book->all().end();
        Json one{{"partition", known ? partition->name : ""},
                 {"ip_over_ib", known && partition->ipoib}};
        if (with_guids) {
            one["guids"] = std::move(guids);
        }
        all[fmt::format("{:#x}", pkey)] = std::move(one);
    }
    if (!wanted) {
        return Response::json(to_text(with_guids ? all : [&] {
            Json names = Json::array();
            for (const auto& [name, one] : all.items()) {
                names.push_back(name);
            }
            return names;
        }()));
    }
    const auto one = all.find(fmt::format("{:#x}", *wanted));
    // UFM's answer for a P_Key that does not exist is {}.
    return Response::json(one == all.end() ? "{}" : to_text(*one));
}

Response Ufm::change_pkey(const Request& request, bool replaces) {
    const auto body = parse_json(request.body);
    if (!body || !body->is_object() || !body->contains("pkey") || !(*body)["pkey"].is_string()) {
        return Response::error(400, R"(send {"pkey": "0x1", "guids": ["GUID"]})");
    }
    const auto pkey = parse_pkey((*body)["pkey"].get<std::string>());
    if (!pkey) {
        return no_pkey((*body)["pkey"].get<std::string>());
    }
    const auto flag = [&](const char* key) {
        const auto found = body->find(key);
        return found != body->end() && found->is_boolean() && found->get<bool>();
    };
    const auto guids = texts_of(body->value("guids", Json::array()));
    const auto each = texts_of(body->value("memberships", Json::array()));
    const std::string common = body->contains("membership") && (*body)["membership"].is_string()
                                   ? (*body)["membership"].get<std::string>()
                                   : "full";
    if (!guids || !each || (!each->empty() && each->size() != guids->size())) {
        return Response::error(400, "guids and memberships are lists of texts of one length");
    }
    const auto snapshot = config_.collector->snapshot();
    return change_book([&](PartitionBook& book) -> std::optional<Response> {
        BookedPartition& partition = book.booked()[*pkey];
        if (replaces) {
            partition.members.clear();
        }
        partition.ipoib = partition.ipoib || flag("ip_over_ib");
        partition.index0 = partition.index0 || flag("index0");
        for (std::size_t i = 0; i < guids->size(); ++i) {
            const auto guid = parse_guid(*snapshot->inventory, (*guids)[i]);
            const std::string& membership = each->empty() ? common : (*each)[i];
            if (!guid || (membership != "full" && membership != "limited")) {
                return Response::error(
                    400, guid ? "membership is full or limited"
                              : fmt::format("no HCA port has the GUID '{}'", (*guids)[i]));
            }
            partition.members[guid->value] = membership == "full";
        }
        return std::nullopt;
    });
}

Response Ufm::add_hosts(const Request& request) {
    auto body = parse_json(request.body);
    if (!body || !body->is_object() || !body->contains("hosts_names")) {
        return Response::error(400, R"(send {"pkey": "0x1", "hosts_names": "h0,h1"})");
    }
    const auto listed = texts_of((*body)["hosts_names"]);
    std::vector<std::string> hosts;
    for (const std::string& names : listed.value_or(std::vector<std::string>{})) {
        std::ranges::move(split_list(names), std::back_inserter(hosts));
    }
    std::string missing;
    const auto guids = guids_of_hosts(*config_.collector->snapshot()->inventory, hosts, missing);
    if (!missing.empty() || hosts.empty()) {
        return Response::error(400, fmt::format("no host '{}'", missing));
    }
    (*body)["guids"] = guids;
    Request wanted = request;
    wanted.body = to_text(*body);
    return change_pkey(wanted, false);
}

Response Ufm::remove_guids(std::string_view pkey, const std::vector<std::string>& guids) {
    const auto key = parse_pkey(pkey);
    if (!key) {
        return no_pkey(pkey);
    }
    const auto snapshot = config_.collector->snapshot();
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

Response Ufm::remove_hosts(std::string_view pkey, std::string_view hosts) {
    std::string missing;
    const auto guids =
        guids_of_hosts(*config_.collector->snapshot()->inventory, split_list(hosts), missing);
    return missing.empty() ? remove_guids(pkey, guids)
                           : Response::error(400, fmt::format("no host '{}'", missing));
}

Response Ufm::remove_pkey(std::string_view pkey) {
    const auto key = parse_pkey(pkey);
    if (!key) {
        return no_pkey(pkey);
    }
    return change_book([&](PartitionBook& book) -> std::optional<Response> {
        if (book.booked().erase(*key) == 0) {
            return Response::error(404, fmt::format("no partition {} was made here", pkey));
        }
        return std::nullopt;
    });
}

}  // namespace softib::server
