// SPDX-License-Identifier: BSD-2-Clause
// The contexts of connections that an adapter holds: as many as it has room for. One that is not
// there is fetched from memory over the bus and takes the place of one at random, so that the part
// of packets that find theirs is that of the connections that fit.
#include "net/hosts/message_hosts.h"

namespace softib::net {

namespace {

constexpr unsigned kConnectionBits = 24;
constexpr std::uint64_t kReceives = std::uint64_t{1} << 63;

}  // namespace

std::uint64_t MessageHosts::sender_key(const Record& record) const {
    return std::uint64_t{record.to_port} << kConnectionBits | record.connection;
}

/// Whether it is there. While there is room, it is: connections are made before they are used.
bool MessageHosts::holds(Contexts& at, std::uint64_t key) {
    if (at.place.contains(key)) {
        return true;
    }
    if (at.keys.size() >= config_.context_entries) {
        return false;
    }
    at.place.emplace(key, static_cast<std::uint32_t>(at.keys.size()));
    at.keys.push_back(key);
    return true;
}

void MessageHosts::replace(Contexts& at, std::uint64_t key) {
    if (at.place.contains(key)) {
        return;
    }
    const auto victim = static_cast<std::uint32_t>(at.prng.below(at.keys.size()));
    at.place.erase(at.keys[victim]);
    at.keys[victim] = key;
    at.place.emplace(key, victim);
}

/// True: the message, which is the first of its queue, may send. Else it leaves the queue until its
/// context is there.
bool MessageHosts::fetch_context(Engine& net, std::uint32_t index) {
    Record& record = records_[index];
    Contexts& at = contexts(record.port);
    if ((record.state & kContext) != 0 || holds(at, sender_key(record))) {
        return true;
    }
    ++stats_.context_misses;
    pop(turns(record.port, record.vl));
    record.state |= kHeld;
    if (at.fetching < config_.context_fetches) {
        start_fetch(net, at, index);
    } else {
        record.next = kNone;
        (at.parked_head == kNone ? at.parked_head : records_[at.parked_tail].next) = index;
        at.parked_tail = index;
    }
    return false;
}

void MessageHosts::start_fetch(Engine& net, Contexts& at, std::uint32_t index) {
    ++at.fetching;
    set_timer(net, index, net.now() + config_.pcie_round_trip_ps, Timer::kFetched);
}

void MessageHosts::end_fetch(Engine& net, std::uint32_t index) {
    Record& record = records_[index];
    Contexts& at = contexts(record.port);
    --at.fetching;
    replace(at, sender_key(record));
    record.state = static_cast<std::uint8_t>((record.state & ~kHeld) | kContext);
    wake(index, Place::kLast);
    if (at.parked_head != kNone) {
        const std::uint32_t next = at.parked_head;
        at.parked_head = records_[next].next;
        start_fetch(net, at, next);
    }
}

bool MessageHosts::receiver_misses(const Record& record) {
    Contexts& at = contexts(record.to_port);
    const std::uint64_t key =
        kReceives | std::uint64_t{record.port} << kConnectionBits | record.connection;
    if (holds(at, key)) {
        return false;
    }
    ++stats_.context_misses;
    replace(at, key);
    return true;
}

}  // namespace softib::net
