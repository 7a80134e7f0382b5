// SPDX-License-Identifier: BSD-2-Clause
#include "abi/nccl/rendezvous.h"

#include <sys/random.h>

#include <cstring>

#include "abi/nccl/log.h"

namespace softib::abi::nccl {

namespace {

constexpr std::chrono::milliseconds kLetterInterval{50};

std::uint64_t key_of(const Address& address) {
    return std::uint64_t{address.lid} << 32 | address.qpn;
}

Letter letter_from(std::uint32_t kind, std::uint64_t token, const Connection& end,
                   const Mailbox& mailbox) {
    return {.kind = kind,
            .fifo_rkey = end.fifo_rkey(),
            .token = token,
            .fifo_at = end.fifo_at(),
            .connection = end.address(),
            .mailbox = mailbox.address()};
}

}  // namespace

std::uint64_t random_token() {
    std::uint64_t token = 0;
    while (getrandom(&token, sizeof token, 0) != static_cast<ssize_t>(sizeof token)) {
    }
    return token;
}

Listener::Listener(const Device& device)
    : device_(device), mailbox_(device), token_(random_token()) {}

Handle Listener::handle() const {
    return {Handle::kMagic, token_, mailbox_.address(), nullptr};
}

Result Listener::answer(const Letter& letter) {
    auto end = std::make_unique<ReceiveEnd>(device_);
    if (const int error = end->open(); error != 0) {
        warn("%s: cannot create a queue pair for a connection from LID %d: %s",
             device_.name.c_str(), letter.connection.lid, std::strerror(error));
        return kSystemError;
    }
    if (!end->connect(letter.connection)) {
        warn("%s: cannot connect to LID %d", device_.name.c_str(), letter.connection.lid);
        return kSystemError;
    }
    end->set_fifo(letter.fifo_at, letter.fifo_rkey);
    if (const Result result = end->expect_greeting(); result != kSuccess) {
        return result;
    }
    pending_ = std::move(end);
    pending_letter_ = letter;
    return kSuccess;
}

Result Listener::reply(const Letter& letter) {
    if (!mailbox_.send(letter.mailbox, letter_from(Letter::kReply, token_, *pending_, mailbox_))) {
        warn("cannot answer the connection request of LID %d", letter.mailbox.lid);
        return kSystemError;
    }
    return kSuccess;
}

Result Listener::accept(std::unique_ptr<ReceiveEnd>& end) {
    while (const auto letter = mailbox_.receive()) {
        if (letter->kind != Letter::kRequest || letter->token != token_ ||
            served_.contains(key_of(letter->connection))) {
            continue;
        }
        if (pending_ == nullptr) {
            if (const Result result = answer(*letter); result != kSuccess) {
                return result;
            }
        }
        // Other connectors get no reply yet: they send their letters again.
        if (key_of(letter->connection) == key_of(pending_letter_.connection)) {
            if (const Result result = reply(*letter); result != kSuccess) {
                return result;
            }
        }
    }
    if (pending_ == nullptr) {
        return kSuccess;
    }
    if (const Result result = pending_->progress(); result != kSuccess) {
        return result;
    }
    if (pending_->greeted()) {
        served_.insert(key_of(pending_letter_.connection));
        end = std::move(pending_);
    }
    return kSuccess;
}

Connecting::Connecting(const Device& device)
    : end_(std::make_unique<SendEnd>(device)),
      mailbox_(device),
      error_(mailbox_.error() != 0 ? mailbox_.error() : end_->open()) {}

Result Connecting::go_on(const Handle& handle, std::unique_ptr<SendEnd>& end) {
    while (const auto letter = mailbox_.receive()) {
        if (letter->kind != Letter::kReply || letter->token != handle.token) {
            continue;
        }
        if (!end_->connect(letter->connection)) {
            warn("cannot connect to LID %d", letter->connection.lid);
            return kSystemError;
        }
        end = std::move(end_);
        return end->greet();
    }
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_letter_) {
        next_letter_ = now + kLetterInterval;
        if (!mailbox_.send(handle.listener,
                           letter_from(Letter::kRequest, handle.token, *end_, mailbox_))) {
            warn("cannot send a connection request to LID %d", handle.listener.lid);
            return kSystemError;
        }
    }
    return kSuccess;
}

}  // namespace softib::abi::nccl
