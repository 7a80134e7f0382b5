// SPDX-License-Identifier: BSD-2-Clause
// Messages between hosts of two parts of a fabric. The sender's part opens a record in the
// receiver's part before the first packet gets there. The receiver's part closes the message when
// all of it has arrived, before the last answer gets back. Both do so by notes that go with the
// crossings of packets.
//
// In a record of a message that enters this part, `unsent` is the message's number at the sender,
// `unacked` counts the answers that were sent, and `references` the packets to come. In a record of
// a message that leaves this part, `references` counts the answers to come from close() on; until
// then each answer that comes takes one off, so that it goes below zero. message_losses.cc tells
// both ends of packets that are lost.
#include <utility>

#include "core/base/check.h"
#include "net/hosts/message_hosts.h"

namespace softib::net {

void MessageHosts::join_parts(std::vector<Home> home_of_lid, std::uint32_t part,
                              std::uint32_t parts, std::uint32_t hosts) {
    SOFTIB_CHECK(lanes_ == 0 && config_.ack_bytes != 0);
    home_of_lid_ = std::move(home_of_lid);
    part_ = part;
    hosts_elsewhere_ = hosts;
    entered_.resize(parts);
}

void MessageHosts::open(const Engine& net, const Send& send, std::uint32_t index) {
    if (lanes_ == 0) {
        attach(net);
    }
    const std::uint32_t here = make_record();
    Record& record = records_[here];
    set_up(send, record);
    record.state = kEnters;
    record.references = record.packets;
    record.unsent = index;
    record.unacked = 0;
    std::vector<std::uint32_t>& entered = entered_[home_of_lid_[send.source.value].part];
    if (entered.size() <= index) {
        entered.resize(index + 1, kNone);
    }
    entered[index] = here;
}

void MessageHosts::finish_entered(std::uint32_t index) {
    Record& record = records_[index];
    record.state |= kEnded;
    closed_.push_back(
        {.sender = lid_of_[record.port], .index = record.unsent, .answers = record.unacked});
}

}  // namespace softib::net
