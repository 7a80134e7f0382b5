// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet/arrival.h"

#include "core/wire/format/bytes.h"
#include "core/wire/packet/crc.h"
#include "core/wire/packet/packet.h"

namespace softib::wire {

Arrival check_arrival(std::span<const std::uint8_t> bytes, const ArrivalRules& rules) {
    constexpr std::size_t kBytesMin = Lrh::kBytes + Bth::kBytes + kIcrcBytes + kVcrcBytes;
    if (bytes.size() < kBytesMin || bytes.size() > rules.bytes_max) {
        return Arrival::kMalformed;
    }
    const auto covered = bytes.first(bytes.size() - kVcrcBytes);
    if (load_be<std::uint16_t>(&bytes[covered.size()]) != vcrc(covered)) {
        return Arrival::kPhysical;
    }
    const auto lrh = *parse<Lrh>(bytes);
    const bool has_lane = lrh.vl < rules.data_vls || lrh.vl == kVlManagement;
    return lrh.lver == 0 && lrh.pkt_len * 4U == covered.size() && has_lane ? Arrival::kGood
                                                                           : Arrival::kMalformed;
}

}  // namespace softib::wire
