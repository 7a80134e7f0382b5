// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Who sends how much to whom, and when: patterns of traffic as values, without any model of the
// network. A Schedule says the messages of one traffic, sender by sender; it draws at random what
// is random, from its seed alone.

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/prng.h"
#include "plan/units.h"

namespace softib::plan {

enum class Pattern : std::uint8_t {
    kPermutation,  ///< Everybody to one other at random, everybody from one other.
    kShift,        ///< Everybody to the one `shift` places on.
    kGroupShift,   ///< Everybody to the one at his place `shift` groups on.
    kBisection,    ///< Two random halves, each to a partner in the other half, both ways.
    kIncast,       ///< `sources` senders to one target.
    kAllToAll,     ///< Everybody to everybody else, beginning with the next one.
    kRandom,       ///< Each message to another at random.
    kHotspot,      ///< The same, but a part of them to one target.
    kPairs,        ///< As listed.
    kRing,         ///< To the next one, further messages as they come: a ring all-reduce.
};
inline constexpr std::array kAllPatterns{
    Pattern::kPermutation, Pattern::kShift,    Pattern::kGroupShift, Pattern::kBisection,
    Pattern::kIncast,      Pattern::kAllToAll, Pattern::kRandom,     Pattern::kHotspot,
    Pattern::kPairs,       Pattern::kRing};
std::optional<Pattern> parse_pattern(std::string_view text);
const char* to_string(Pattern pattern);
/// "permutation, shift, ..."
std::string pattern_names();

struct Pair {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint64_t bytes = 0;  ///< 0: as the traffic says.
    friend bool operator==(const Pair&, const Pair&) = default;
};

struct Traffic {
    Pattern pattern = Pattern::kPermutation;
    std::uint64_t bytes = 1'000'000;        ///< Of a message.
    std::vector<std::uint32_t> among = {};  ///< End ports that take part; empty: all.
    std::uint32_t shift = 1;
    std::vector<std::uint32_t> group_of = {};  ///< Group shift: by end port, from 0 on.
    std::uint32_t target = 0;                  ///< Incast, hotspot: an end port.
    std::uint32_t sources = 0;                 ///< Incast: how many; 0: all others.
    double hot = 0.2;  ///< Hotspot: the part of messages that go to the target.
    std::vector<Pair> pairs = {};
    TimePs start = 0;
    std::uint32_t repetitions = 1;  ///< Messages (all-to-all: rounds) of each sender.
    std::uint32_t outstanding = 0;  ///< Of each sender at once; 0: one (all-to-all: all).
    /// Open loop: each sender begins messages at this rate in bits per second, whatever becomes of
    /// them; 0: closed loop, the next one follows an acknowledgement.
    double rate = 0;
    std::uint32_t connections = 1;  ///< Queue pairs between two ends; each message takes one.
    std::uint8_t sl = 0;
};

/// The lines "FROM TO [SIZE]" of a file, with comments behind '#'; `find` says the number of an end
/// port. Errors begin with the number of the line.
using FindEnd = std::function<std::expected<std::uint32_t, std::string>(std::string_view)>;
std::expected<std::vector<Pair>, std::string> parse_pairs(std::string_view text,
                                                          const FindEnd& find);

/// Next message of a sender.
struct Planned {
    std::uint32_t to = 0;
    std::uint64_t bytes = 0;
    std::uint32_t connection = 0;
};

class Schedule {
  public:
    /// Among `ends` end ports; the message says what does not fit.
    static std::expected<Schedule, std::string> make(const Traffic& traffic, std::uint32_t ends,
                                                     std::uint64_t seed);

    const Traffic& traffic() const { return traffic_; }
    /// Senders in order; one that a list of pairs names twice is there twice.
    std::uint32_t sender_count() const { return static_cast<std::uint32_t>(senders_.size()); }
    std::uint32_t end_of(std::uint32_t sender) const { return senders_[sender].end; }
    /// Messages of each sender.
    std::uint64_t messages_each() const { return messages_each_; }
    std::uint64_t messages() const { return messages_each_ * sender_count(); }
    std::uint64_t bytes() const;
    /// The next message of a sender, who has not had all of them.
    Planned next(std::uint32_t sender);
    /// Open loop: when the next one begins.
    TimePs next_at(std::uint32_t sender) const;
    std::uint64_t left(std::uint32_t sender) const {
        return messages_each_ - senders_[sender].taken;
    }
    /// Whether a sender begins its next message when one has come to it, not when its last one is
    /// acknowledged.
    bool passes_on() const { return traffic_.pattern == Pattern::kRing; }
    /// The sender at the end that this one sends to, where they pass on.
    std::uint32_t following(std::uint32_t sender) const { return (sender + 1) % sender_count(); }
    /// Messages of a sender that may be under way at once.
    std::uint32_t outstanding() const;

  private:
    struct Sender {
        std::uint32_t end = 0;
        std::uint32_t partner = 0;
        std::uint64_t bytes = 0;
        std::uint64_t taken = 0;
        TimePs first_at = 0;
        Prng prng;
    };

    Schedule(const Traffic& traffic, std::vector<std::uint32_t> among, std::uint64_t seed);
    std::expected<void, std::string> check(std::uint32_t ends) const;
    void add(std::uint32_t end, std::uint32_t partner, std::uint64_t bytes = 0);
    void fill();
    void permute();
    void bisect();
    void shift_groups();
    std::uint32_t draw(Sender& sender);
    TimePs interval(std::uint64_t bytes) const;

    Traffic traffic_;
    std::vector<std::uint32_t> among_ = {};
    Prng prng_;
    std::vector<Sender> senders_ = {};
    std::uint64_t messages_each_ = 0;
};

}  // namespace softib::plan
