// SPDX-License-Identifier: BSD-2-Clause
#include "server/streams.h"

#include <fmt/format.h>

#include <algorithm>

namespace softib::server {

namespace {

const MessageText& resync_text() {
    static const MessageText text =
        std::make_shared<const std::string>("event: resync\ndata: {}\n\n");
    return text;
}

}  // namespace

MessageText Subscriber::wait(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, patience, [this] { return over_ || lagged_ || !queue_.empty(); });
    if (over_) {
        return nullptr;
    }
    if (lagged_) {
        lagged_ = false;
        return resync_text();
    }
    if (queue_.empty()) {
        return nullptr;
    }
    MessageText next = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= next->size();
    return next;
}

bool Subscriber::over() const {
    const std::lock_guard lock(mutex_);
    return over_;
}

void Subscriber::push(const MessageText& message) {
    {
        const std::lock_guard lock(mutex_);
        const bool full =
            queue_.size() >= kQueued || queued_bytes_ + message->size() > kQueuedBytes;
        if (full && !queue_.empty()) {
            queue_.clear();  // The client must load everything anew, so these are of no use.
            queued_bytes_ = 0;
            lagged_ = true;
        }
        queue_.push_back(message);
        queued_bytes_ += message->size();
    }
    woken_.notify_one();
}

void Subscriber::end() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    woken_.notify_one();
}

std::shared_ptr<Subscriber> Streams::subscribe(std::optional<std::uint64_t> seen) {
    const std::lock_guard lock(mutex_);
    if (stopped_ || subscribers_.size() >= most_) {
        return nullptr;
    }
    auto subscriber = std::make_shared<Subscriber>();
    if (seen && !past_.empty()) {
        if (past_.front().number > *seen + 1) {
            subscriber->push(resync_text());
        } else {
            for (const Past& past : past_) {
                if (past.number > *seen) {
                    subscriber->push(past.text);
                }
            }
        }
    }
    subscribers_.push_back(subscriber);
    return subscriber;
}

void Streams::unsubscribe(const std::shared_ptr<Subscriber>& subscriber) {
    const std::lock_guard lock(mutex_);
    std::erase(subscribers_, subscriber);
}

void Streams::publish(std::uint64_t number, std::string_view event, std::string_view data) {
    const auto text = std::make_shared<const std::string>(
        fmt::format("id: {}\nevent: {}\ndata: {}\n\n", number, event, data));
    const std::lock_guard lock(mutex_);
    past_.push_back({number, text});
    if (past_.size() > kRemembered) {
        past_.pop_front();
    }
    for (const auto& subscriber : subscribers_) {
        subscriber->push(text);
    }
}

void Streams::stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const auto& subscriber : subscribers_) {
        subscriber->end();
    }
}

std::size_t Streams::clients() const {
    const std::lock_guard lock(mutex_);
    return subscribers_.size();
}

}  // namespace softib::server
