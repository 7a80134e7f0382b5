// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/service/replica.h"

#include <algorithm>
#include <utility>

#include "core/wire/format/bytes.h"

namespace softib::sm {

namespace {

constexpr std::uint16_t kAttribute = 0x0010;
constexpr std::size_t kOuiAt = 37;
constexpr std::size_t kKeyAt = 40;
constexpr std::size_t kRevisionAt = 48;
constexpr std::size_t kTotalAt = 56;
constexpr std::size_t kDataAt = 60;
constexpr std::size_t kPieceBytes = wire::kMadBytes - kDataAt;
constexpr std::uint32_t kWindow = 32;
/// How long a piece waits for its answer. It is short, because a manager that is not softib's never
/// answers, and a handover waits until that is known.
constexpr std::uint64_t kTimeoutNs = 200'000'000;
constexpr std::uint8_t kTriesMax = 3;

std::size_t piece_count(std::size_t bytes) {
    return std::max<std::size_t>(1, (bytes + kPieceBytes - 1) / kPieceBytes);
}

}  // namespace

ReplicaSender::ReplicaSender(std::vector<std::uint8_t> data, std::uint64_t revision,
                             std::uint64_t sm_key, std::uint32_t transfer)
    : data_(std::move(data)),
      revision_(revision),
      sm_key_(sm_key),
      transfer_(transfer),
      pieces_(piece_count(data_.size())),
      missing_(static_cast<std::uint32_t>(pieces_.size())) {
    for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
        due_.push_back(i);
    }
}

std::optional<wire::MadBytes> ReplicaSender::poll_transmit(std::uint64_t now_ns) {
    if (failed_ || due_.empty() || under_way_ >= kWindow) {
        return std::nullopt;
    }
    const std::uint32_t number = due_.front();
    due_.pop_front();
    Piece& piece = pieces_[number];
    piece.deadline_ns = now_ns + kTimeoutNs;
    ++piece.tries;
    ++under_way_;
    wire::MadBytes mad{};
    wire::MadRepr{.mgmt_class = kReplicaClass,
                  .method = wire::Method::kSet,
                  .transaction_id = transfer_,
                  .attribute_id = kAttribute,
                  .attribute_modifier = number}
        .emit(wire::Mad<std::uint8_t>(mad));
    mad[kOuiAt] = kReplicaOui >> 16 & 0xFF;
    mad[kOuiAt + 1] = kReplicaOui >> 8 & 0xFF;
    mad[kOuiAt + 2] = kReplicaOui & 0xFF;
    wire::store_be(mad.data() + kKeyAt, sm_key_);
    wire::store_be(mad.data() + kRevisionAt, revision_);
    wire::store_be(mad.data() + kTotalAt, static_cast<std::uint32_t>(data_.size()));
    const std::size_t begin = number * kPieceBytes;
    const std::size_t bytes = std::min(kPieceBytes, data_.size() - begin);
    std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(begin), bytes, mad.begin() + kDataAt);
    return mad;
}

void ReplicaSender::handle(const wire::MadBytes& answer) {
    const auto header = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(answer));
    if ((header.transaction_id & UINT32_MAX) != transfer_ ||
        header.attribute_modifier >= pieces_.size()) {
        return;
    }
    if (header.status != wire::mad_status::kOk) {
        failed_ = true;
        return;
    }
    Piece& piece = pieces_[header.attribute_modifier];
    if (!piece.arrived) {
        piece.arrived = true;
        --missing_;
    }
    if (piece.deadline_ns != 0) {
        piece.deadline_ns = 0;
        --under_way_;
    }
}

void ReplicaSender::handle_timeout(std::uint64_t now_ns) {
    for (std::uint32_t i = 0; i < pieces_.size() && under_way_ != 0; ++i) {
        Piece& piece = pieces_[i];
        if (piece.deadline_ns == 0 || piece.deadline_ns > now_ns) {
            continue;
        }
        piece.deadline_ns = 0;
        --under_way_;
        if (piece.tries == kTriesMax) {
            failed_ = true;
            return;
        }
        due_.push_front(i);
    }
}

std::uint64_t ReplicaSender::next_timeout_ns() const {
    std::uint64_t next = UINT64_MAX;
    for (const Piece& piece : pieces_) {
        if (!over() && piece.deadline_ns != 0) {
            next = std::min(next, piece.deadline_ns);
        }
    }
    return next;
}

std::optional<wire::MadBytes> ReplicaReceiver::handle(const wire::MadBytes& request, Lid from,
                                                      std::uint64_t sm_key) {
    const auto header = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(request));
    const auto total = wire::load_be<std::uint32_t>(request.data() + kTotalAt);
    const auto revision = wire::load_be<std::uint64_t>(request.data() + kRevisionAt);
    const auto transfer = static_cast<std::uint32_t>(header.transaction_id);
    if (header.method != wire::Method::kSet || header.attribute_id != kAttribute ||
        wire::load_be<std::uint64_t>(request.data() + kKeyAt) != sm_key ||
        total > kReplicaBytesMax || header.attribute_modifier >= piece_count(total)) {
        return std::nullopt;
    }
    if (from != from_ || transfer != transfer_ || revision != revision_ || total != data_.size() ||
        arrived_.empty()) {
        from_ = from;
        transfer_ = transfer;
        revision_ = revision;
        data_.assign(total, 0);
        arrived_.assign(piece_count(total), false);
        missing_ = arrived_.size();
    }
    if (!arrived_[header.attribute_modifier]) {
        arrived_[header.attribute_modifier] = true;
        const std::size_t begin = header.attribute_modifier * kPieceBytes;
        const std::size_t bytes = std::min<std::size_t>(kPieceBytes, total - begin);
        std::copy_n(request.begin() + kDataAt, bytes,
                    data_.begin() + static_cast<std::ptrdiff_t>(begin));
        if (--missing_ == 0) {
            whole_ = data_;
        }
    }
    return wire::respond_with_status(request, wire::mad_status::kOk);
}

std::optional<std::vector<std::uint8_t>> ReplicaReceiver::take() {
    return std::exchange(whole_, std::nullopt);
}

}  // namespace softib::sm
