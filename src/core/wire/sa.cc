// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/sa.h"

#include <fmt/format.h>

namespace softib::wire {

SaRepr SaRepr::parse(const Sa<const std::uint8_t>& sa) {
    return {.rmpp_version = sa.rmpp_version(),
            .rmpp_type = sa.rmpp_type(),
            .rmpp_resp_time = sa.rmpp_resp_time(),
            .rmpp_flags = sa.rmpp_flags(),
            .rmpp_status = sa.rmpp_status(),
            .segment_number = sa.segment_number(),
            .payload_length = sa.payload_length(),
            .sm_key = sa.sm_key(),
            .attribute_offset = sa.attribute_offset(),
            .component_mask = sa.component_mask()};
}

void SaRepr::emit(const Sa<std::uint8_t>& sa) const {
    sa.set_rmpp_version(rmpp_version);
    sa.set_rmpp_type(rmpp_type);
    sa.set_rmpp_resp_time(rmpp_resp_time);
    sa.set_rmpp_flags(rmpp_flags);
    sa.set_rmpp_status(rmpp_status);
    sa.set_segment_number(segment_number);
    sa.set_payload_length(payload_length);
    sa.set_sm_key(sm_key);
    sa.set_attribute_offset(attribute_offset);
    sa.set_component_mask(component_mask);
}

std::string to_string(const SaRepr& repr) {
    return fmt::format(
        "rmpp v{} type {} flags {:#x} status {} segment {} length {} sm_key {:#x} offset {} "
        "mask {:#x}",
        repr.rmpp_version, repr.rmpp_type, repr.rmpp_flags, repr.rmpp_status, repr.segment_number,
        repr.payload_length, repr.sm_key, repr.attribute_offset, repr.component_mask);
}

}  // namespace softib::wire
