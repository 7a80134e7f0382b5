// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Messages for the tests of RMPP.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/wire/mad/mad.h"
#include "core/wire/mad/rmpp.h"
#include "core/wire/sa/sa.h"

namespace softib::mad {

using wire::MadBytes;
using wire::RmppHeader;
using wire::RmppStatus;
using wire::RmppType;
namespace flag = wire::rmpp_flag;

inline constexpr std::uint64_t kMs = 1'000'000;
inline constexpr std::uint8_t kGetTableResp = 0x92;
inline constexpr std::uint8_t kGetMulti = 0x14;

/// Returns a message of the SA with `data_bytes` bytes of data, whose values tell places apart.
inline std::vector<std::uint8_t> message(std::size_t data_bytes, std::uint64_t tid = 1,
                                         std::uint8_t method = kGetTableResp) {
    MadBytes mad{};
    wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnAdm,
                  .class_version = wire::kSaClassVersion,
                  .method = static_cast<wire::Method>(method),
                  .transaction_id = tid,
                  .attribute_id = 0x11}
        .emit(wire::Mad<std::uint8_t>(mad));
    wire::Sa<std::uint8_t>(mad).set_rmpp({.rmpp_version = wire::kRmppVersion,
                                          .rmpp_type = RmppType::kData,
                                          .rmpp_flags = flag::kActive});
    wire::Sa<std::uint8_t>(mad).set_header({.attribute_offset = 14});
    std::vector<std::uint8_t> bytes(mad.begin(), mad.begin() + wire::kSaDataOffset);
    for (std::size_t i = 0; i < data_bytes; ++i) {
        bytes.push_back(static_cast<std::uint8_t>((i * 7 + i / 251 + tid) & 0xFF));
    }
    return bytes;
}

/// Returns whether two messages are equal in all but the RMPP header, which endpoints write.
inline bool same_message(std::vector<std::uint8_t> a, std::vector<std::uint8_t> b) {
    for (auto* m : {&a, &b}) {
        std::fill_n(m->begin() + wire::kRmppOffset, RmppHeader::kBytes, std::uint8_t{0});
    }
    return a == b;
}

/// Returns the MAD with another RMPP header.
inline MadBytes with_rmpp(MadBytes mad, const RmppHeader& header) {
    wire::Sa<std::uint8_t>(mad).set_rmpp(header);
    return mad;
}

}  // namespace softib::mad
