// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The wire format of Protocol Buffers: what Chakra's files need of it. A reader never leaves its
// bytes; after something malformed it says ok() == false and has no more fields.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace softib::spec {

struct ProtoField {
    enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
    std::uint32_t number = 0;
    Wire wire = Wire::kVarint;
    std::uint64_t value = 0;      ///< Of a number.
    std::string_view bytes = {};  ///< Of a string, a message or a packed list.
};

class ProtoReader {
  public:
    explicit ProtoReader(std::string_view bytes) : bytes_(bytes) {}

    bool ok() const { return ok_; }
    bool done() const { return !ok_ || at_ == bytes_.size(); }
    std::size_t offset() const { return at_; }
    std::optional<std::uint64_t> varint();
    /// A length and as many bytes.
    std::optional<std::string_view> block();
    std::optional<ProtoField> field();

  private:
    std::optional<std::uint64_t> fixed(std::size_t size);

    std::string_view bytes_;
    std::size_t at_ = 0;
    bool ok_ = true;
};

/// Messages are strings that these add to.
void put_varint(std::string& out, std::uint64_t value);
void put_number(std::string& out, std::uint32_t field, std::uint64_t value);
void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes);

}  // namespace softib::spec
