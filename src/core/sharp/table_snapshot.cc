// SPDX-License-Identifier: BSD-2-Clause
// The tables of an aggregation node as a list of requests. The process that moves packets makes its
// copy of the daemon's tables from them.
#include "core/sharp/aggregation_tables.h"
#include "core/wire/mad/mad.h"

namespace softib::sharp {

namespace {

template <wire::Attribute T>
wire::MadBytes make_set(wire::SharpAttribute id, const T& attribute) {
    wire::MadBytes mad{};
    const wire::MadRepr header{.mgmt_class = wire::MgmtClass::kSharp,
                               .class_version = wire::kSharpClassVersion,
                               .method = wire::Method::kSet,
                               .attribute_id = static_cast<std::uint16_t>(id)};
    header.emit(wire::Mad<std::uint8_t>(mad));
    wire::emit(attribute, std::span<std::uint8_t>(wire::Sharp<std::uint8_t>(mad).data()));
    return mad;
}

void add_tree(std::uint16_t id, const AggregationTables::Tree& tree,
              std::vector<wire::MadBytes>& requests) {
    wire::SharpTreeConfig part;
    part.tree_id = id;
    part.state = tree.state;
    part.mode = tree.mode;
    part.lock_mode = tree.lock_mode;
    part.parent_qpn = tree.parent;
    part.op = wire::SharpTreeConfig::Op::kWriteTree;
    for (std::size_t i = 0; i == 0 || i < tree.children.size();) {
        part.num_of_children = 0;
        while (i < tree.children.size() && part.num_of_children < part.children.size()) {
            part.children[part.num_of_children++] = tree.children[i++];
        }
        requests.push_back(make_set(wire::SharpAttribute::kTreeConfig, part));
        part.op = wire::SharpTreeConfig::Op::kAddChildren;
        if (tree.children.empty()) {
            break;
        }
    }
}

}  // namespace

std::vector<wire::MadBytes> AggregationTables::snapshot() const {
    std::vector<wire::MadBytes> requests;
    for (const auto& [qpn, context] : qps_) {
        wire::SharpQpcConfig told = context;
        told.qpn = qpn;
        requests.push_back(make_set(wire::SharpAttribute::kQpcConfig, told));
    }
    for (const auto& [id, tree] : trees_) {
        add_tree(id, tree, requests);
    }
    for (const auto& [key, quota] : quotas_) {
        wire::SharpQuotaConfig told;
        told.op = wire::SharpQuotaConfig::Op::kSet;
        told.job_id = key.first;
        told.tree_id = key.second;
        told.max_osts = quota.max_osts;
        told.max_buffers = quota.max_buffers;
        told.max_groups = quota.max_groups;
        requests.push_back(make_set(wire::SharpAttribute::kQuotaConfig, told));
    }
    for (const auto& [id, group] : groups_) {
        wire::SharpGroupJoin told;
        told.tree_id = group.tree;
        told.group_id = id;
        told.job_id = group.job;
        for (const Qpn child : group.children) {
            told.qpn = child;
            requests.push_back(make_set(wire::SharpAttribute::kGroupJoin, told));
        }
        if (group.locked) {
            told.op = wire::SharpGroupJoin::Op::kLock;
            requests.push_back(make_set(wire::SharpAttribute::kGroupJoin, told));
        }
    }
    return requests;
}

void AggregationTables::restore(std::span<const wire::MadBytes> requests) {
    qps_.clear();
    trees_.clear();
    quotas_.clear();
    groups_.clear();
    for (const wire::MadBytes& request : requests) {
        const auto header = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(request));
        if (header.attribute_id == static_cast<std::uint16_t>(wire::SharpAttribute::kQpcConfig)) {
            const auto context =
                wire::parse<wire::SharpQpcConfig>(wire::Sharp<const std::uint8_t>(request).data());
            qps_[context.qpn].qpn = context.qpn;  // Only an allocated queue pair can be written.
        }
        answer(request);
    }
    ++writes_;
}

}  // namespace softib::sharp
