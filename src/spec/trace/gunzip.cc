// SPDX-License-Identifier: BSD-2-Clause
#include "spec/trace/gunzip.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <vector>

namespace softib::spec {

namespace {

constexpr std::size_t kOutputMost = std::size_t{1} << 32;
constexpr unsigned kCodeBitsMost = 15;

/// Reads the bits of a stream, the lowest of a byte first. After the end it returns zeros, and
/// failed() is true.
class BitReader {
  public:
    BitReader(std::string_view bytes, std::size_t at) : bytes_(bytes), at_(at) {}

    std::uint32_t bit() {
        if (left_ == 0) {
            if (at_ >= bytes_.size()) {
                failed_ = true;
                return 0;
            }
            current_ = static_cast<std::uint8_t>(bytes_[at_++]);
            left_ = 8;
        }
        const std::uint32_t value = current_ & 1U;
        current_ = static_cast<std::uint8_t>(current_ >> 1);
        --left_;
        return value;
    }
    std::uint32_t bits(unsigned count) {
        std::uint32_t value = 0;
        for (unsigned i = 0; i < count; ++i) {
            value |= bit() << i;
        }
        return value;
    }
    void align() { left_ = 0; }
    bool failed() const { return failed_; }
    std::size_t at() const { return at_; }
    /// Takes whole bytes, after align().
    std::string_view take(std::size_t count) {
        if (count > bytes_.size() - at_) {
            failed_ = true;
            return {};
        }
        at_ += count;
        return bytes_.substr(at_ - count, count);
    }

  private:
    std::string_view bytes_;
    std::size_t at_;
    std::uint8_t current_ = 0;
    unsigned left_ = 0;
    bool failed_ = false;
};

/// A canonical Huffman code: the number of codes of each length, and the symbols in order of their
/// codes.
class HuffmanCode {
  public:
    /// Sets the code from the length of each symbol's code. Returns false if there is no such code.
    bool assign(const std::uint8_t* lengths, std::size_t symbols) {
        count_ = {};
        for (std::size_t i = 0; i < symbols; ++i) {
            ++count_[lengths[i]];
        }
        count_[0] = 0;
        std::int32_t left = 1;
        std::array<std::uint32_t, kCodeBitsMost + 2> first{};
        for (unsigned length = 1; length <= kCodeBitsMost; ++length) {
            left = left * 2 - static_cast<std::int32_t>(count_[length]);
            if (left < 0) {
                return false;
            }
            first[length + 1] = first[length] + count_[length];
        }
        symbols_.assign(symbols, 0);
        for (std::size_t i = 0; i < symbols; ++i) {
            if (lengths[i] != 0) {
                symbols_[first[lengths[i]]++] = static_cast<std::uint16_t>(i);
            }
        }
        return true;
    }
    /// Reads a symbol. Returns UINT32_MAX if no symbol has these bits.
    std::uint32_t next(BitReader& reader) const {
        std::uint32_t code = 0;
        std::uint32_t first = 0;
        std::uint32_t index = 0;
        for (unsigned length = 1; length <= kCodeBitsMost; ++length) {
            code |= reader.bit();
            if (code < first + count_[length]) {
                return symbols_[index + (code - first)];
            }
            index += count_[length];
            first = (first + count_[length]) << 1;
            code <<= 1;
        }
        return UINT32_MAX;
    }

  private:
    std::array<std::uint32_t, kCodeBitsMost + 1> count_ = {};
    std::vector<std::uint16_t> symbols_ = {};
};

constexpr std::array<std::uint16_t, 29> kLengthBase{3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                                    15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                                    67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr std::array<std::uint8_t, 29> kLengthBits{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                   2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

/// Returns the distance of a code, with its extra bits; distances double every two codes.
std::uint32_t distance_of(std::uint32_t code, BitReader& reader) {
    if (code < 4) {
        return code + 1;
    }
    const unsigned extra = code / 2 - 1;
    return ((2 + (code & 1U)) << extra) + 1 + reader.bits(extra);
}

class Inflater {
  public:
    Inflater(std::string_view bytes, std::size_t at, std::string& out)
        : reader_(bytes, at), out_(out), begin_(out.size()) {}

    bool run() {
        for (bool last = false; !last;) {
            last = reader_.bit() != 0;
            const std::uint32_t kind = reader_.bits(2);
            const bool done = kind == 0 ? stored() : kind == 1 ? fixed() : kind == 2 && dynamic();
            if (!done || reader_.failed()) {
                return false;
            }
        }
        reader_.align();
        return true;
    }
    BitReader& reader() { return reader_; }

  private:
    bool stored() {
        reader_.align();
        const std::uint32_t length = reader_.bits(16);
        const std::uint32_t check = reader_.bits(16);
        if (reader_.failed() || (length ^ 0xFFFFU) != check) {
            return false;
        }
        out_ += reader_.take(length);
        return !reader_.failed() && out_.size() <= kOutputMost;
    }

    bool fixed() {
        std::array<std::uint8_t, 288> lengths{};
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
        }
        std::array<std::uint8_t, 30> distances{};
        distances.fill(5);
        return literals_.assign(lengths.data(), lengths.size()) &&
               distances_.assign(distances.data(), distances.size()) && codes();
    }

    bool dynamic() {
        constexpr std::array<std::uint8_t, 19> kOrder{16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
        const std::uint32_t literals = reader_.bits(5) + 257;
        const std::uint32_t distances = reader_.bits(5) + 1;
        const std::uint32_t ordered = reader_.bits(4) + 4;
        std::array<std::uint8_t, 19> order{};
        for (std::uint32_t i = 0; i < ordered; ++i) {
            order[kOrder[i]] = static_cast<std::uint8_t>(reader_.bits(3));
        }
        HuffmanCode code;
        if (literals > 286 || distances > 30 || !code.assign(order.data(), order.size())) {
            return false;
        }
        std::array<std::uint8_t, 320> lengths{};
        for (std::uint32_t i = 0; i < literals + distances;) {
            const std::uint32_t symbol = code.next(reader_);
            if (symbol < 16) {
                lengths[i++] = static_cast<std::uint8_t>(symbol);
                continue;
            }
            if (symbol > 18 || (symbol == 16 && i == 0) || reader_.failed()) {
                return false;
            }
            const std::uint8_t value = symbol == 16 ? lengths[i - 1] : std::uint8_t{0};
            std::uint32_t times = symbol == 16   ? 3 + reader_.bits(2)
                                  : symbol == 17 ? 3 + reader_.bits(3)
                                                 : 11 + reader_.bits(7);
            if (i + times > literals + distances) {
                return false;
            }
            for (; times != 0; --times) {
                lengths[i++] = value;
            }
        }
        return literals_.assign(lengths.data(), literals) &&
               distances_.assign(lengths.data() + literals, distances) && codes();
    }

    bool codes() {
        constexpr std::uint32_t kEnd = 256;
        while (!reader_.failed() && out_.size() <= kOutputMost) {
            const std::uint32_t symbol = literals_.next(reader_);
            if (symbol < kEnd) {
                out_.push_back(static_cast<char>(symbol));
                continue;
            }
            if (symbol == kEnd) {
                return true;
            }
            const std::uint32_t which = symbol - kEnd - 1;
            if (which >= kLengthBase.size()) {
                return false;
            }
            const std::size_t length = kLengthBase[which] + reader_.bits(kLengthBits[which]);
            const std::uint32_t code = distances_.next(reader_);
            if (code >= 30) {
                return false;
            }
            const std::size_t distance = distance_of(code, reader_);
            if (distance > out_.size() - begin_) {
                return false;
            }
            for (std::size_t i = 0; i < length; ++i) {
                out_.push_back(out_[out_.size() - distance]);
            }
        }
        return false;
    }

    BitReader reader_;
    std::string& out_;
    std::size_t begin_;
    HuffmanCode literals_ = {};
    HuffmanCode distances_ = {};
};

std::uint32_t crc32(std::string_view bytes) {
    static const auto kTable = [] {
        std::array<std::uint32_t, 256> table{};
        for (std::uint32_t i = 0; i < table.size(); ++i) {
            std::uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit) {
                value = (value >> 1) ^ ((value & 1U) != 0 ? 0xEDB88320U : 0U);
            }
            table[i] = value;
        }
        return table;
    }();
    std::uint32_t crc = 0xFFFFFFFFU;
    for (const char c : bytes) {
        crc = kTable[(crc ^ static_cast<std::uint8_t>(c)) & 0xFFU] ^ (crc >> 8);
    }
    return ~crc;
}

std::uint32_t little_endian(std::string_view bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        value |= std::uint32_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
    }
    return value;
}

/// Returns where the compressed data of a member begins; npos if its header is not complete.
std::size_t data_of(std::string_view bytes, std::size_t at) {
    constexpr std::size_t kHeader = 10;
    if (bytes.size() - at < kHeader || bytes[at + 2] != 8) {
        return std::string_view::npos;
    }
    const auto flags = static_cast<std::uint8_t>(bytes[at + 3]);
    at += kHeader;
    if ((flags & 4U) != 0) {
        if (bytes.size() - at < 2) {
            return std::string_view::npos;
        }
        at += 2 + static_cast<std::uint8_t>(bytes[at]) +
              256U * static_cast<std::uint8_t>(bytes[at + 1]);
    }
    for (const unsigned text : {8U, 16U}) {  // Name and comment, each terminated by a zero.
        if ((flags & text) != 0) {
            const std::size_t end = at < bytes.size() ? bytes.find('\0', at) : at;
            at = end == std::string_view::npos ? bytes.size() : end + 1;
        }
    }
    at += (flags & 2U) != 0 ? 2U : 0U;
    return at < bytes.size() ? at : std::string_view::npos;
}

}  // namespace

std::expected<std::string, std::string> gunzip(std::string_view bytes) {
    std::string out;
    std::size_t at = 0;
    while (at < bytes.size() && is_gzip(bytes.substr(at))) {
        const std::size_t member = at;
        const std::size_t begun = out.size();
        const std::size_t data = data_of(bytes, at);
        if (data == std::string_view::npos) {
            return std::unexpected(fmt::format("byte {}: a gzip header is cut", member));
        }
        Inflater inflater(bytes, data, out);
        if (!inflater.run()) {
            return std::unexpected(
                fmt::format("byte {}: compressed data are damaged", inflater.reader().at()));
        }
        const std::string_view tail = inflater.reader().take(8);
        const std::string_view written = std::string_view(out).substr(begun);
        if (tail.size() != 8 || little_endian(tail) != crc32(written) ||
            little_endian(tail.substr(4)) != static_cast<std::uint32_t>(written.size())) {
            return std::unexpected(
                fmt::format("byte {}: the gzip checksum does not match", member));
        }
        at = inflater.reader().at();
    }
    return out;
}

}  // namespace softib::spec
