// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/mad/mad.h"

#include <fmt/format.h>

namespace softib::wire {

MadRepr MadRepr::parse(const Mad<const std::uint8_t>& mad) {
    return {.base_version = mad.base_version(),
            .mgmt_class = mad.mgmt_class(),
            .class_version = mad.class_version(),
            .method = mad.method(),
            .status = mad.status(),
            .class_specific = mad.class_specific(),
            .transaction_id = mad.transaction_id(),
            .attribute_id = mad.attribute_id(),
            .attribute_modifier = mad.attribute_modifier()};
}

void MadRepr::emit(const Mad<std::uint8_t>& mad) const {
    mad.set_base_version(base_version);
    mad.set_mgmt_class(mgmt_class);
    mad.set_class_version(class_version);
    mad.set_method(method);
    mad.set_status(status);
    mad.set_class_specific(class_specific);
    mad.set_transaction_id(transaction_id);
    mad.set_attribute_id(attribute_id);
    mad.set_attribute_modifier(attribute_modifier);
}

std::string to_string(const MadRepr& repr) {
    return fmt::format(
        "class {:#04x} v{} method {:#04x} attr {:#06x} mod {:#010x} tid {:#018x} status {:#06x}",
        static_cast<unsigned>(repr.mgmt_class), repr.class_version,
        static_cast<unsigned>(repr.method), repr.attribute_id, repr.attribute_modifier,
        repr.transaction_id, repr.status);
}

MadBytes respond_with_status(const MadBytes& request, std::uint16_t status) {
    MadBytes response = request;
    const Mad<std::uint8_t> mad(response);
    mad.set_method(response_to(mad.method()));
    const bool directed = mad.mgmt_class() == MgmtClass::kSubnDirectedRoute;
    mad.set_status(directed ? status | mad_status::kDirection : status);
    return response;
}

}  // namespace softib::wire
