// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Patterns of traffic as values: which end port sends how much to which other one, and when. No
// model of the network is needed here. A Schedule lists the messages of one traffic, sender by
// sender; what is random in it depends on its seed alone.

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
    kPermutation,  ///< Each port sends to one other at random and receives from one other.
    kShift,        ///< Each port sends to the one `shift` places on.
    kGroupShift,   ///< Each port sends to the port at its own place in the group `shift` groups on.
    kBisection,    ///< Random pairs across two random halves; both of a pair send.
    kIncast,       ///< `sources` senders send to one target.
    kAllToAll,     ///< Each port sends to every other, beginning with the next one.
    kRandom,       ///< Each message goes to another port at random.
    kHotspot,      ///< As kRandom, but a part of the messages go to one target.
    kPairs,        ///< The pairs in Traffic::pairs.
    kRing,         ///< Each port sends to the next, again when a message has come: ring all-reduce.
    /// Switches reduce a vector of each port (SHARP). It has no messages, so no Schedule either.
    kSharpAllReduce,
};
inline constexpr std::array kAllPatterns{
    Pattern::kPermutation, Pattern::kShift,    Pattern::kGroupShift,    Pattern::kBisection,
    Pattern::kIncast,      Pattern::kAllToAll, Pattern::kRandom,        Pattern::kHotspot,
    Pattern::kPairs,       Pattern::kRing,     Pattern::kSharpAllReduce};
std::optional<Pattern> parse_pattern(std::string_view text);
const char* to_string(Pattern pattern);
/// Returns the names of all patterns: "permutation, shift, ...".
std::string pattern_names();

struct Pair {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint64_t bytes = 0;  ///< Bytes of a message; 0: Traffic::bytes.
    friend bool operator==(const Pair&, const Pair&) = default;
};

struct Traffic {
    Pattern pattern = Pattern::kPermutation;
    std::uint64_t bytes = 1'000'000;           ///< Bytes of a message.
    std::vector<std::uint32_t> among = {};     ///< End ports that take part; empty: all.
    std::uint32_t shift = 1;                   ///< Shift and group shift: how far.
    std::vector<std::uint32_t> group_of = {};  ///< Group shift: the group of each end port, from 0.
    std::uint32_t target = 0;                  ///< Incast, hotspot: the receiving end port.
    std::uint32_t sources = 0;                 ///< Incast: number of senders; 0: all others.
    double hot = 0.2;  ///< Hotspot: the part of messages that go to the target.
    std::vector<Pair> pairs = {};
    TimePs start = 0;
    std::uint32_t repetitions = 1;  ///< Messages (all-to-all: rounds) of each sender.
    /// Messages that each sender has under way at once; 0: one (all-to-all: all).
    std::uint32_t outstanding = 0;
    /// Open loop: each sender begins messages at this rate in bits per second, whatever becomes of
    /// them. 0: closed loop, a sender begins its next message when one is acknowledged.
    double rate = 0;
    /// Queue pairs between two end ports; each message takes one of them at random.
    std::uint32_t connections = 1;
    std::uint8_t sl = 0;
};

/// Returns the number of the end port of this name.
using FindEnd = std::function<std::expected<std::uint32_t, std::string>(std::string_view)>;
/// Parses the lines "FROM TO [SIZE]" of a file, with comments behind '#'. Errors begin with the
/// number of the line.
std::expected<std::vector<Pair>, std::string> parse_pairs(std::string_view text,
                                                          const FindEnd& find);

/// The next message of a sender.
struct Planned {
    std::uint32_t to = 0;
    std::uint64_t bytes = 0;
    std::uint32_t connection = 0;
};

/// The messages of one traffic, sender by sender.
class Schedule {
  public:
    /// Makes the schedule of a traffic in a fabric of `ends` end ports. The error says which field
    /// of the traffic does not fit.
    static std::expected<Schedule, std::string> make(const Traffic& traffic, std::uint32_t ends,
                                                     std::uint64_t seed);

    const Traffic& traffic() const { return traffic_; }
    /// Returns the number of senders; an end port that a list of pairs names twice counts twice.
    std::uint32_t sender_count() const { return static_cast<std::uint32_t>(senders_.size()); }
    std::uint32_t end_of(std::uint32_t sender) const { return senders_[sender].end; }
    /// Returns the number of messages that each sender has in all.
    std::uint64_t messages_each() const { return messages_each_; }
    std::uint64_t messages() const { return messages_each_ * sender_count(); }
    std::uint64_t bytes() const;
    /// Takes the next message of a sender, which must have one left.
    Planned next(std::uint32_t sender);
    /// Returns when a sender's next message begins in an open loop; in a closed loop, when the
    /// traffic starts.
    TimePs next_at(std::uint32_t sender) const;
    /// Returns the number of messages that a sender has not taken yet.
    std::uint64_t left(std::uint32_t sender) const {
        return messages_each_ - senders_[sender].taken;
    }
    /// Returns whether a sender begins its next message when one has been delivered to it, instead
    /// of when its own last one is acknowledged.
    bool passes_on() const { return traffic_.pattern == Pattern::kRing; }
    /// Returns the sender at the end port that this one sends to, in a schedule that passes on.
    std::uint32_t following(std::uint32_t sender) const { return (sender + 1) % sender_count(); }
    /// Returns the number of messages of a sender that may be under way at once.
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
    std::expected<void, std::string> check_shift() const;
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
