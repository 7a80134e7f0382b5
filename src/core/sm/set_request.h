// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Makes a SubnSet() of one attribute as a request of the manager.

#include "core/sm/smp_client.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/port_info.h"

namespace softib::sm {

template <wire::Attribute T>
SmpRequest set_request(Purpose purpose, const DirectedPath& path, wire::SmAttribute attribute,
                       std::uint32_t modifier, const T& value) {
    SmpRequest request;
    request.purpose = purpose;
    request.path = path;
    request.method = wire::Method::kSet;
    request.attribute = attribute;
    request.modifier = modifier;
    wire::emit(value, request.data);
    return request;
}

/// Clears the fields of a Set(PortInfo) in which zero means "no change".
inline void clear_wishes(wire::PortInfo& info) {
    info.port_state = wire::PortState::kNoChange;
    info.port_physical_state = wire::PortPhysicalState::kNoChange;
    info.link_down_default_state = wire::LinkDownDefaultState::kNoChange;
    info.link_width_enabled = 0;
    info.link_speed_enabled = 0;
    info.link_speed_ext_enabled = 0;
    info.client_reregister = false;
}

}  // namespace softib::sm
