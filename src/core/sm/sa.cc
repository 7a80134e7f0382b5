// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa.h"

#include "core/wire/mc_member_record.h"
#include "core/wire/sa.h"

namespace softib::sm {

using wire::MadBytes;
using wire::Method;
using wire::respond_with_status;

MadBytes SubnetAdmin::handle(const MadBytes& request, const SaPort& requester) {
    const wire::Mad<const std::uint8_t> mad(request);
    if (mad.base_version() != wire::kMadBaseVersion ||
        mad.class_version() != wire::kSaClassVersion) {
        return respond_with_status(request, wire::mad_status::kUnsupportedClass);
    }
    switch (static_cast<wire::SaAttribute>(mad.attribute_id())) {
        case wire::SaAttribute::kMcMemberRecord:
            return handle_mc_member(request, requester);
        default:
            return respond_with_status(request, wire::mad_status::kUnsupportedAttribute);
    }
}

MadBytes SubnetAdmin::handle_mc_member(const MadBytes& request, const SaPort& requester) {
    const wire::Sa<const std::uint8_t> sa(request);
    const auto asked = wire::parse<wire::McMemberRecord>(sa.data());
    const std::uint64_t components = sa.header().component_mask;
    SaMulticast::Answer answer = std::unexpected(wire::mad_status::kUnsupportedMethod);
    switch (wire::Mad<const std::uint8_t>(request).method()) {
        case Method::kSet:
            answer = multicast_.handle_join(asked, components, requester);
            break;
        case Method::kDelete:
            answer = multicast_.handle_leave(asked, components, requester);
            break;
        case Method::kGet:
            answer = multicast_.handle_get(asked, components, requester);
            break;
        default:
            break;
    }
    if (!answer) {
        return respond_with_status(request, answer.error());
    }
    MadBytes response = respond_with_status(request, wire::mad_status::kOk);
    const wire::Sa<std::uint8_t> out(response);
    out.set_rmpp({});
    out.set_header({.attribute_offset = wire::kSaAttributeOffset<wire::McMemberRecord>,
                    .component_mask = components});
    wire::emit(*answer, out.data());
    return response;
}

}  // namespace softib::sm
