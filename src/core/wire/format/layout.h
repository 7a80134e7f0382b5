// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How the format of an attribute is written: a plain struct, with a list that gives the place of
// each member on the wire. Parsing, emitting, printing and comparing are derived from the list.
//
//     struct LedInfo {
//         static constexpr std::size_t kBytes = 4;
//
//         bool led_mask = false;
//
//         static constexpr auto fields() {
//             using T = LedInfo;
//             return Fields{
//                 Field{&T::led_mask, "LedMask", 0, 1},
//             };
//         }
//         friend bool operator==(const LedInfo&, const LedInfo&) = default;
//     };
//     static_assert(layout_is_sound<LedInfo>());
//
// Offsets count bits from the start of the attribute, the most significant bit of a byte first, as
// the tables of IBA vol. 1 do. Bits that no field covers are reserved: they are not read, and
// written as zero. A value that is too wide for its field loses its upper bits.
//
// A member is an unsigned integer, a bool, an enum, a strong id, a Gid, a Text, another attribute,
// or a std::array of these.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "core/wire/format/bits.h"

namespace softib::wire {

inline constexpr int kNoComponent = -1;

/// One field of a format. For an array, `bit` is the offset of the first element, and `width` the
/// width of one element.
template <typename Owner, typename Member>
struct Field {
    using MemberType = Member;

    Member Owner::* member;
    std::string_view name;
    std::size_t bit;
    std::size_t width;
    /// The bit of the field in the SA's ComponentMask. In a nested attribute it is relative to the
    /// bit of the field that holds the attribute.
    int component = kNoComponent;
    int component_count = 1;      ///< The number of ComponentMask bits of this field.
    bool component_each = false;  ///< Each element of the array has a ComponentMask bit.
    bool in_hex = false;

    consteval Field(Member Owner::* member_, std::string_view name_, std::size_t bit_,
                    std::size_t width_, int component_ = kNoComponent)
        : member(member_), name(name_), bit(bit_), width(width_), component(component_) {}

    /// Returns the field, to be printed as a hexadecimal number.
    consteval Field hex() const {
        Field copy = *this;
        copy.in_hex = true;
        return copy;
    }
    /// Returns the field with several ComponentMask bits. If any of them is set, the whole field is
    /// compared.
    consteval Field spans(int components) const {
        Field copy = *this;
        copy.component_count = components;
        return copy;
    }
    /// Returns the array field with one ComponentMask bit for each element, from `component` on.
    consteval Field each() const {
        Field copy = *this;
        copy.component_each = true;
        return copy;
    }
};

namespace detail {

template <std::size_t Index, typename F>
struct Place {
    F field;
};

template <std::size_t Index, typename F>
consteval const F& field_at(const Place<Index, F>& place) {
    return place.field;
}

template <typename Indices, typename... F>
struct Places;
template <std::size_t... Index, typename... F>
struct Places<std::index_sequence<Index...>, F...> : Place<Index, F>... {
    consteval explicit Places(F... fields) : Place<Index, F>{fields}... {}

    /// Calls the visitor once, with all fields.
    template <typename Visitor>
    constexpr auto apply(Visitor&& visitor) const {
        return visitor(static_cast<const Place<Index, F>&>(*this).field...);
    }
};

}  // namespace detail

/// The list of an attribute's fields. With a std::tuple instead, every file that includes a format
/// would take several times as long to compile.
template <typename... F>
struct Fields : detail::Places<std::index_sequence_for<F...>, F...> {
    static constexpr std::size_t kCount = sizeof...(F);

    consteval explicit Fields(F... fields)
        : detail::Places<std::index_sequence_for<F...>, F...>(fields...) {}
};

/// A text in a fixed number of bytes, with zeros after the last character.
template <std::size_t N>
struct Text {
    std::array<char, N> chars{};

    constexpr Text() = default;
    /// A text that is too long is truncated.
    constexpr Text(std::string_view text) {
        std::copy_n(text.begin(), std::min(N, text.size()), chars.begin());
    }
    template <std::size_t M>
    constexpr Text(const char (&text)[M]) : Text(std::string_view(text)) {}

    constexpr std::string_view view() const {
        const auto end = std::ranges::find(chars, '\0');
        return {chars.data(), static_cast<std::size_t>(end - chars.begin())};
    }
    friend bool operator==(const Text&, const Text&) = default;
};

template <typename T>
concept Attribute = requires {
    { T::kBytes } -> std::convertible_to<std::size_t>;
    T::fields();
};

template <Attribute T>
inline constexpr auto kFields = T::fields();

namespace detail {

template <Attribute T>
inline constexpr std::size_t kFieldCount = decltype(T::fields())::kCount;

template <typename T>
inline constexpr bool kIsText = false;
template <std::size_t N>
inline constexpr bool kIsText<Text<N>> = true;

template <typename T>
inline constexpr bool kIsArray = false;
template <typename T, std::size_t N>
inline constexpr bool kIsArray<std::array<T, N>> = true;

template <typename T>
inline constexpr bool kIsId = false;
template <typename Tag, typename Value>
inline constexpr bool kIsId<Id<Tag, Value>> = true;

/// Returns how many bits a member can hold.
template <typename M>
consteval std::size_t capacity_bits() {
    if constexpr (std::is_same_v<M, bool>) {
        return 1;
    } else if constexpr (Attribute<M>) {
        return M::kBytes * 8;
    } else {
        return sizeof(M) * 8;  // Numbers, enums, ids; Gid and Text have no padding either.
    }
}

template <typename M>
struct Element {
    using Type = M;
    static constexpr std::size_t kCount = 1;
};
template <typename T, std::size_t N>
struct Element<std::array<T, N>> {
    using Type = T;
    static constexpr std::size_t kCount = N;
};

/// Returns the value of an integer, enumeration or strong id as a number.
template <typename M>
constexpr std::uint64_t to_number(const M& value) {
    if constexpr (kIsId<M>) {
        return value.value;
    } else {
        return static_cast<std::uint64_t>(value);
    }
}

template <typename M>
constexpr M from_number(std::uint64_t number) {
    if constexpr (kIsId<M>) {
        return M{static_cast<decltype(M::value)>(number)};
    } else {
        return static_cast<M>(number);
    }
}

template <Attribute T>
constexpr void parse_fields(const std::uint8_t* at, T& value);
template <Attribute T>
constexpr void emit_fields(const T& value, std::uint8_t* at);

template <std::size_t Bit, std::size_t Width, typename M>
constexpr void load_member(const std::uint8_t* at, M& member) {
    if constexpr (kIsArray<M>) {
        using E = typename Element<M>::Type;
        if constexpr (std::is_same_v<E, std::uint8_t> && Width == 8) {
            std::copy_n(at + Bit / 8, member.size(), member.begin());
        } else {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                (load_member<Bit + I * Width, Width>(at, member[I]), ...);
            }(std::make_index_sequence<Element<M>::kCount>{});
        }
    } else if constexpr (Attribute<M>) {
        parse_fields(at + Bit / 8, member);
    } else if constexpr (std::is_same_v<M, Gid>) {
        std::copy_n(at + Bit / 8, member.bytes.size(), member.bytes.begin());
    } else if constexpr (kIsText<M>) {
        std::transform(at + Bit / 8, at + Bit / 8 + member.chars.size(), member.chars.begin(),
                       [](std::uint8_t c) { return static_cast<char>(c); });
    } else {
        member = from_number<M>(load_bits<Bit, Width>(at));
    }
}

template <std::size_t Bit, std::size_t Width, typename M>
constexpr void store_member(const M& member, std::uint8_t* at) {
    if constexpr (kIsArray<M>) {
        using E = typename Element<M>::Type;
        if constexpr (std::is_same_v<E, std::uint8_t> && Width == 8) {
            std::copy_n(member.begin(), member.size(), at + Bit / 8);
        } else {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                (store_member<Bit + I * Width, Width>(member[I], at), ...);
            }(std::make_index_sequence<Element<M>::kCount>{});
        }
    } else if constexpr (Attribute<M>) {
        emit_fields(member, at + Bit / 8);
    } else if constexpr (std::is_same_v<M, Gid>) {
        std::copy_n(member.bytes.begin(), member.bytes.size(), at + Bit / 8);
    } else if constexpr (kIsText<M>) {
        std::transform(member.chars.begin(), member.chars.end(), at + Bit / 8,
                       [](char c) { return static_cast<std::uint8_t>(c); });
    } else {
        store_bits<Bit, Width>(at, to_number(member));
    }
}

template <Attribute T>
constexpr void parse_fields(const std::uint8_t* at, T& value) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (load_member<field_at<I>(kFields<T>).bit, field_at<I>(kFields<T>).width>(
             at, value.*field_at<I>(kFields<T>).member),
         ...);
    }(std::make_index_sequence<kFieldCount<T>>{});
}

template <Attribute T>
constexpr void emit_fields(const T& value, std::uint8_t* at) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (store_member<field_at<I>(kFields<T>).bit, field_at<I>(kFields<T>).width>(
             value.*field_at<I>(kFields<T>).member, at),
         ...);
    }(std::make_index_sequence<kFieldCount<T>>{});
}

/// Builds the line that to_string returns.
class Printer {
  public:
    void name(std::string_view name);
    void number(std::uint64_t value, bool in_hex);
    void id(Lid value) { number(value.value, false); }
    void id(PortNum value) { number(value.value, false); }
    void id(Guid value) { digits(value.value, 16); }
    void id(PKey value) { digits(value.value, 4); }
    void id(QKey value) { digits(value.value, 8); }
    void id(Qpn value) { digits(value.value, 6); }
    void id(Psn value) { digits(value.value, 6); }
    void gid(const Gid& value);
    void text(std::string_view value);
    void bytes(std::span<const std::uint8_t> value);
    void raw(std::string_view text) { line_ += text; }
    std::string take() { return std::move(line_); }

  private:
    void digits(std::uint64_t value, int count);
    std::string line_;
};

template <Attribute T>
void print_fields(Printer& out, const T& value);

template <typename M>
void print_member(Printer& out, const M& member, bool in_hex) {
    if constexpr (std::is_same_v<M, Gid>) {
        out.gid(member);
    } else if constexpr (kIsText<M>) {
        out.text(member.view());
    } else if constexpr (kIsId<M>) {
        out.id(member);
    } else if constexpr (Attribute<M>) {
        print_fields(out, member);
    } else if constexpr (kIsArray<M>) {
        if constexpr (std::is_same_v<typename Element<M>::Type, std::uint8_t>) {
            if (in_hex) {
                out.bytes(member);
                return;
            }
        }
        out.raw("[");
        for (std::size_t i = 0; i < member.size(); ++i) {
            out.raw(i == 0 ? "" : " ");
            print_member(out, member[i], in_hex);
        }
        out.raw("]");
    } else {
        out.number(to_number(member), in_hex);
    }
}

template <Attribute T>
void print_fields(Printer& out, const T& value) {
    std::size_t index = 0;
    kFields<T>.apply([&](const auto&... field) {
        ((out.raw(index++ == 0 ? "" : " "), out.name(field.name),
          print_member(out, value.*field.member, field.in_hex)),
         ...);
    });
}

constexpr std::uint64_t ones(int count) {
    return ~std::uint64_t{0} >> (64 - count);
}

template <Attribute T>
constexpr bool matches_from(const T& pattern, const T& record, std::uint64_t mask, int base);

template <typename F, typename M>
constexpr bool member_matches(const F& field, const M& pattern, const M& record, std::uint64_t mask,
                              int base) {
    if (field.component == kNoComponent) {
        return true;
    }
    const int bit = base + field.component;
    if constexpr (Attribute<M>) {
        return matches_from(pattern, record, mask, bit);
    } else if constexpr (kIsArray<M>) {
        if (field.component_each) {
            for (std::size_t i = 0; i < pattern.size(); ++i) {
                if ((mask >> (static_cast<std::size_t>(bit) + i) & 1) != 0 &&
                    !(pattern[i] == record[i])) {
                    return false;
                }
            }
            return true;
        }
    }
    return (mask >> bit & ones(field.component_count)) == 0 || pattern == record;
}

template <Attribute T>
constexpr bool matches_from(const T& pattern, const T& record, std::uint64_t mask, int base) {
    return kFields<T>.apply([&](const auto&... field) {
        return (member_matches(field, pattern.*field.member, record.*field.member, mask, base) &&
                ...);
    });
}

/// The bits that a field covers, and whether its member can hold them.
struct Extent {
    std::size_t bit;
    std::size_t bits;
    bool fits;
};

template <typename F>
constexpr void add_extents(std::vector<Extent>& extents, const F& field, std::size_t base);

/// Returns the extents of the fields of T, with the fields of nested attributes in their place.
template <Attribute T>
constexpr std::vector<Extent> extents_of(std::size_t base) {
    std::vector<Extent> extents;
    kFields<T>.apply([&](const auto&... field) { (add_extents(extents, field, base), ...); });
    return extents;
}

template <typename F>
constexpr void add_extents(std::vector<Extent>& extents, const F& field, std::size_t base) {
    using M = typename F::MemberType;
    using E = typename Element<M>::Type;
    constexpr bool kWholeBytes = Attribute<E> || kIsText<E> || std::is_same_v<E, Gid>;
    constexpr std::size_t kCapacity = capacity_bits<E>();
    const bool fits = kWholeBytes ? field.width == kCapacity && field.bit % 8 == 0
                                  : field.width > 0 && field.width <= kCapacity;
    if constexpr (Attribute<E>) {
        for (std::size_t i = 0; i < Element<M>::kCount; ++i) {
            for (Extent nested : extents_of<E>(base + field.bit + i * field.width)) {
                nested.fits = nested.fits && fits;
                extents.push_back(nested);
            }
        }
    } else {
        extents.push_back({base + field.bit, field.width * Element<M>::kCount, fits});
    }
}

constexpr bool are_sound(const std::vector<Extent>& extents, std::size_t bits) {
    for (const Extent& e : extents) {
        if (!e.fits || e.bit + e.bits > bits) {
            return false;
        }
        for (const Extent* other = extents.data(); other != &e; ++other) {
            if (other->bit < e.bit + e.bits && e.bit < other->bit + other->bits) {
                return false;
            }
        }
    }
    return true;
}

/// Marks the bits that fields of T cover.
template <Attribute T, std::size_t N>
constexpr void mark_covered(std::array<bool, N>& covered, std::size_t base) {
    const auto mark = [&](const auto& field) {
        using M = typename std::remove_cvref_t<decltype(field)>::MemberType;
        using E = typename Element<M>::Type;
        for (std::size_t i = 0; i < Element<M>::kCount; ++i) {
            const std::size_t first = base + field.bit + i * field.width;
            if constexpr (Attribute<E>) {
                mark_covered<E>(covered, first);
            } else {
                std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(first), field.width,
                            true);
            }
        }
    };
    kFields<T>.apply([&](const auto&... field) { (mark(field), ...); });
}

}  // namespace detail

/// Returns whether every field of T lies within the attribute, overlaps no other field, and fits
/// its member.
template <Attribute T>
consteval bool layout_is_sound() {
    return detail::are_sound(detail::extents_of<T>(0), T::kBytes * 8);
}

/// Returns the bytes of T with ones in all fields and zeros in reserved bits.
template <Attribute T>
consteval std::array<std::uint8_t, T::kBytes> layout_mask() {
    std::array<bool, T::kBytes * 8> covered{};
    detail::mark_covered<T>(covered, 0);
    std::array<std::uint8_t, T::kBytes> mask{};
    for (std::size_t bit = 0; bit < covered.size(); ++bit) {
        mask[bit / 8] = static_cast<std::uint8_t>(mask[bit / 8] << 1 | (covered[bit] ? 1 : 0));
    }
    return mask;
}

/// Parses a span whose length is known to be sufficient when compiled.
template <Attribute T, typename Byte, std::size_t N>
    requires(N != std::dynamic_extent && N >= T::kBytes)
constexpr T parse(std::span<Byte, N> bytes) {
    T value;
    detail::parse_fields(bytes.data(), value);
    return value;
}

template <Attribute T, std::size_t N>
    requires(N >= T::kBytes)
constexpr T parse(const std::array<std::uint8_t, N>& bytes) {
    return parse<T>(std::span<const std::uint8_t, N>(bytes));
}

/// Parses the beginning of a span. Returns std::nullopt if it has too few bytes.
template <Attribute T>
constexpr std::optional<T> parse(std::span<const std::uint8_t> bytes) {
    if (bytes.size() < T::kBytes) {
        return std::nullopt;
    }
    return parse<T>(bytes.template first<T::kBytes>());
}

/// Writes the kBytes bytes of an attribute; reserved bits become zero.
template <Attribute T, std::size_t N>
    requires(N != std::dynamic_extent && N >= T::kBytes)
constexpr void emit(const T& value, std::span<std::uint8_t, N> bytes) {
    std::fill_n(bytes.data(), T::kBytes, std::uint8_t{0});
    detail::emit_fields(value, bytes.data());
}

template <Attribute T, std::size_t N>
    requires(N >= T::kBytes)
constexpr void emit(const T& value, std::array<std::uint8_t, N>& bytes) {
    emit(value, std::span<std::uint8_t, N>(bytes));
}

template <Attribute T>
constexpr void emit(const T& value, std::span<std::uint8_t> bytes) {
    SOFTIB_CHECK(bytes.size() >= T::kBytes);
    emit(value, bytes.template first<T::kBytes>());
}

/// Returns a line such as "BaseVersion 1 ClassVersion 1 NodeType 2 ...".
template <Attribute T>
std::string to_string(const T& value) {
    detail::Printer out;
    detail::print_fields(out, value);
    return out.take();
}

/// Returns whether the components in the mask are equal in both (IBA vol. 1, 15.4.4).
template <Attribute T>
constexpr bool matches(const T& pattern, const T& record, std::uint64_t mask) {
    return detail::matches_from(pattern, record, mask, 0);
}

/// Returns the ComponentMask bits of a member, as in component(&PathRecord::sgid); zero if it has
/// none.
template <Attribute T, typename M>
constexpr std::uint64_t component(M T::* member) {
    std::uint64_t bit = 0;
    const auto look = [&](const auto& field) {
        if constexpr (std::is_same_v<typename std::remove_cvref_t<decltype(field)>::MemberType,
                                     M>) {
            if (field.member == member && field.component != kNoComponent) {
                bit = detail::ones(field.component_count) << field.component;
            }
        }
    };
    kFields<T>.apply([&](const auto&... field) { (look(field), ...); });
    return bit;
}

/// Returns the ComponentMask bit of a member of a nested attribute:
/// component(&NodeRecord::node_info, &NodeInfo::num_ports).
template <Attribute T, Attribute Nested, typename M>
constexpr std::uint64_t component(Nested T::* nested, M Nested::* member) {
    return component(nested) * component(member);
}

}  // namespace softib::wire
