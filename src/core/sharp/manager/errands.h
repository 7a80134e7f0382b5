// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Makes the MADs that the aggregation manager sends to nodes; shared by the manager's files.

#include <cstdint>

#include "core/sharp/manager/manager.h"
#include "core/wire/mad/mad.h"
#include "core/wire/sharp/sharp_group_join.h"
#include "core/wire/sharp/sharp_qp_allocation.h"

namespace softib::sharp {

inline constexpr auto kGroupJoinId = static_cast<std::uint16_t>(wire::SharpAttribute::kGroupJoin);

inline wire::SharpGroupJoin lock_message(std::uint32_t job, std::uint16_t tree, std::uint32_t group,
                                         bool lock) {
    wire::SharpGroupJoin message;
    message.tree_id = tree;
    message.op = lock ? wire::SharpGroupJoin::Op::kLock : wire::SharpGroupJoin::Op::kUnlock;
    message.group_id = group;
    message.job_id = job;
    return message;
}

inline wire::SharpQpAllocation release_message(Qpn qpn) {
    wire::SharpQpAllocation message;
    message.op = wire::SharpQpAllocation::Op::kRelease;
    message.count = 1;
    message.qps[0] = qpn;
    return message;
}

/// Makes a MAD with the attribute, and appends it to the script of the errand's job.
template <typename Attribute>
void Manager::add(Errand errand, wire::Method method, std::uint16_t id,
                  const Attribute& attribute) {
    const wire::MadRepr header{.mgmt_class = wire::MgmtClass::kSharp,
                               .class_version = wire::kSharpClassVersion,
                               .method = method,
                               .attribute_id = id};
    header.emit(wire::Mad<std::uint8_t>(errand.mad));
    const auto data = wire::Sharp<std::uint8_t>(errand.mad).data();
    wire::emit(attribute, std::span<std::uint8_t>(data));
    scripts_[errand.job].errands.push_back(std::move(errand));
}

}  // namespace softib::sharp
