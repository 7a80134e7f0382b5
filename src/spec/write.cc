// SPDX-License-Identifier: BSD-2-Clause
// Writes a description as a file from which the same one can be read.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <sstream>

#include "core/topo/spec.h"
#include "spec/description.h"

namespace softib::spec {

namespace {

/// Writes the keys that do not belong to the shape: how the fabric runs, and its subnet manager.
void write_other_keys(const Description& description, toml::table& table) {
    const sm::QosConfig& qos = description.qos;
    const sm::QosConfig plain;
    if (description.arena_bytes != 0) {
        table.insert("arena", static_cast<std::int64_t>(description.arena_bytes));
    }
    if (description.data_path == DataPath::kPacket) {
        table.insert("data_path", "packet");
    }
    if (description.link_layer == hca::LinkLayer::kEthernet) {
        table.insert("link_layer", "ethernet");
        table.insert("roce_address_base", description.ethernet.base);
        if (!description.ethernet.addresses.empty()) {
            table.insert("roce_addresses", description.ethernet.addresses);
        }
    }
    if (!description.trunk.empty()) {
        table.insert("trunk", description.trunk);
        table.insert("trunk_key", description.trunk_key);
    }
    if (description.site != 0) {
        table.insert("site", std::int64_t{description.site});
    }
    if (description.link_scale != 1.0) {
        table.insert("link_scale", fmt::format("{}", description.link_scale));
    }
    if (!description.addresses.empty()) {
        table.insert("addresses", description.addresses);
    }
    table.insert("sm", description.manager);
    if (!description.manager_args.empty()) {
        table.insert("sm_args", description.manager_args);
    }
    table.insert("am", description.aggregation);
    table.insert("engine", description.engine);
    if (!description.partitions.empty()) {
        table.insert("partitions", description.partitions);
    }
    if (!description.lid_file.empty()) {
        table.insert("lid_file", description.lid_file);
    }
    if (description.lmc != 0) {
        table.insert("lmc", std::int64_t{description.lmc});
    }
    if (description.telemetry) {
        table.insert("telemetry", true);
    }
    if (description.adaptive_routing) {
        table.insert("adaptive_routing", true);
    }
    if (qos.on) {
        table.insert("qos", true);
    }
    if (qos.max_op_vls != plain.max_op_vls) {
        table.insert("max_op_vls", std::int64_t{qos.max_op_vls});
    }
    if (qos.high_limit != plain.high_limit) {
        table.insert("high_limit", std::int64_t{qos.high_limit});
    }
    if (qos.vlarb_high != plain.vlarb_high) {
        table.insert("vlarb_high", sm::to_string(qos.vlarb_high));
    }
    if (qos.vlarb_low != plain.vlarb_low) {
        table.insert("vlarb_low", sm::to_string(qos.vlarb_low));
    }
    if (qos.sl2vl) {
        table.insert("sl2vl", sm::to_string(*qos.sl2vl));
    }
}

std::string written(const toml::table& table) {
    std::ostringstream out;
    out << "# Written by softib; describes this fabric for as long as it exists.\n"
        << table << "\n";
    return out.str();
}

}  // namespace

std::string to_toml(const Description& description) {
    const topo::Spec& spec = description.spec;
    if (!description.from.empty()) {
        toml::table table{{"name", spec.name}, {"from", description.from}};
        write_other_keys(description, table);
        return written(table);
    }
    toml::table table{
        {"name", spec.name},
        {"topology", topo::to_string(spec.shape)},
        {"hosts", std::int64_t{spec.hosts}},
        {"hcas", std::int64_t{spec.hcas_per_host}},
        {"generation", topo::link_speed(spec.generation).name},
        {"device_pattern", spec.device_pattern},
        {"host_pattern", spec.host_pattern},
    };
    write_other_keys(description, table);
    const auto number = [&](const char* key, std::uint32_t value) {
        if (value != 0) {
            table.insert(key, std::int64_t{value});
        }
    };
    number("radix", spec.radix);
    number("levels", spec.levels);
    const auto taper = [&](const char* key, const topo::Taper& value) {
        if (value != topo::Taper{}) {
            table.insert(key, topo::to_string(value));
        }
    };
    taper("oversubscription", spec.oversubscription);
    taper("spine_oversubscription", spec.spine_oversubscription);
    number("hosts_per_switch", spec.hosts_per_switch);
    number("groups", spec.groups);
    number("switches_per_group", spec.switches_per_group);
    number("subnets", spec.subnets == 1 ? 0 : spec.subnets);
    number("routers", spec.routers);
    number("planes", spec.planes == 1 ? 0 : spec.planes);
    if (!spec.dimensions.empty()) {
        toml::array dimensions;
        for (const std::uint32_t n : spec.dimensions) {
            dimensions.push_back(std::int64_t{n});
        }
        table.insert("dimensions", std::move(dimensions));
    }
    return written(table);
}

}  // namespace softib::spec
