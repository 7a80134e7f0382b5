// SPDX-License-Identifier: BSD-2-Clause
// The contexts of connections that an HCA holds: as many as it has room for. A context that is not
// there is fetched from memory over the bus and takes the place of one at random. So the part of
// packets that find their context is the part of connections that fit.
#include "net/hosts/message_hosts.h"

namespace softib::net {

namespace {

constexpr unsigned kConnectionBits = 24;
constexpr std::uint64_t kReceives = std::uint64_t{1} << 63;

}  // namespace

std::uint64_t MessageHosts::sender_key(const Record& record) const {
    return std::uint64_t{record.to_port} << kConnectionBits | record.connection;
}

/// Returns whether an HCA holds a context. While it has room it holds every context: connections
/// are made before they are used.
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

/// Puts a context that was fetched in the place of one at random.
void MessageHosts::replace(Contexts& at, std::uint64_t key) {
    if (at.place.contains(key)) {
        return;
    }
    const auto victim = static_cast<std::uint32_t>(at.prng.below(at.keys.size()));
    at.place.erase(at.keys[victim]);
    at.keys[victim] = key;
    at.place.emplace(key, victim);
}

/// Returns true if the HCA holds the context of a message, the first of its queue. Otherwise takes
/// the message out of the queue until the context is fetched, and returns false.
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
        ++record.references;  // The message may end meanwhile.
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
    while (at.parked_head != kNone && at.fetching < config_.context_fetches) {
        const std::uint32_t next = at.parked_head;
        at.parked_head = records_[next].next;
        if ((records_[next].state & kEnded) == 0) {
            start_fetch(net, at, next);
        }
        release(next);
    }
}

/// Returns whether the receiver's HCA must fetch the context of a message.
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
