// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Messages of netlink, as in linux/netlink.h: a header, then attributes of a length, a type and a
// value each; a value may consist of attributes. All numbers are in the machine's byte order, and
// attributes and messages begin at multiples of four bytes.

#include <linux/netlink.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace softib::shm {

/// Returns where the next attribute or message begins behind one of `bytes` bytes.
constexpr std::size_t netlink_aligned(std::size_t bytes) {
    return (bytes + 3) & ~std::size_t{3};
}

/// Attributes being written, one behind the other.
class AttributeList {
  public:
    const std::string& bytes() const { return bytes_; }
    std::size_t size() const { return bytes_.size(); }

    /// Appends an attribute.
    void put(std::uint16_t type, std::string_view value) {
        const std::size_t at = begin(type);
        bytes_.append(value);
        end(at);
    }
    /// Appends an attribute with an integer, in as many bytes as its type has.
    template <typename Integer>
    void put_number(std::uint16_t type, Integer value) {
        put(type, {reinterpret_cast<const char*>(&value), sizeof value});
    }
    /// Appends an attribute with a text and a zero byte.
    void put_string(std::uint16_t type, std::string_view text) {
        put(type, std::string(text) + '\0');
    }
    /// Appends an attribute that consists of other attributes.
    void put_nested(std::uint16_t type, const AttributeList& inner) {
        put(type | NLA_F_NESTED, inner.bytes());
    }
    void append(const AttributeList& more) { bytes_ += more.bytes_; }

  private:
    /// Begins an attribute and returns its offset.
    std::size_t begin(std::uint16_t type) {
        const nlattr head{0, type};
        const std::size_t at = bytes_.size();
        bytes_.append(reinterpret_cast<const char*>(&head), sizeof head);
        return at;
    }
    /// Ends the attribute at this offset. Its length does not include the padding behind it.
    void end(std::size_t at) {
        const auto length = static_cast<std::uint16_t>(bytes_.size() - at);
        std::memcpy(bytes_.data() + at, &length, sizeof length);
        bytes_.resize(netlink_aligned(bytes_.size()), '\0');
    }

    std::string bytes_;
};

/// Returns a whole message: `head` with its length filled in, and `payload`.
inline std::string netlink_message(nlmsghdr head, std::string_view payload) {
    head.nlmsg_len = static_cast<std::uint32_t>(sizeof head + payload.size());
    std::string message(reinterpret_cast<const char*>(&head), sizeof head);
    message.append(payload);
    message.resize(netlink_aligned(message.size()), '\0');
    return message;
}

/// The attributes of a message, by type. Types from kTypes on are ignored.
class Attributes {
  public:
    /// Reads attributes. Returns std::nullopt if the bytes are not attributes.
    static std::optional<Attributes> parse(std::string_view bytes) {
        Attributes out;
        while (bytes.size() >= sizeof(nlattr)) {
            nlattr head;
            std::memcpy(&head, bytes.data(), sizeof head);
            if (head.nla_len < sizeof head || head.nla_len > bytes.size()) {
                return std::nullopt;
            }
            constexpr std::uint16_t kFlags = NLA_F_NESTED | NLA_F_NET_BYTEORDER;
            const std::size_t type = head.nla_type & ~std::size_t{kFlags};
            if (type < kTypes) {
                out.values_[type] = bytes.substr(sizeof head, head.nla_len - sizeof head);
            }
            bytes.remove_prefix(std::min(netlink_aligned(head.nla_len), bytes.size()));
        }
        return out;
    }

    /// Returns an attribute's value as an integer, or std::nullopt if there is none.
    std::optional<std::uint32_t> number(std::uint16_t type) const {
        std::uint32_t value = 0;
        if (!values_[type] || values_[type]->size() < sizeof value) {
            return std::nullopt;
        }
        std::memcpy(&value, values_[type]->data(), sizeof value);
        return value;
    }
    /// Returns an attribute's value; empty if there is none.
    std::string_view bytes(std::uint16_t type) const { return values_[type].value_or(""); }
    /// Returns an attribute's value up to its first zero byte; empty if there is none.
    std::string_view text(std::uint16_t type) const {
        const std::string_view value = bytes(type);
        return value.substr(0, value.find('\0'));
    }

  private:
    static constexpr std::size_t kTypes = 128;
    std::array<std::optional<std::string_view>, kTypes> values_{};
};

}  // namespace softib::shm
