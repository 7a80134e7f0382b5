// SPDX-License-Identifier: BSD-2-Clause
#include "core/trunk/session.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/wire/format/bytes.h"

namespace softib::trunk {

namespace {

using wire::load_be;
using wire::store_be;

constexpr std::uint32_t kMagic = 0x73546B31;  // "sTk1"
constexpr std::size_t kFromAt = 8;
constexpr std::size_t kToAt = 16;
constexpr std::size_t kOffsetAt = 24;
constexpr std::size_t kSeenAt = 32;
constexpr std::size_t kSealAt = 40;

}  // namespace

Session::Session(const SipKey& key, std::uint64_t number, std::uint64_t window_bytes)
    : sealer_(key), number_(number), window_bytes_(window_bytes) {
    SOFTIB_CHECK(number != 0 && window_bytes != 0);
}

/// Returns whether the session `from` is our peer, or becomes our peer with this call. Returns
/// false if it is an earlier peer.
bool Session::knows(std::uint64_t from) {
    if (from == peer_) {
        return true;
    }
    if (std::ranges::find(former_, from) != former_.end()) {
        return false;
    }
    if (peer_ != 0) {
        former_.push_back(peer_);
    }
    peer_ = from;
    offset_ = acknowledged_ = seen_ = told_seen_ = 0;
    ++sessions_;
    return true;
}

std::optional<std::span<const std::uint8_t>> Session::handle_datagram(
    std::span<const std::uint8_t> datagram, std::uint64_t now_ns) {
    if (datagram.size() < kHeaderBytes || datagram.size() > kDatagramBytesMax ||
        load_be<std::uint32_t>(&datagram[0]) != kMagic ||
        load_be<std::uint64_t>(&datagram[kSealAt]) !=
            sealer_.seal(datagram.first<kSealAt>(), datagram.subspan(kHeaderBytes))) {
        ++refused_;
        return std::nullopt;
    }
    const auto from = load_be<std::uint64_t>(&datagram[kFromAt]);
    const auto to = load_be<std::uint64_t>(&datagram[kToAt]);
    if (from == 0 || from == number_) {
        return std::nullopt;  // One of our own datagrams has come back.
    }
    if (to != number_) {
        answer_to_ = from;
        return std::nullopt;
    }
    if (!knows(from)) {
        return std::nullopt;
    }
    const std::span<const std::uint8_t> body = datagram.subspan(kHeaderBytes);
    const auto offset = load_be<std::uint64_t>(&datagram[kOffsetAt]);
    if (!up_) {
        up_ = true;
        next_hello_ns_ = now_ns;  // The peer is up only after it has heard its number from us.
    }
    heard_ns_ = now_ns;
    acknowledged_ =
        std::min(offset_, std::max(acknowledged_, load_be<std::uint64_t>(&datagram[kSeenAt])));
    if (offset < seen_) {
        return std::nullopt;
    }
    seen_ = offset + body.size();
    if (body.empty()) {
        return std::nullopt;
    }
    return body;
}

void Session::handle_timeout(std::uint64_t now_ns) {
    if (up_ && now_ns - heard_ns_ >= kSilenceNs) {
        up_ = false;
    }
}

void Session::write(std::span<std::uint8_t> datagram, std::uint64_t to) {
    store_be(&datagram[0], kMagic);
    store_be(&datagram[4], std::uint32_t{0});
    store_be(&datagram[kFromAt], number_);
    store_be(&datagram[kToAt], to);
    store_be(&datagram[kOffsetAt], to == peer_ ? offset_ : 0);
    store_be(&datagram[kSeenAt], to == peer_ ? seen_ : 0);
    store_be(&datagram[kSealAt],
             sealer_.seal(std::span<const std::uint8_t>(datagram).first<kSealAt>(),
                          datagram.subspan(kHeaderBytes)));
}

void Session::seal(std::span<std::uint8_t> datagram) {
    SOFTIB_CHECK(up_ && datagram.size() > kHeaderBytes && datagram.size() <= kDatagramBytesMax);
    write(datagram, peer_);
    told_seen_ = seen_;
    offset_ += datagram.size() - kHeaderBytes;
}

bool Session::poll_hello(std::span<std::uint8_t, kHeaderBytes> out, std::uint64_t now_ns) {
    if (answer_to_ != 0) {
        write(out, std::exchange(answer_to_, 0));
        return true;
    }
    if (now_ns < next_hello_ns_ && seen_ - told_seen_ < window_bytes_ / 4) {
        if (up_ && !may_send()) {
            next_hello_ns_ = std::min(next_hello_ns_, now_ns + kHelloBlockedNs);
        }
        return false;
    }
    next_hello_ns_ = now_ns + kHelloNs;
    told_seen_ = seen_;
    write(out, up_ ? peer_ : 0);
    return true;
}

}  // namespace softib::trunk
