// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds what differs in a packet when its ICRC differs. A CRC is linear: two packets that differ in
// some bytes only have CRCs that differ by those bytes, shifted over all that follow them. Shifting
// back is multiplying by a power of 1/x modulo the polynomial.

#include <array>
#include <cstddef>
#include <cstdint>

namespace softib::wire {

/// The polynomial of the ICRC without its leading term, mirrored as everywhere: bit 31 is x^0.
inline constexpr std::uint32_t kIcrcPolynomial = 0xEDB88320;

/// The product of two polynomials modulo that of the ICRC.
constexpr std::uint32_t icrc_multiply(std::uint32_t a, std::uint32_t b) {
    std::uint32_t product = 0;
    for (; a != 0; a <<= 1) {
        if ((a & 0x80000000) != 0) {
            product ^= b;
        }
        b = b >> 1 ^ ((b & 1) != 0 ? kIcrcPolynomial : 0);
    }
    return product;
}

/// x^exponent.
constexpr std::uint32_t icrc_power(std::uint64_t exponent) {
    std::uint32_t power = 0x80000000;
    std::uint32_t square = 0x40000000;
    for (; exponent != 0; exponent >>= 1) {
        if ((exponent & 1) != 0) {
            power = icrc_multiply(power, square);
        }
        square = icrc_multiply(square, square);
    }
    return power;
}

/// `difference`: of two ICRCs as numbers on the wire. What of them differed, as the four bytes that
/// begin `bytes` before the end, the first lowest; there are no more than these four.
std::uint32_t icrc_cause(std::uint32_t difference, std::size_t bytes);

}  // namespace softib::wire
