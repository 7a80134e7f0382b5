// SPDX-License-Identifier: BSD-2-Clause
#include "spec/trace/protobuf.h"

namespace softib::spec {

std::optional<std::uint64_t> ProtoReader::varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
        const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
        value |= std::uint64_t{byte & 0x7FU} << shift;
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    ok_ = false;
    return std::nullopt;
}

std::optional<std::string_view> ProtoReader::block() {
    const auto size = varint();
    if (!size || *size > bytes_.size() - at_) {
        ok_ = false;
        return std::nullopt;
    }
    const std::string_view inside = bytes_.substr(at_, *size);
    at_ += *size;
    return inside;
}

std::optional<std::uint64_t> ProtoReader::fixed(std::size_t size) {
    if (bytes_.size() - at_ < size) {
        ok_ = false;
        return std::nullopt;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
        value |= std::uint64_t{static_cast<std::uint8_t>(bytes_[at_ + i])} << (8 * i);
    }
    at_ += size;
    return value;
}

std::optional<ProtoField> ProtoReader::field() {
    if (done()) {
        return std::nullopt;
    }
    const auto key = varint();
    if (!key || *key >> 3 == 0 || *key >> 3 > UINT32_MAX) {
        ok_ = false;
        return std::nullopt;
    }
    ProtoField field{.number = static_cast<std::uint32_t>(*key >> 3)};
    std::optional<std::uint64_t> value = 0;
    switch (*key & 7) {
        case 0:
            value = varint();
            break;
        case 1:
            field.wire = ProtoField::Wire::kFixed64;
            value = fixed(8);
            break;
        case 2: {
            field.wire = ProtoField::Wire::kBytes;
            const auto inside = block();
            if (!inside) {
                return std::nullopt;
            }
            field.bytes = *inside;
            break;
        }
        case 5:
            field.wire = ProtoField::Wire::kFixed32;
            value = fixed(4);
            break;
        default:
            ok_ = false;
            return std::nullopt;
    }
    if (!value) {
        return std::nullopt;
    }
    field.value = *value;
    return field;
}

void put_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
        out.push_back(static_cast<char>((value & 0x7F) | 0x80));
    }
    out.push_back(static_cast<char>(value));
}

void put_number(std::string& out, std::uint32_t field, std::uint64_t value) {
    put_varint(out, std::uint64_t{field} << 3);
    put_varint(out, value);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
    put_varint(out, std::uint64_t{field} << 3 | 2);
    put_varint(out, bytes.size());
    out += bytes;
}

}  // namespace softib::spec
