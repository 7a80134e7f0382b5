// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Writes the structures of requests.h into messages and reads them back: the one place that knows
// how they look as bytes. A structure lists its fields (`fields`), which are written one after the
// other without gaps: a text as its length (32 bits) and its bytes, a bool as one byte that is 0 or
// 1, anything else as it is in memory. Linked into the preloaded library too: nothing here
// allocates or throws.

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "runtime/shm/protocol.h"

namespace softib::shm {

/// Appends fields to a message's body.
class Encoder {
  public:
    explicit Encoder(Message& message) : message_(message) { message_.body_bytes = 0; }

    template <typename... Fields>
    void operator()(const Fields&... fields) {
        (put(fields), ...);
    }

    /// Returns whether all fields have fitted into the message.
    bool fits() const { return fits_; }

  private:
    void put(std::string_view text) {
        put(static_cast<std::uint32_t>(text.size()));
        put_bytes(text.data(), text.size());
    }
    template <typename Field>
    void put(const Field& field) {
        static_assert(std::is_trivially_copyable_v<Field> && !std::is_pointer_v<Field>);
        put_bytes(&field, sizeof field);
    }
    void put_bytes(const void* bytes, std::size_t count) {
        fits_ = fits_ && count <= kBodyMax - message_.body_bytes;
        if (fits_ && count != 0) {
            std::memcpy(message_.body + message_.body_bytes, bytes, count);
            message_.body_bytes += static_cast<std::uint32_t>(count);
        }
    }

    Message& message_;
    bool fits_ = true;
};

/// Takes fields out of a message's body. A text is not copied but is a view into the message.
class Decoder {
  public:
    explicit Decoder(const Message& message)
        : next_(message.body),
          left_(message.body_bytes <= kBodyMax ? message.body_bytes : 0),
          good_(message.body_bytes <= kBodyMax) {}

    template <typename... Fields>
    void operator()(Fields&... fields) {
        (get(fields), ...);
    }

    /// Returns whether the body had exactly the fields that were taken.
    bool done() const { return good_ && left_ == 0; }

  private:
    void get(std::string_view& text) {
        std::uint32_t bytes = 0;
        get(bytes);
        if (const char* const at = take(bytes)) {
            text = {at, bytes};
        }
    }
    void get(bool& value) {
        std::uint8_t byte = 0;
        get(byte);
        good_ = good_ && byte <= 1;
        value = byte == 1;
    }
    template <typename Field>
    void get(Field& field) {
        static_assert(std::is_trivially_copyable_v<Field> && !std::is_pointer_v<Field>);
        if (const char* const at = take(sizeof field)) {
            std::memcpy(&field, at, sizeof field);
        }
    }
    const char* take(std::size_t count) {
        good_ = good_ && count <= left_;
        if (!good_) {
            return nullptr;
        }
        left_ -= count;
        next_ += count;
        return next_ - count;
    }

    const char* next_;
    std::size_t left_;
    bool good_;
};

/// A structure that is sent with a file descriptor.
template <typename Body>
concept CarriesFile = requires(Body body) { body.file = 0; };

/// Writes the fields of a request or a reply into a message's body. Returns false with errno
/// EMSGSIZE if they do not fit.
template <typename Body>
bool encode(const Body& body, Message& message) {
    Encoder encoder(message);
    Body::fields(body, encoder);
    if (!encoder.fits()) {
        errno = EMSGSIZE;
    }
    return encoder.fits();
}

/// Reads a request or a reply from a message's body. Returns false if the body does not have
/// exactly its fields.
template <typename Body>
bool decode(const Message& message, Body& body) {
    Decoder decoder(message);
    Body::fields(body, decoder);
    return decoder.done();
}

}  // namespace softib::shm
