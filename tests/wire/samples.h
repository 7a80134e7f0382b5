// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A capture of samples: frames go to a pcap file, and their content to standard output, as "FRAME
// STRUCT FIELD VALUE", a line each.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/base/prng.h"
#include "core/wire/format/bytes.h"
#include "core/wire/format/layout.h"
#include "core/wire/format/test_bytes.h"
#include "core/wire/packet/packet.h"

namespace softib::wire {

inline constexpr int kSamplesEach = 20;

template <typename M>
M random_value(Prng& prng, std::size_t width) {
    M value{};
    if constexpr (Attribute<M>) {
        kFields<M>.apply([&](const auto&... field) {
            ((value.*field.member =
                  random_value<std::remove_cvref_t<decltype(value.*field.member)>>(prng,
                                                                                   field.width)),
             ...);
        });
    } else if constexpr (detail::kIsArray<M>) {
        for (auto& element : value) {
            element = random_value<typename M::value_type>(prng, width);
        }
    } else if constexpr (std::is_same_v<M, Gid>) {
        value.bytes = random_value<decltype(Gid::bytes)>(prng, 8);
    } else if constexpr (detail::kIsText<M>) {
        const auto length = prng.below(value.chars.size());
        for (std::size_t i = 0; i < length; ++i) {
            value.chars[i] = static_cast<char>('a' + prng.below(26));
        }
    } else {
        value = detail::from_number<M>(prng.next() >> (64 - width));
    }
    return value;
}

template <typename M>
std::string text_of(const M& value) {
    if constexpr (detail::kIsArray<M>) {
        std::string list;
        for (const auto& element : value) {
            list += (list.empty() ? "" : ",") + text_of(element);
        }
        return list;
    } else if constexpr (std::is_same_v<M, Gid>) {
        return to_string(value);
    } else if constexpr (detail::kIsText<M>) {
        return '"' + std::string(value.view()) + '"';
    } else {
        return std::to_string(detail::to_number(value));
    }
}

class Samples {
  public:
    Samples(const char* path, std::uint32_t link_type) : file_(path, std::ios::binary) {
        put_le(0xA1B2C3D4);
        put_le(4U << 16 | 2);  // Version 2.4.
        put_le(0);
        put_le(0);
        put_le(0x40000);
        put_le(link_type);
    }

    Prng& prng() { return prng_; }
    bool good() { return file_.flush().good(); }

    template <Attribute T>
    void describe(std::string_view name, const T& value) {
        const auto line = [&](const auto& field) {
            const auto& member = value.*field.member;
            using M = std::remove_cvref_t<decltype(member)>;
            if constexpr (Attribute<M>) {
                describe(field.name, member);
            } else if constexpr (Attribute<typename detail::Element<M>::Type>) {
                describe_list(name, member);
            } else {
                tell(name, field.name, text_of(member));
            }
        };
        kFields<T>.apply([&](const auto&... field) { (line(field), ...); });
    }

    /// Fills each field of all attributes of an array.
    template <Attribute E, std::size_t N>
    void describe_list(std::string_view name, const std::array<E, N>& elements) {
        const auto line = [&](const auto& field) {
            std::string list;
            for (const E& element : elements) {
                list += (list.empty() ? "" : ",") + text_of(element.*field.member);
            }
            tell(name, field.name, list);
        };
        kFields<E>.apply([&](const auto&... field) { (line(field), ...); });
    }

    void tell(std::string_view name, std::string_view field, const std::string& value) {
        std::printf("%d %.*s %.*s %s\n", frame_, static_cast<int>(name.size()), name.data(),
                    static_cast<int>(field.size()), field.data(), value.c_str());
    }

    void write_frame(std::span<const std::uint8_t> head, std::span<const std::uint8_t> bytes) {
        const auto size = static_cast<std::uint32_t>(head.size() + bytes.size());
        put_le(0);  // The tests do not compare times.
        put_le(0);
        put_le(size);
        put_le(size);
        put(head);
        put(bytes);
        ++frame_;
    }

  private:
    void put(std::span<const std::uint8_t> bytes) {
        file_.write(reinterpret_cast<const char*>(bytes.data()),
                    static_cast<std::streamsize>(bytes.size()));
    }
    void put_le(std::uint32_t value) {
        std::array<std::uint8_t, 4> bytes;
        store_be(bytes.data(), std::byteswap(value));
        put(bytes);
    }

    std::ofstream file_;
    Prng prng_{1};
    int frame_ = 1;
};

/// Returns random headers of the opcode, with all extended headers that it has, and without a GRH.
inline PacketHeaders random_headers(Prng& prng, std::uint8_t opcode) {
    PacketHeaders headers;
    headers.lrh = random_value<Lrh>(prng, 0);
    headers.bth = random_value<Bth>(prng, 0);
    headers.bth.opcode = opcode;
    headers.rdeth = random_value<Rdeth>(prng, 0);
    headers.xrc_eth = random_value<XrcEth>(prng, 0);
    headers.deth = random_value<Deth>(prng, 0);
    headers.reth = random_value<Reth>(prng, 0);
    headers.atomic_eth = random_value<AtomicEth>(prng, 0);
    headers.aeth = random_value<Aeth>(prng, 0);
    headers.atomic_ack_eth = random_value<AtomicAckEth>(prng, 0);
    headers.imm_dt = random_value<ImmDt>(prng, 0);
    headers.ieth = random_value<Ieth>(prng, 0);
    return headers;
}

/// Returns whether Wireshark 4.0 reads further than the BTH: it does not for XRC, CNPs and ATOMIC
/// WRITE, and looks for an RDETH eight bytes too late.
inline bool is_read_whole(const OpcodeInfo& info) {
    return info.transport != Transport::kXrc && info.transport != Transport::kRd &&
           info.transport != Transport::kCnp && info.operation != Operation::kAtomicWrite;
}

/// Describes the headers behind the BTH.
inline void describe_extended(Samples& out, const OpcodeInfo& info, const PacketHeaders& sent) {
    const auto describe = [&](std::uint16_t bit, std::string_view name, const auto& header) {
        if ((info.headers & bit) != 0) {
            out.describe(name, header);
        }
    };
    describe(extended::kDeth, "DETH", sent.deth);
    describe(extended::kReth, "RETH", sent.reth);
    describe(extended::kAtomicEth, "AtomicETH", sent.atomic_eth);
    describe(extended::kAeth, "AETH", sent.aeth);
    describe(extended::kAtomicAckEth, "AtomicAckETH", sent.atomic_ack_eth);
    describe(extended::kImmDt, "ImmDt", sent.imm_dt);
    describe(extended::kIeth, "IETH", sent.ieth);
}

}  // namespace softib::wire
