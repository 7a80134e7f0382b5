// SPDX-License-Identifier: BSD-2-Clause
#include "workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace softib::transport {

namespace {

void set_flag(WorkRequest& wr, SendFlags flag, bool on) {
    if (on) {
        wr.flags |= flag;
    }
}

}  // namespace

PairOptions random_options(std::uint64_t seed, QpType type) {
    Prng prng(seed * 2654435761 + 17);
    PairOptions o;
    o.type = type;
    o.seed = seed;
    o.mtu_code = static_cast<std::uint8_t>(1 + prng.below(5));
    constexpr std::uint32_t kWindows[] = {1, 2, 7, 32, 1024};
    o.window = kWindows[prng.below(std::size(kWindows))];
    o.timeout = static_cast<std::uint8_t>(4 + prng.below(5));
    o.rd_atomic = static_cast<std::uint8_t>(1 + prng.below(8));
    o.max_wr = zone::kSlots;
    o.min_rnr_timer = static_cast<std::uint8_t>(1 + prng.below(6));
    o.memory_bytes = zone::kBytes;
    o.psn = prng.chance(1, 2) ? kPsnMask - static_cast<std::uint32_t>(prng.below(200))
                              : static_cast<std::uint32_t>(prng.below(kPsnMask));
    o.srq = prng.chance(1, 4);
    o.global = prng.chance(1, 4);
    o.credits = prng.chance(3, 4);
    // Each fault is in some runs only, so that none hides behind another.
    const std::uint32_t storm = seed % 8 == 0 ? 5 : 1;
    const auto fault = [&](std::uint32_t most) {
        return prng.chance(1, 2) ? static_cast<std::uint32_t>(prng.below(storm * most)) : 0;
    };
    o.knobs.drop = fault(500);
    o.knobs.duplicate = fault(500);
    o.knobs.reorder = fault(500);
    o.knobs.corrupt = fault(200);
    o.knobs.as_bytes = prng.chance(1, 16);
    o.knobs.packet_ns = 20 + prng.below(200);
    o.knobs.latency_ns = 100 + prng.below(3000);
    return o;
}

ReliableWorkload::ReliableWorkload(const PairOptions& options, std::uint64_t seed,
                                   std::uint32_t operations)
    : prng_(seed), pair_(options), left_(operations), eager_receives_(prng_.chance(1, 2)) {
    for (int side : {0, 1}) {
        std::ranges::generate(pair_.ends[side].bytes,
                              [&] { return static_cast<std::uint8_t>(prng_.next()); });
    }
    for (int side : {0, 1}) {
        const std::uint8_t* peer = pair_.ends[1 - side].at(0);
        sides_[side].peer_write.assign(peer + zone::kWrite,
                                       peer + zone::kWrite + zone::kWriteBytes);
        sides_[side].peer_words.resize(zone::kAtomicWords);
        std::memcpy(sides_[side].peer_words.data(), peer + zone::kAtomic, zone::kAtomicWords * 8);
    }
}

void ReliableWorkload::fail(const std::string& what) {
    if (!failed()) {
        outcome_.error = what;
    }
}

std::uint32_t ReliableWorkload::random_length(std::uint32_t max) {
    const std::uint64_t kind = prng_.below(10);
    const std::uint64_t most = kind < 5 ? 64 : kind < 8 ? 1024 : zone::kLengthMax;
    return static_cast<std::uint32_t>(prng_.below(std::min<std::uint64_t>(most, max) + 1));
}

/// Divides a slice of an end's memory into one to three places (sges_).
void ReliableWorkload::split(int side, std::uint32_t offset, std::uint32_t length) {
    sges_.clear();
    std::uint64_t parts = 1 + prng_.below(3);
    while (parts-- != 1) {
        const auto n = static_cast<std::uint32_t>(prng_.below(length + 1));
        sges_.push_back(pair_.ends[side].sge(offset, n));
        offset += n;
        length -= n;
    }
    sges_.push_back(pair_.ends[side].sge(offset, length));
}

void ReliableWorkload::build_send(int side, WorkRequest& wr, Op& op) {
    constexpr WrOpcode kSends[] = {WrOpcode::kSend, WrOpcode::kSend, WrOpcode::kSendImm,
                                   WrOpcode::kWriteImm};
    op.opcode = kSends[prng_.below(std::size(kSends))];
    const std::uint32_t length = random_length(zone::kLengthMax);
    const auto source = static_cast<std::uint32_t>(prng_.below(zone::kSourceBytes - length));
    split(side, source, length);
    wr.imm_or_rkey = static_cast<std::uint32_t>(prng_.next());
    set_flag(wr, kSendSolicited, prng_.chance(1, 8));
    if (op.opcode == WrOpcode::kWriteImm) {
        const auto to = static_cast<std::uint32_t>(prng_.below(zone::kWriteBytes - length));
        wr.remote_addr = pair_.ends[1 - side].addr(zone::kWrite + to);
        std::copy_n(pair_.ends[side].at(source), length, sides_[side].peer_write.begin() + to);
        set_flag(wr, kSendFence, sides_[side].must_fence);
        sides_[side].must_fence = false;
    } else if (length <= 64 && prng_.chance(1, 4)) {
        wr.flags |= kSendInline;
        wr.inline_data = {pair_.ends[side].at(source), length};
    }
    sides_[side].to_come.push_back({source, length, op.opcode, wr.imm_or_rkey});
}

void ReliableWorkload::build_write(int side, WorkRequest& wr, Op& op) {
    op.opcode = WrOpcode::kWrite;
    const std::uint32_t length = random_length(zone::kLengthMax);
    const auto source = static_cast<std::uint32_t>(prng_.below(zone::kSourceBytes - length));
    const auto to = static_cast<std::uint32_t>(prng_.below(zone::kWriteBytes - length));
    split(side, source, length);
    wr.remote_addr = pair_.ends[1 - side].addr(zone::kWrite + to);
    // A WRITE may overtake the data of a READ before it, unless it is fenced.
    set_flag(wr, kSendFence, sides_[side].must_fence);
    sides_[side].must_fence = false;
    std::copy_n(pair_.ends[side].at(source), length, sides_[side].peer_write.begin() + to);
}

void ReliableWorkload::build_read(int side, WorkRequest& wr, Op& op) {
    op.opcode = WrOpcode::kRead;
    op.signaled = true;
    const std::uint32_t length = random_length(zone::kLengthMax);
    split(side, op.landing, length);
    if (prng_.chance(1, 2)) {
        const auto from = static_cast<std::uint32_t>(prng_.below(zone::kReadBytes - length));
        wr.remote_addr = pair_.ends[1 - side].addr(zone::kRead + from);
        const std::uint8_t* bytes = pair_.ends[1 - side].at(zone::kRead + from);
        op.data.assign(bytes, bytes + length);
    } else {
        const auto from = static_cast<std::uint32_t>(prng_.below(zone::kWriteBytes - length));
        wr.remote_addr = pair_.ends[1 - side].addr(zone::kWrite + from);
        const auto begin = sides_[side].peer_write.begin() + from;
        op.data.assign(begin, begin + length);
        sides_[side].must_fence = true;
    }
}

void ReliableWorkload::build_atomic(int side, WorkRequest& wr, Op& op) {
    op.signaled = true;
    const auto index = static_cast<std::uint32_t>(prng_.below(zone::kAtomicWords));
    std::uint64_t& word = sides_[side].peer_words[index];
    op.data.resize(8);
    std::memcpy(op.data.data(), &word, 8);
    sges_.assign(1, pair_.ends[side].sge(op.landing, 8));
    wr.remote_addr = pair_.ends[1 - side].addr(zone::kAtomic + 8 * index);
    wr.compare_add = prng_.next();
    wr.swap = prng_.next();
    if (prng_.chance(1, 2)) {
        op.opcode = WrOpcode::kFetchAdd;
        word += wr.compare_add;
        return;
    }
    op.opcode = WrOpcode::kCompareSwap;
    if (prng_.chance(1, 2)) {
        wr.compare_add = word;
        word = wr.swap;
    } else if (word == wr.compare_add) {
        word = wr.swap;
    }
}

void ReliableWorkload::post(int side) {
    Side& s = sides_[side];
    if (s.posted.size() == zone::kSlots) {
        return;
    }
    WorkRequest wr = pair_.request(side, WrOpcode::kSend, 0, 0);
    Op op{};
    op.wr_id = s.next_wr++;
    op.signaled = prng_.chance(3, 4) || s.posted.size() + 1 == zone::kSlots;
    op.landing = zone::kLanding + s.next_landing * zone::kLengthMax;
    s.next_landing = (s.next_landing + 1) % zone::kSlots;
    switch (prng_.below(8)) {
        case 0:
        case 1:
        case 2:
            build_send(side, wr, op);
            break;
        case 3:
        case 4:
            build_write(side, wr, op);
            break;
        case 5:
        case 6:
            build_read(side, wr, op);
            break;
        default:
            build_atomic(side, wr, op);
            break;
    }
    wr.opcode = op.opcode;
    wr.wr_id = op.wr_id;
    wr.flags = static_cast<std::uint8_t>(wr.flags & ~kSendSignaled);
    set_flag(wr, kSendSignaled, op.signaled);
    wr.sges = sges_;
    s.posted.push_back(op);
    ++outcome_.operations;
    if (pair_.post(side, wr) != PostError::kOk) {
        fail(fmt::format("request {} was not taken", op.wr_id));
    }
}

void ReliableWorkload::post_receives(int side) {
    Side& from = sides_[1 - side];  // What the other end sends arrives here.
    const std::uint64_t room = zone::kSlots - (from.receives_posted - from.received);
    const std::uint64_t n = eager_receives_ ? room : prng_.below(room + 1);
    for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t id = from.receives_posted++;
        const auto slot = static_cast<std::uint32_t>(id % zone::kSlots);
        if (pair_.ends[side].receive(id, zone::kReceive + slot * zone::kReceiveSlotBytes,
                                     zone::kReceiveSlotBytes) != PostError::kOk) {
            fail("a receive request was not taken");
        }
    }
}

void ReliableWorkload::check_op(int side, const Completion& done) {
    Side& s = sides_[side];
    // Unsignaled requests before it have succeeded without a completion.
    while (!s.posted.empty() && s.posted.front().wr_id != done.wr_id &&
           !s.posted.front().signaled && s.posted.front().expected == WcStatus::kSuccess) {
        s.posted.pop_front();
    }
    if (s.posted.empty() || s.posted.front().wr_id != done.wr_id) {
        fail(fmt::format("side {}: completion of {}, not in order or twice", side, done.wr_id));
        return;
    }
    const Op op = s.posted.front();
    s.posted.pop_front();
    if (done.status != op.expected) {
        if (done.status == WcStatus::kRetryExcErr && op.expected != WcStatus::kWrFlushErr &&
            may_exhaust_) {
            // The peer has stopped, and its NAK or an acknowledgement before it was lost.
            for (Op& behind : s.posted) {
                behind.expected = WcStatus::kWrFlushErr;
            }
            s.exhausted = true;
            return;
        }
        fail(fmt::format("side {}: request {} ended with {}, not {}", side, done.wr_id,
                         static_cast<int>(done.status), static_cast<int>(op.expected)));
        return;
    }
    if (done.opcode != completion_opcode(op.opcode)) {
        fail("a completion says another operation");
    }
    if (done.status == WcStatus::kSuccess &&
        !std::equal(op.data.begin(), op.data.end(), pair_.ends[side].at(op.landing))) {
        fail(fmt::format("side {}: request {} read wrong bytes", side, done.wr_id));
    }
}

void ReliableWorkload::check_completions(int side) {
    for (const Completion& done : pair_.completions(side)) {
        check_op(side, done);
    }
    check_receives(side);
}

void ReliableWorkload::check_receives(int side) {
    Side& from = sides_[1 - side];
    for (const Completion& done : pair_.completions(side, true)) {
        if (done.status != WcStatus::kSuccess) {
            if (pair_.ends[side].state() != QpState::kErr || done.status != WcStatus::kWrFlushErr) {
                fail("a receive request failed");
            }
            continue;
        }
        if (from.to_come.empty()) {
            fail("a message that nobody sent");
            return;
        }
        const Message message = from.to_come.front();
        from.to_come.pop_front();
        const auto slot = static_cast<std::uint32_t>(from.received % zone::kSlots);
        const bool write = message.opcode == WrOpcode::kWriteImm;
        const std::uint8_t* source = pair_.ends[1 - side].at(message.source);
        if (done.wr_id != from.received || done.byte_len != message.length ||
            (done.flags & kWcWithImm) != (message.opcode != WrOpcode::kSend ? kWcWithImm : 0) ||
            ((done.flags & kWcWithImm) != 0 && done.imm_or_rkey != message.immediate) ||
            done.opcode != (write ? WcOpcode::kRecvRdmaWithImm : WcOpcode::kRecv)) {
            fail(fmt::format("side {}: message {} is another", side, from.received));
        }
        if (!write &&
            !std::equal(source, source + message.length,
                        pair_.ends[side].at(zone::kReceive + slot * zone::kReceiveSlotBytes))) {
            fail(fmt::format("side {}: message {} has other bytes", side, from.received));
        }
        ++from.received;
    }
}

void ReliableWorkload::check_memory() {
    for (int side : {0, 1}) {
        const std::uint8_t* peer = pair_.ends[1 - side].at(0);
        // What was on its way when the connection ended may or may not have arrived.
        if (sides_[side].exhausted) {
            continue;
        }
        if (!std::ranges::equal(sides_[side].peer_write,
                                std::span(peer + zone::kWrite, zone::kWriteBytes))) {
            fail(fmt::format("what side {} wrote is not what is there", side));
        }
        if (std::memcmp(sides_[side].peer_words.data(), peer + zone::kAtomic,
                        zone::kAtomicWords * 8) != 0) {
            fail(fmt::format("words that side {} changed are not what is there", side));
        }
    }
}

bool ReliableWorkload::idle() const {
    return std::ranges::all_of(sides_, [](const Side& s) {
        return s.exhausted ? s.posted.empty()
                           : std::ranges::none_of(s.posted, &Op::signaled) && s.to_come.empty();
    });
}

void ReliableWorkload::finish() {
    eager_receives_ = true;
    while (!failed() && !idle()) {
        for (int side : {0, 1}) {
            post_receives(side);
        }
        const bool moving = pair_.step();
        for (int side : {0, 1}) {
            check_completions(side);
        }
        // Unsignaled requests to a dead peer have no completion only if they succeeded.
        if (!moving && !idle() && !(sides_[0].exhausted || sides_[1].exhausted)) {
            fail("nothing happens any more, and something is not done");
        }
        if (!moving) {
            break;
        }
    }
    if (failed()) {
        return;  // A sender that waits for a receive request waits for ever.
    }
    pair_.drive();
    for (int side : {0, 1}) {
        check_completions(side);
        sides_[side].posted.clear();  // Unsignaled requests at the end.
    }
}

Outcome ReliableWorkload::run() {
    const std::uint64_t source_hash = std::accumulate(
        pair_.ends[0].bytes.begin(), pair_.ends[0].bytes.begin() + zone::kWrite, std::uint64_t{0},
        [](std::uint64_t sum, std::uint8_t byte) { return sum * 31 + byte; });
    const Knobs& knobs = pair_.options.knobs;
    may_exhaust_ = std::max({knobs.drop, knobs.duplicate, knobs.reorder, knobs.corrupt}) > 500;
    while (left_ != 0 && !failed() && !ended()) {
        const std::uint64_t burst = 1 + prng_.below(6);
        for (std::uint64_t i = 0; i < burst && left_ != 0; ++i) {
            const std::uint64_t before = outcome_.operations;
            post(static_cast<int>(prng_.below(2)));
            left_ -= outcome_.operations != before ? 1 : 0;
        }
        for (int side : {0, 1}) {
            if (prng_.chance(1, 4)) {
                post_receives(side);
            }
        }
        for (std::uint64_t i = prng_.below(30); i != 0 && pair_.step(); --i) {
        }
        for (int side : {0, 1}) {
            check_completions(side);
        }
    }
    finish();
    if (!failed() && !ended()) {
        check_memory();
        if (prng_.chance(1, 2)) {
            end_badly();
            outcome_.ended_badly = true;
        }
    }
    outcome_.exhausted = ended() && !outcome_.ended_badly;
    const std::uint64_t hash_now = std::accumulate(
        pair_.ends[0].bytes.begin(), pair_.ends[0].bytes.begin() + zone::kWrite, std::uint64_t{0},
        [](std::uint64_t sum, std::uint8_t byte) { return sum * 31 + byte; });
    if (hash_now != source_hash) {
        fail("memory changed that nobody wrote to");
    }
    outcome_.packets = pair_.packets;
    outcome_.ended_ns = pair_.now_ns;
    for (int side : {0, 1}) {
        outcome_.retransmits += pair_.count(side, Counted::kRetransmit);
        outcome_.not_ready += pair_.count(side, Counted::kNotReady);
    }
    return outcome_;
}

/// Posts one request that must fail, and notes how.
void ReliableWorkload::post_bad(int side) {
    Side& s = sides_[side];
    WorkRequest wr = pair_.request(side, WrOpcode::kWrite, zone::kLanding, 64);
    const Sge good = pair_.ends[side].sge(zone::kLanding, 64);
    sges_.assign(1, good);
    WcStatus expected = WcStatus::kRemAccessErr;
    switch (prng_.below(8)) {
        case 0:
            wr.rkey ^= 1U << prng_.below(32);
            break;
        case 1:
            wr.opcode = WrOpcode::kRead;
            wr.remote_addr = pair_.ends[1 - side].addr(zone::kBytes - 63);
            break;
        case 2:
            wr.remote_addr = pair_.ends[1 - side].addr(0) - 1;
            break;
        case 3:
            sges_[0].lkey ^= 1U << prng_.below(32);
            expected = WcStatus::kLocProtErr;
            break;
        case 4:
            wr.opcode = WrOpcode::kFetchAdd;
            sges_[0].length = 8;
            wr.remote_addr += 1;
            expected = WcStatus::kRemInvReqErr;
            break;
        case 5:
            wr.opcode = WrOpcode::kCompareSwap;
            expected = WcStatus::kLocLenErr;
            break;
        case 6:
            sges_[0] = pair_.ends[side].sge(0, zone::kReceiveSlotBytes + 1);
            wr.opcode = WrOpcode::kSend;
            expected = WcStatus::kRemInvReqErr;
            break;
        default:
            wr.opcode = WrOpcode::kFetchAdd;
            sges_[0].length = 8;
            wr.rkey += 1;
            break;
    }
    wr.sges = sges_;
    wr.wr_id = s.next_wr++;
    s.posted.push_back({wr.wr_id, wr.opcode, true, expected, 0, {}});
    ++outcome_.operations;
    if (pair_.post(side, wr) != PostError::kOk) {
        fail("a bad request was not taken");
    }
}

void ReliableWorkload::end_badly() {
    const Knobs& k = pair_.options.knobs;
    may_exhaust_ = k.drop + k.corrupt + k.reorder + k.duplicate != 0;
    post_receives(1);
    for (std::uint64_t i = prng_.below(4); i != 0; --i) {
        post(0);
    }
    post_bad(0);
    const std::size_t flushed_from = sides_[0].posted.size();
    for (std::uint64_t i = prng_.below(4); i != 0; --i) {
        post(0);
    }
    for (std::size_t i = flushed_from; i < sides_[0].posted.size(); ++i) {
        sides_[0].posted[i].expected = WcStatus::kWrFlushErr;
    }
    pair_.drive();
    for (const Completion& done : pair_.completions(0)) {
        check_op(0, done);
    }
    if (!sides_[0].posted.empty()) {
        fail("a request behind a bad one was never completed");
    }
    if (pair_.ends[0].state() != QpState::kErr) {
        fail("a bad request did not end the connection");
    }
}

}  // namespace softib::transport
