// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The part of Protocol Buffers' wire format that Chakra's files need. A reader never reads beyond
// its bytes; after something malformed, ok() is false and there are no more fields.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace softib::spec {

struct ProtoField {
    enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
    std::uint32_t number = 0;
    Wire wire = Wire::kVarint;
    std::uint64_t value = 0;      ///< The value, if the field is a number.
    std::string_view bytes = {};  ///< The content, if it is a string, a message or a packed list.
};

class ProtoReader {
  public:
    explicit ProtoReader(std::string_view bytes) : bytes_(bytes) {}

    bool ok() const { return ok_; }
    bool done() const { return !ok_ || at_ == bytes_.size(); }
    std::size_t offset() const { return at_; }
    // Each of the following reads one item and returns std::nullopt if there is none.
    std::optional<std::uint64_t> varint();
    /// Reads a length and that many bytes.
    std::optional<std::string_view> block();
    std::optional<ProtoField> field();

  private:
    std::optional<std::uint64_t> fixed(std::size_t size);

    std::string_view bytes_;
    std::size_t at_ = 0;
    bool ok_ = true;
};

// Writers, which append to the message `out`.
void put_varint(std::string& out, std::uint64_t value);
void put_number(std::string& out, std::uint32_t field, std::uint64_t value);
void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes);

}  // namespace softib::spec
