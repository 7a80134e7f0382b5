// SPDX-License-Identifier: BSD-2-Clause
#include "trunk_entries.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/trunk/items.h"
#include "core/trunk/session.h"
#include "core/wire/format/bytes.h"

namespace softib::fuzz {

namespace {

using namespace softib::trunk;
using wire::load_be;
using wire::store_be;

constexpr SipKey kKey{9, 8, 7};
constexpr std::uint64_t kNumber = 1000;
constexpr std::uint32_t kMagic = 0x73546B31;
constexpr std::size_t kSealAt = 40;

/// Takes one datagram from the input: a byte that says how it is made, and its bytes. `sealed` says
/// whether it has a valid seal.
std::vector<std::uint8_t> next_datagram(std::span<const std::uint8_t>& input, bool& sealed) {
    const std::uint8_t how = input[0];
    const std::size_t bytes = std::min<std::size_t>(input.size() - 1, kHeaderBytes + how % 16U);
    std::vector<std::uint8_t> datagram(input.begin() + 1,
                                       input.begin() + 1 + static_cast<std::ptrdiff_t>(bytes));
    input = input.subspan(1 + bytes);
    sealed = (how & 0x80) != 0 && bytes >= kHeaderBytes;
    if (sealed) {
        const Sealer sealer(kKey);
        store_be(&datagram[0], kMagic);
        store_be(&datagram[8], std::uint64_t{datagram[15] % 3U});
        store_be(&datagram[16], (how & 0x40) != 0 ? kNumber : std::uint64_t{datagram[23]});
        store_be(&datagram[24], std::uint64_t{datagram[31] % 64U});
        store_be(&datagram[kSealAt], sealer.seal(std::span(datagram).first<kSealAt>(),
                                                 std::span(datagram).subspan(kHeaderBytes)));
    }
    return datagram;
}

}  // namespace

bool trunk_holds(std::span<const std::uint8_t> input) {
    Session session(kKey, kNumber, 10'000);
    std::set<std::pair<std::uint64_t, std::uint64_t>> taken;  // Sender and offset of each.
    std::uint64_t now = 1;
    while (!input.empty()) {
        bool sealed = false;
        const auto datagram = next_datagram(input, sealed);
        const std::uint64_t refused = session.refused();
        const auto body = session.handle_datagram(datagram, now);
        if (!sealed && (body || session.refused() != refused + 1)) {
            return false;
        }
        if (body) {
            if (!session.up() || body->size() != datagram.size() - kHeaderBytes ||
                load_be<std::uint64_t>(&datagram[16]) != kNumber ||
                !taken
                     .emplace(load_be<std::uint64_t>(&datagram[8]),
                              load_be<std::uint64_t>(&datagram[24]))
                     .second) {
                return false;
            }
            std::size_t bytes = 0;
            const bool whole = for_each_item(*body, [&](std::span<const std::uint8_t> item) {
                bytes += kItemHeaderBytes + item.size();
            });
            if (bytes > body->size() || whole != (bytes == body->size())) {
                return false;
            }
        }
        now += 1'000'000;
        session.handle_timeout(now);
        std::vector<std::uint8_t> hello(kHeaderBytes);
        session.poll_hello(std::span<std::uint8_t, kHeaderBytes>(hello), now);
    }
    return true;
}

}  // namespace softib::fuzz
