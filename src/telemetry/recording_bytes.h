// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Writes and reads numbers and texts in the frames of a recording.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace softib::telemetry {

class FrameWriter {
  public:
    template <typename T>
    void number(T value) {
        static_assert(std::is_integral_v<T>);
        for (std::size_t i = 0; i < sizeof value; ++i) {
            bytes_.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i)));
        }
    }
    void text(std::string_view value) {
        number(static_cast<std::uint32_t>(value.size()));
        bytes_.append(value);
    }
    const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

/// Reads what a FrameWriter wrote. A read beyond the end returns zero or an empty text, and makes
/// good() false.
class FrameReader {
  public:
    explicit FrameReader(std::string_view bytes) : bytes_(bytes) {}

    template <typename T>
    T number() {
        static_assert(std::is_integral_v<T>);
        std::uint64_t value = 0;
        if (bytes_.size() < sizeof(T)) {
            good_ = false;
            bytes_ = {};
            return 0;
        }
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            value |= std::uint64_t{static_cast<std::uint8_t>(bytes_[i])} << (8 * i);
        }
        bytes_.remove_prefix(sizeof(T));
        return static_cast<T>(value);
    }
    std::string text() {
        const auto size = number<std::uint32_t>();
        if (bytes_.size() < size) {
            good_ = false;
            bytes_ = {};
            return {};
        }
        std::string value(bytes_.substr(0, size));
        bytes_.remove_prefix(size);
        return value;
    }
    bool good() const { return good_; }
    bool is_over() const { return bytes_.empty(); }

  private:
    std::string_view bytes_;
    bool good_ = true;
};

}  // namespace softib::telemetry
