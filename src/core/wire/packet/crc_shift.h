// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds from two ICRCs in which bytes two packets differ. A CRC is linear: if two packets differ in
// some bytes only, the difference of their CRCs is the difference of those bytes, shifted over all
// bytes after them. Shifting back is multiplying by a power of 1/x modulo the polynomial.

#include <array>
#include <cstddef>
#include <cstdint>

namespace softib::wire {

/// The polynomial of the ICRC without its leading term. Like all polynomials here it is mirrored:
/// bit 31 is x^0.
inline constexpr std::uint32_t kIcrcPolynomial = 0xEDB88320;

/// Returns the product of two polynomials modulo that of the ICRC.
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

/// Returns x^exponent modulo the polynomial of the ICRC.
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

/// Returns in which bits two packets differ, given the difference (XOR) of their ICRCs as crc.h
/// returns them. The packets must differ only in the four bytes that begin `bytes` bytes before
/// their end; the first of the four is the lowest byte of the result.
std::uint32_t icrc_cause(std::uint32_t difference, std::size_t bytes);

}  // namespace softib::wire
