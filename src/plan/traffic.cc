// SPDX-License-Identifier: BSD-2-Clause
#include "plan/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace softib::plan {

namespace {

constexpr std::array<const char*, kAllPatterns.size()> kPatterns{
    "permutation", "shift",   "group-shift", "bisection", "incast",         "all-to-all",
    "random",      "hotspot", "pairs",       "ring",      "sharp-allreduce"};

void shuffle(std::vector<std::uint32_t>& all, Prng& prng) {
    for (std::size_t i = all.size(); i > 1; --i) {
        std::swap(all[i - 1], all[prng.below(i)]);
    }
}

bool has_target(Pattern pattern) {
    return pattern == Pattern::kIncast || pattern == Pattern::kHotspot;
}

/// Returns the words of a line up to '#'.
std::vector<std::string_view> split_line(std::string_view line) {
    line = line.substr(0, line.find('#'));
    std::vector<std::string_view> words;
    constexpr std::string_view kBlank = " \t\r,";
    for (std::size_t at = line.find_first_not_of(kBlank); at != line.npos;) {
        const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(kBlank, end);
    }
    return words;
}

}  // namespace

std::optional<Pattern> parse_pattern(std::string_view text) {
    const auto found = std::ranges::find(kAllPatterns, text, to_string);
    return found == kAllPatterns.end() ? std::nullopt : std::optional(*found);
}

const char* to_string(Pattern pattern) {
    return kPatterns[static_cast<std::size_t>(pattern)];
}

std::string pattern_names() {
    std::string names;
    for (const char* const name : kPatterns) {
        names += (names.empty() ? "" : ", ") + std::string(name);
    }
    return names;
}

std::expected<std::vector<Pair>, std::string> parse_pairs(std::string_view text,
                                                          const FindEnd& find) {
    std::vector<Pair> pairs;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::vector<std::string_view> words = split_line(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (words.empty()) {
            continue;
        }
        const auto refuse = [&](const std::string& why) {
            return std::unexpected(fmt::format("{}: {}", number, why));
        };
        if (words.size() != 2 && words.size() != 3) {
            return refuse("write a line as FROM TO [SIZE]");
        }
        const auto from = find(words[0]);
        const auto to = find(words[1]);
        if (!from || !to) {
            return refuse(from ? to.error() : from.error());
        }
        std::uint64_t bytes = 0;
        if (words.size() == 3) {
            const auto size = parse_size(words[2]);
            if (!size) {
                return refuse("the size " + size.error());
            }
            bytes = *size;
        }
        pairs.push_back({*from, *to, bytes});
    }
    if (pairs.empty()) {
        return std::unexpected("1: there is no line FROM TO [SIZE]");
    }
    return pairs;
}

Schedule::Schedule(const Traffic& traffic, std::vector<std::uint32_t> among, std::uint64_t seed)
    : traffic_(traffic), among_(std::move(among)), prng_(seed) {}

std::expected<Schedule, std::string> Schedule::make(const Traffic& traffic, std::uint32_t ends,
                                                    std::uint64_t seed) {
    std::vector<std::uint32_t> among = traffic.among;
    if (among.empty()) {
        among.resize(ends);
        std::iota(among.begin(), among.end(), 0U);
    }
    Schedule schedule(traffic, std::move(among), seed);
    if (auto checked = schedule.check(ends); !checked) {
        return std::unexpected(checked.error());
    }
    schedule.fill();
    return schedule;
}

/// Refuses a shift by which every port would send to itself, or that goes around the ring.
std::expected<void, std::string> Schedule::check_shift() const {
    std::size_t places = 0;
    if (traffic_.pattern == Pattern::kShift) {
        places = among_.size();
    } else if (traffic_.pattern == Pattern::kGroupShift) {
        std::vector<std::uint32_t> groups;
        for (const std::uint32_t end : among_) {
            groups.push_back(traffic_.group_of[end]);
        }
        std::ranges::sort(groups);
        groups.erase(std::ranges::unique(groups).begin(), groups.end());
        places = groups.size();
    }
    if (places == 0 || (traffic_.shift != 0 && traffic_.shift < places)) {
        return {};
    }
    if (traffic_.shift % places != 0) {
        return std::unexpected(
            fmt::format("a shift of {} is more than the {} {}: take one from 1 "
                        "to {}",
                        traffic_.shift, places,
                        traffic_.pattern == Pattern::kShift ? "hosts" : "groups", places - 1));
    }
    return std::unexpected(fmt::format(
        "a shift of {} among {} {} sends from every host to {}: take a shift from 1 to {}",
        traffic_.shift, places, traffic_.pattern == Pattern::kShift ? "hosts" : "groups",
        traffic_.pattern == Pattern::kShift ? "itself" : "its own group", places - 1));
}

std::expected<void, std::string> Schedule::check(std::uint32_t ends) const {
    if (traffic_.pattern != Pattern::kPairs && among_.size() < 2) {
        return std::unexpected(
            fmt::format("{} needs two hosts at least", to_string(traffic_.pattern)));
    }
    if (has_target(traffic_.pattern) && traffic_.target >= ends) {
        return std::unexpected("its target is no host of this fabric");
    }
    if (traffic_.pattern == Pattern::kIncast && traffic_.sources >= among_.size() &&
        traffic_.sources != 0) {
        return std::unexpected(
            fmt::format("an incast of {} senders needs as many hosts besides "
                        "its target, and there are {}",
                        traffic_.sources, among_.size() - 1));
    }
    if (traffic_.pattern == Pattern::kGroupShift && traffic_.group_of.size() != ends) {
        return std::unexpected(
            "group-shift is for fabrics of groups: take topology dragonfly or dragonfly-plus, or "
            "shift");
    }
    if (traffic_.pattern == Pattern::kRing && traffic_.rate != 0) {
        return std::unexpected(
            "in a ring everybody sends when something has come: leave the rate out, or take shift");
    }
    if (traffic_.pattern == Pattern::kSharpAllReduce) {
        return std::unexpected("sharp-allreduce has no messages: it is a run of its own");
    }
    if (const auto moved = check_shift(); !moved) {
        return moved;
    }
    if (traffic_.repetitions == 0 || traffic_.connections == 0) {
        return std::unexpected("repetitions and connections are 1 at least");
    }
    return {};
}

void Schedule::add(std::uint32_t end, std::uint32_t partner, std::uint64_t bytes) {
    Sender sender{.end = end,
                  .partner = partner,
                  .bytes = bytes != 0 ? bytes : traffic_.bytes,
                  .taken = 0,
                  .first_at = traffic_.start,
                  .prng = Prng(prng_.next())};
    if (traffic_.rate != 0) {
        // Each sender begins at a random moment of its first interval, so that they are not in
        // step.
        sender.first_at += sender.prng.below(std::max<TimePs>(interval(sender.bytes), 1));
    }
    senders_.push_back(sender);
}

void Schedule::fill() {
    messages_each_ = traffic_.repetitions;
    switch (traffic_.pattern) {
        case Pattern::kPermutation:
            permute();
            break;
        case Pattern::kShift:
            for (std::size_t i = 0; i < among_.size(); ++i) {
                add(among_[i], among_[(i + traffic_.shift) % among_.size()]);
            }
            break;
        case Pattern::kRing:
            for (std::size_t i = 0; i < among_.size(); ++i) {
                add(among_[i], among_[(i + 1) % among_.size()]);
            }
            break;
        case Pattern::kGroupShift:
            shift_groups();
            break;
        case Pattern::kBisection:
            bisect();
            break;
        case Pattern::kIncast: {
            const std::size_t wanted = traffic_.sources != 0 ? traffic_.sources : among_.size();
            for (const std::uint32_t end : among_) {
                if (end != traffic_.target && senders_.size() < wanted) {
                    add(end, traffic_.target);
                }
            }
            break;
        }
        case Pattern::kAllToAll:
            messages_each_ *= among_.size() - 1;
            [[fallthrough]];
        case Pattern::kRandom:
        case Pattern::kHotspot:
            for (std::uint32_t i = 0; i < among_.size(); ++i) {
                add(among_[i], i);
            }
            break;
        case Pattern::kPairs:
            for (const Pair& pair : traffic_.pairs) {
                add(pair.from, pair.to, pair.bytes);
            }
            break;
        case Pattern::kSharpAllReduce:
            break;
    }
}

/// Adds a random permutation without fixed points: a port that would send to itself changes its
/// target with the next one.
void Schedule::permute() {
    std::vector<std::uint32_t> to = among_;
    shuffle(to, prng_);
    for (std::size_t i = 0; i < to.size(); ++i) {
        if (to[i] == among_[i]) {
            std::swap(to[i], to[(i + 1) % to.size()]);
        }
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        add(among_[i], to[i]);
    }
}

/// Adds the senders of a group shift. If the other group is smaller, several senders share a
/// target.
void Schedule::shift_groups() {
    std::vector<std::vector<std::uint32_t>> groups;
    for (const std::uint32_t end : among_) {
        groups.resize(std::max<std::size_t>(groups.size(), traffic_.group_of[end] + 1));
        groups[traffic_.group_of[end]].push_back(end);
    }
    std::erase_if(groups, [](const auto& group) { return group.empty(); });
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const std::vector<std::uint32_t>& to = groups[(g + traffic_.shift) % groups.size()];
        for (std::size_t i = 0; i < groups[g].size(); ++i) {
            add(groups[g][i], to[i % to.size()]);
        }
    }
}

void Schedule::bisect() {
    std::vector<std::uint32_t> order = among_;
    shuffle(order, prng_);
    for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
        add(order[i], order[i + 1]);
        add(order[i + 1], order[i]);
    }
}

/// Draws a target. Sender::partner is here the sender's own position among those that take part.
std::uint32_t Schedule::draw(Sender& sender) {
    constexpr std::uint64_t kParts = 1'000'000;
    if (traffic_.pattern == Pattern::kHotspot && sender.end != traffic_.target &&
        sender.prng.below(kParts) <
            static_cast<std::uint64_t>(traffic_.hot * static_cast<double>(kParts))) {
        return traffic_.target;
    }
    const std::uint64_t other = 1 + sender.prng.below(among_.size() - 1);
    return among_[(sender.partner + other) % among_.size()];
}

Planned Schedule::next(std::uint32_t number) {
    Sender& sender = senders_[number];
    const std::uint64_t place = sender.taken++;
    Planned planned{.to = sender.partner, .bytes = sender.bytes};
    if (traffic_.pattern == Pattern::kAllToAll) {
        planned.to = among_[(sender.partner + 1 + place % (among_.size() - 1)) % among_.size()];
    } else if (traffic_.pattern == Pattern::kRandom || traffic_.pattern == Pattern::kHotspot) {
        planned.to = draw(sender);
    }
    if (traffic_.connections > 1) {
        planned.connection = static_cast<std::uint32_t>(sender.prng.below(traffic_.connections));
    }
    return planned;
}

TimePs Schedule::interval(std::uint64_t bytes) const {
    return static_cast<TimePs>(std::llround(static_cast<double>(bytes) * 8e12 / traffic_.rate));
}

TimePs Schedule::next_at(std::uint32_t number) const {
    const Sender& sender = senders_[number];
    return traffic_.rate == 0 ? traffic_.start
                              : sender.first_at + sender.taken * interval(sender.bytes);
}

std::uint64_t Schedule::bytes() const {
    std::uint64_t sum = 0;
    for (const Sender& sender : senders_) {
        sum += sender.bytes * messages_each_;
    }
    return sum;
}

std::uint32_t Schedule::outstanding() const {
    if (traffic_.outstanding != 0) {
        return traffic_.outstanding;
    }
    return traffic_.pattern == Pattern::kAllToAll ? UINT32_MAX : 1;
}

}  // namespace softib::plan
