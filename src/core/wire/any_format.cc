// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/any_format.h"

#include <array>

#include "core/wire/formats.h"

namespace softib::wire {

namespace {

using Input = AnyFormat::Input;

template <Attribute T>
constexpr auto kMask = layout_mask<T>();

template <Attribute T>
constexpr auto kFieldNames = kFields<T>.apply(
    [](const auto&... field) { return std::array{std::string_view(field.name)...}; });

template <Attribute T>
constexpr AnyFormat any_format(std::string_view name) {
    return {
        name,
        T::kBytes,
        kMask<T>,
        kFieldNames<T>,
        [](Input input) { return parse<T>(input).has_value(); },
        [](Input from, std::span<std::uint8_t> to) { emit(parse<T>(from).value(), to); },
        [](Input a, Input b) { return parse<T>(a) == parse<T>(b); },
        [](Input input) { return to_string(parse<T>(input).value()); },
        [](Input pattern, Input record, std::uint64_t mask) {
            return wire::matches(parse<T>(pattern).value(), parse<T>(record).value(), mask);
        },
    };
}

constexpr AnyFormat kFormats[] = {
#define SOFTIB_WIRE_FORMAT(name) any_format<name>(#name),
#include "core/wire/formats.inc"
#undef SOFTIB_WIRE_FORMAT
};

}  // namespace

std::span<const AnyFormat> all_formats() {
    return kFormats;
}

}  // namespace softib::wire
