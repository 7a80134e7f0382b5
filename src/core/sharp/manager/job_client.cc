// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/manager/job_client.h"

#include <algorithm>
#include <utility>

namespace softib::sharp {

namespace {

wire::SharpJob job_in(const wire::MadBytes& mad) {
    return wire::parse<wire::SharpJob>(
        wire::Sharp<const std::uint8_t>(mad).data().first<wire::SharpJob::kBytes>());
}

/// Returns the question, with the fields from the answer that the manager decides on. Other fields
/// of the answer are ignored, since a manager may write anything there.
wire::SharpJob decided(wire::SharpJob asked, const wire::SharpJob& answer) {
    using Op = wire::SharpJob::Op;
    asked.pending = answer.pending;
    asked.error = answer.error;
    if (asked.op == Op::kCreateJob) {
        asked.job = answer.job;
    } else if (asked.op == Op::kCreateGroup) {
        asked.group = answer.group;
    } else if (asked.op == Op::kStartJob) {
        asked.streams = answer.streams;
        asked.tree = answer.tree;
        asked.root = answer.root;
        asked.depth = answer.depth;
        asked.osts = answer.osts;
        asked.payload_bytes = answer.payload_bytes;
        asked.groups = answer.groups;
    }
    return asked;
}

}  // namespace

void JobClient::ask(Ticket ticket, Lid manager, const wire::SharpJob& request) {
    Question& question = questions_[ticket];
    question = {};
    mad::Packet& packet = question.packet;
    last_transaction_ += last_transaction_ == UINT32_MAX ? 2U : 1U;
    wire::MadRepr{.mgmt_class = wire::MgmtClass::kSharp,
                  .class_version = wire::kSharpClassVersion,
                  .method = wire::Method::kSet,
                  .transaction_id = last_transaction_,
                  .attribute_id = static_cast<std::uint16_t>(wire::SharpAttribute::kJob)}
        .emit(wire::Mad<std::uint8_t>(packet.mad));
    const auto data = wire::Sharp<std::uint8_t>(packet.mad).data();
    wire::emit(request, std::span<std::uint8_t>(data));
    packet.dlid = manager;
    packet.source = mad::kQpnServices;
    packet.destination = mad::kQpnServices;
    packet.qkey = mad::kQKeyServices;
}

std::optional<wire::SharpJob> JobClient::take(Ticket ticket) {
    const auto found = questions_.find(ticket);
    if (found == questions_.end() || !found->second.answer) {
        return std::nullopt;
    }
    const auto answer = found->second.answer;
    questions_.erase(found);
    return answer;
}

wire::SharpJob JobClient::silence(const Question& question) {
    wire::SharpJob answer = job_in(question.packet.mad);
    answer.pending = false;
    answer.error = static_cast<std::uint8_t>(-static_cast<std::int32_t>(Error::kSession));
    return answer;
}

void JobClient::handle(const mad::Packet& packet) {
    const auto header = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(packet.mad));
    if (header.mgmt_class != wire::MgmtClass::kSharp || header.method != wire::Method::kGetResp) {
        return;
    }
    for (auto& [ticket, question] : questions_) {
        const wire::Mad<const std::uint8_t> asked(question.packet.mad);
        if (question.answer || question.packet.dlid != packet.slid ||
            asked.transaction_id() != header.transaction_id ||
            asked.attribute_id() != header.attribute_id) {
            continue;
        }
        question.answer = header.status == wire::mad_status::kOk
                              ? decided(job_in(question.packet.mad), job_in(packet.mad))
                              : silence(question);
        return;
    }
}

void JobClient::handle_timeout(std::uint64_t now_ns) {
    for (auto& [ticket, question] : questions_) {
        if (question.answer || !question.sent || question.due_ns() > now_ns) {
            continue;
        }
        question.sent = false;
        if (++question.tries >= kTries) {
            question.answer = silence(question);
        }
    }
}

std::uint64_t JobClient::next_timeout_ns() const {
    std::uint64_t next = UINT64_MAX;
    for (const auto& [ticket, question] : questions_) {
        if (question.sent && !question.answer) {
            next = std::min(next, question.due_ns());
        }
    }
    return next;
}

std::optional<mad::Packet> JobClient::poll_transmit(std::uint64_t now_ns) {
    for (auto& [ticket, question] : questions_) {
        if (!question.sent && !question.answer) {
            question.sent = true;
            question.sent_ns = now_ns;
            return question.packet;
        }
    }
    return std::nullopt;
}

}  // namespace softib::sharp
