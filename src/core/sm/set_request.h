// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Makes a SubnSet() of one attribute as a request of the manager.

#include "core/sm/smp_client.h"
#include "core/wire/layout.h"

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

}  // namespace softib::sm
