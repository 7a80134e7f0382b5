// SPDX-License-Identifier: BSD-2-Clause
#include "net/sharp/aggregation_host.h"

#include <algorithm>
#include <utility>

namespace softib::net {

namespace {

constexpr std::uint32_t kSends = 64;  ///< Most unacknowledged sends of a queue pair.
/// Room in the completion queue. The host polls it after each packet, which completes fewer
/// requests than this.
constexpr std::uint32_t kCompletions = 4 * kSends;

}  // namespace

AggregationHost::AggregationHost(sharp::AggregationTables& tables)
    : tables_(tables),
      node_(tables),
      hca_(memory_, hca::Port{},
           {.qps = tables.info().max_num_qps, .cqs = 1, .srqs = 1, .events = 64}),
      cq_(*hca_.create_cq(kCompletions)),
      port_(hca_, {.cq = cq_, .sends = kSends}) {}

void AggregationHost::follow_tables() {
    if (std::exchange(writes_seen_, tables_.writes()) == tables_.writes()) {
        return;
    }
    using wire::SharpQpcConfig;
    const auto is_wanted = [](const SharpQpcConfig& context) {
        return context.state == SharpQpcConfig::State::kActive &&
               context.transport == SharpQpcConfig::Transport::kRc;
    };
    for (const Qpn qpn : port_.open_pairs()) {
        const SharpQpcConfig* const now = tables_.qp(qpn);
        if (now == nullptr || !is_wanted(*now) || *now != *port_.find(qpn)) {
            port_.close(qpn);
        }
    }
    for (const auto& [qpn, context] : tables_.qps()) {
        if (is_wanted(context) && port_.find(qpn) == nullptr) {
            port_.open(context);
        }
    }
}

std::size_t AggregationHost::receive() {
    const std::size_t before = departures_.size();
    while (const auto done = hca_.poll_completion(cq_)) {
        if (const auto arrived = port_.take(*done)) {
            node_.handle_packet(arrived->at, arrived->bytes);
        } else if (port_.has_failed(done->qpn) &&
                   std::ranges::find(lost_, done->qpn) == lost_.end()) {
            lost_.push_back(done->qpn);
        }
    }
    while (hca_.poll_event()) {
        // Events are dropped: a connection that fails also shows in its completions.
    }
    while (auto departure = node_.poll_transmit()) {
        departures_.push_back(std::move(*departure));
    }
    return departures_.size() - before;
}

wire::SharpPerformanceCounters AggregationHost::counters() const {
    using hca::Counted;
    wire::SharpPerformanceCounters counted = std::as_const(tables_).counters();
    counted.retry_packet_sent = hca_.counter(Counted::kRetransmit);
    counted.timeout_event = hca_.counter(Counted::kTimeout);
    counted.rnr_event = hca_.counter(Counted::kNotReady);
    for (const Counted dropped :
         {Counted::kBadLid, Counted::kNoQp, Counted::kWrongService, Counted::kWrongState,
          Counted::kBadPKey, Counted::kBadLength, Counted::kOutOfSequence, Counted::kDuplicate,
          Counted::kGhost, Counted::kBadResponse, Counted::kInvalidRequest}) {
        counted.packet_discard_transport += hca_.counter(dropped);
    }
    return counted;
}

void AggregationHost::transmit(std::size_t packets) {
    for (; packets != 0 && !departures_.empty(); --packets) {
        port_.send(departures_.front().from, std::move(departures_.front().bytes));
        departures_.pop_front();
    }
}

}  // namespace softib::net
