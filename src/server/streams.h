// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Streams of server-sent events. All clients get the same messages. Each client has a queue of
// limited size: a client that does not read loses messages, without delay for others, and is told
// to load everything anew ("resync").
//
// Thread rule: any thread may call anything.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace softib::server {

using MessageText = std::shared_ptr<const std::string>;

/// One client.
class Subscriber {
  public:
    /// Limits of a client's queue. A switch that dies makes some hundred short messages at once;
    /// samples of a large fabric are long, but clients share their texts.
    static constexpr std::size_t kQueued = 4096;
    static constexpr std::size_t kQueuedBytes = std::size_t{8} << 20;

    /// Waits for a message, at most this long. Returns nullptr if none came, or the stream is over.
    MessageText wait(std::chrono::milliseconds patience);
    bool over() const;

  private:
    friend class Streams;
    void push(const MessageText& message);
    void end();

    mutable std::mutex mutex_;
    std::condition_variable woken_;
    std::deque<MessageText> queue_;
    std::size_t queued_bytes_ = 0;
    bool lagged_ = false;
    bool over_ = false;
};

class Streams {
  public:
    explicit Streams(std::size_t most) : most_(most) {}

    /// Adds a client. If it has seen messages up to number `seen`, it gets those after it first, or
    /// a resync if they are no longer kept. Returns nullptr if there are too many clients.
    std::shared_ptr<Subscriber> subscribe(std::optional<std::uint64_t> seen);
    void unsubscribe(const std::shared_ptr<Subscriber>& subscriber);
    /// Sends an event of this name and number, with data of one line.
    void publish(std::uint64_t number, std::string_view event, std::string_view data);
    /// Ends all streams, and accepts no new ones.
    void stop();
    std::size_t clients() const;

  private:
    static constexpr std::size_t kRemembered = 64;
    struct Past {
        std::uint64_t number;
        MessageText text;
    };

    const std::size_t most_;
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<Subscriber>> subscribers_;
    std::deque<Past> past_;
    bool stopped_ = false;
};

}  // namespace softib::server
