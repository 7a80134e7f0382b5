// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet/opcode.h"

#include <array>

namespace softib::wire {

namespace {

struct Row {
    std::string_view name;  ///< Empty: the operation is reserved.
    std::uint16_t headers = 0;
    bool has_payload = false;
    bool is_request = false;
};

/// The operations of reliable connections and RESYNC of reliable datagrams, by number.
constexpr std::array<Row, 32> kRows = [] {
    namespace ext = extended;
    std::array<Row, 32> rows{};
    const auto row = [&](Operation operation) -> Row& {
        return rows[static_cast<std::size_t>(operation)];
    };
    using O = Operation;
    row(O::kSendFirst) = {"SEND First", 0, true, true};
    row(O::kSendMiddle) = {"SEND Middle", 0, true, true};
    row(O::kSendLast) = {"SEND Last", 0, true, true};
    row(O::kSendLastImm) = {"SEND Last with Immediate", ext::kImmDt, true, true};
    row(O::kSendOnly) = {"SEND Only", 0, true, true};
    row(O::kSendOnlyImm) = {"SEND Only with Immediate", ext::kImmDt, true, true};
    row(O::kWriteFirst) = {"RDMA WRITE First", ext::kReth, true, true};
    row(O::kWriteMiddle) = {"RDMA WRITE Middle", 0, true, true};
    row(O::kWriteLast) = {"RDMA WRITE Last", 0, true, true};
    row(O::kWriteLastImm) = {"RDMA WRITE Last with Immediate", ext::kImmDt, true, true};
    row(O::kWriteOnly) = {"RDMA WRITE Only", ext::kReth, true, true};
    row(O::kWriteOnlyImm) = {"RDMA WRITE Only with Immediate", ext::kReth | ext::kImmDt, true,
                             true};
    row(O::kReadRequest) = {"RDMA READ Request", ext::kReth, false, true};
    row(O::kReadResponseFirst) = {"RDMA READ response First", ext::kAeth, true, false};
    row(O::kReadResponseMiddle) = {"RDMA READ response Middle", 0, true, false};
    row(O::kReadResponseLast) = {"RDMA READ response Last", ext::kAeth, true, false};
    row(O::kReadResponseOnly) = {"RDMA READ response Only", ext::kAeth, true, false};
    row(O::kAcknowledge) = {"Acknowledge", ext::kAeth, false, false};
    row(O::kAtomicAcknowledge) = {"ATOMIC Acknowledge", ext::kAeth | ext::kAtomicAckEth, false,
                                  false};
    row(O::kCompareSwap) = {"CmpSwap", ext::kAtomicEth, false, true};
    row(O::kFetchAdd) = {"FetchAdd", ext::kAtomicEth, false, true};
    row(O::kResync) = {"RESYNC", 0, false, true};
    row(O::kSendLastInvalidate) = {"SEND Last with Invalidate", ext::kIeth, true, true};
    row(O::kSendOnlyInvalidate) = {"SEND Only with Invalidate", ext::kIeth, true, true};
    row(O::kAtomicWrite) = {"ATOMIC WRITE", ext::kReth, true, true};
    return rows;
}();

bool has_operation(Transport transport, Operation operation) {
    switch (transport) {
        case Transport::kRc:
        case Transport::kXrc:
            return !kRows[static_cast<std::size_t>(operation)].name.empty() &&
                   operation != Operation::kResync;
        case Transport::kRd:
            return operation <= Operation::kResync;
        case Transport::kUc:
            return operation <= Operation::kWriteOnlyImm;
        case Transport::kUd:
            return operation == Operation::kSendOnly || operation == Operation::kSendOnlyImm;
        case Transport::kCnp:
            return opcode(transport, operation) <= kRoceCnpOpcode;
    }
    return false;  // Reserved transports.
}

}  // namespace

std::optional<OpcodeInfo> opcode_info(std::uint8_t opcode) {
    OpcodeInfo info{.transport = static_cast<Transport>(opcode >> 5),
                    .operation = static_cast<Operation>(opcode & 0x1F)};
    if (!has_operation(info.transport, info.operation)) {
        return std::nullopt;
    }
    if (info.transport == Transport::kCnp) {
        info.has_payload = opcode == kRoceCnpOpcode;
        return info;
    }
    const Row& row = kRows[opcode & 0x1F];
    info.headers = row.headers;
    info.has_payload = row.has_payload;
    if (info.transport == Transport::kUd) {
        info.headers |= extended::kDeth;
    }
    if (info.transport == Transport::kRd) {
        info.headers |= extended::kRdeth;
        info.headers |= row.is_request ? extended::kDeth : 0;
    }
    if (info.transport == Transport::kXrc && row.is_request) {
        info.headers |= extended::kXrcEth;
    }
    return info;
}

std::size_t OpcodeInfo::header_bytes() const {
    const auto bytes = [&](std::uint16_t bit, std::size_t size) {
        return (headers & bit) != 0 ? size : 0;
    };
    return bytes(extended::kRdeth, Rdeth::kBytes) + bytes(extended::kXrcEth, XrcEth::kBytes) +
           bytes(extended::kDeth, Deth::kBytes) + bytes(extended::kReth, Reth::kBytes) +
           bytes(extended::kAtomicEth, AtomicEth::kBytes) + bytes(extended::kAeth, Aeth::kBytes) +
           bytes(extended::kAtomicAckEth, AtomicAckEth::kBytes) +
           bytes(extended::kImmDt, ImmDt::kBytes) + bytes(extended::kIeth, Ieth::kBytes);
}

std::string_view to_string(Transport transport) {
    switch (transport) {
        case Transport::kRc:
            return "RC";
        case Transport::kUc:
            return "UC";
        case Transport::kRd:
            return "RD";
        case Transport::kUd:
            return "UD";
        case Transport::kCnp:
            return "CNP";
        case Transport::kXrc:
            return "XRC";
    }
    return "?";
}

std::string_view to_string(Operation operation) {
    const auto number = static_cast<std::size_t>(operation);
    return number < kRows.size() && !kRows[number].name.empty() ? kRows[number].name : "?";
}

}  // namespace softib::wire
