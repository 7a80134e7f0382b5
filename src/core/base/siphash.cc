// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/siphash.h"

#include <bit>
#include <cstring>

namespace softib {

namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they stand");

std::uint64_t word_at(const std::uint8_t* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
}

struct State {
    std::uint64_t a, b, c, d;

    void round() {
        a += b;
        b = std::rotl(b, 13) ^ a;
        a = std::rotl(a, 32);
        c += d;
        d = std::rotl(d, 16) ^ c;
        a += d;
        d = std::rotl(d, 21) ^ a;
        c += b;
        b = std::rotl(b, 17) ^ c;
        c = std::rotl(c, 32);
    }
    void take(std::uint64_t word) {
        d ^= word;
        round();
        round();
        a ^= word;
    }
};

}  // namespace

std::uint64_t siphash(const SipKey& key, std::span<const std::uint8_t> message) {
    const std::uint64_t k0 = word_at(key.data());
    const std::uint64_t k1 = word_at(key.data() + 8);
    State state{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                k1 ^ 0x7465646279746573};
    std::size_t at = 0;
    for (; at + 8 <= message.size(); at += 8) {
        state.take(word_at(message.data() + at));
    }
    // The last word has the bytes that are left, and the length in its highest byte.
    std::uint64_t last = std::uint64_t{message.size()} << 56;
    for (std::size_t i = 0; at + i < message.size(); ++i) {
        last |= std::uint64_t{message[at + i]} << (8 * i);
    }
    state.take(last);
    state.c ^= 0xFF;
    for (int i = 0; i < 4; ++i) {
        state.round();
    }
    return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace softib
