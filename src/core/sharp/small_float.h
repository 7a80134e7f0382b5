// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Floating-point numbers of 16 bits: IEEE 754 binary16 and bfloat16. Sums and products are computed
// as floats and rounded to the nearest, ties to even, so that they are the same on every machine.

#include <bit>
#include <cstdint>

namespace softib::sharp {

inline float from_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

inline std::uint16_t to_bf16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) {
        return static_cast<std::uint16_t>(bits >> 16 | 0x40);  // A NaN stays one, and quiet.
    }
    return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline float from_f16(std::uint16_t half) {
    const std::uint32_t sign = (std::uint32_t{half} & 0x8000) << 16;
    const std::uint32_t magnitude = std::uint32_t{half} & 0x7FFF;
    if (magnitude >= 0x7C00) {  // Infinity, or a NaN.
        return std::bit_cast<float>(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
    }
    // The product corrects the exponent's bias, and makes subnormal numbers normal too.
    const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | sign);
}

inline std::uint16_t to_f16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
    const std::uint32_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude >= 0x47800000) {  // 65536 and above become infinity; a NaN stays one.
        const bool is_nan = magnitude > 0x7F800000;
        return static_cast<std::uint16_t>(sign | (is_nan ? 0x7E00 : 0x7C00));
    }
    if (magnitude < 0x38800000) {  // Subnormal: adding 0.5 rounds to the last bit of the result.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
        return static_cast<std::uint16_t>(sign |
                                          (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000));
    }
    const std::uint32_t rounded = magnitude + 0xC8000FFF + (magnitude >> 13 & 1);
    return static_cast<std::uint16_t>(sign | rounded >> 13);
}

}  // namespace softib::sharp
