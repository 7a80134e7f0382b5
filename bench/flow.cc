// SPDX-License-Identifier: BSD-2-Clause
// Measures what a message costs in the flow model, on non-blocking fat trees with 400 Gb/s, cables
// of 25 ns and switches of 200 ns.
//
//   bench_flow all-to-all|permutation|random HOSTS RADIX LEVELS BYTES ENGINE [STRETCH_PS]
//   bench_flow ring HOSTS RAILS RADIX LEVELS BYTES
//
// all-to-all: every host sends BYTES to every other one, all at once. permutation: every host sends
// BYTES to a random other one. random: every host sends 64 messages of BYTES on average to random
// others, at random times in which its link could just carry them. ring: an all-reduce of BYTES a
// rail; on each rail the hosts form a ring, cut BYTES into as many parts as there are hosts and
// pass one part to the next in each of 2(HOSTS - 1) rounds, as soon as the part before has come
// and their own has left.
//
// It prints one line: messages, steps, flows that were solved for, CPU seconds for fabric and
// routes, CPU seconds of the model, MiB at most, µs until the last message had arrived, and a hash
// of all completions.

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/base/prng.h"
#include "core/topo/spec.h"
#include "measure.h"
#include "net/flow/flow_model.h"

namespace {

using namespace softib;
using bench::cpu_seconds;
using bench::peak_mib;
using bench::stop;
using net::flow::Completion;
using net::flow::FlowModel;
using net::flow::TimePs;

net::Routed route(const topo::Spec& spec, const std::string& engine) {
    auto topology = topo::generate(spec);
    if (!topology) {
        stop(topology.error().message);
    }
    auto routed = net::Routed::make(*std::move(topology), engine, 1);
    if (!routed) {
        stop(routed.error().message);
    }
    return *std::move(routed);
}

/// Hashes all completions into one number, and finds the last arrival.
class Log {
  public:
    void note(const Completion& completion) {
        last_ = std::max(last_, completion.delivered);
        for (const std::uint64_t word : {completion.tag, completion.sent, completion.delivered}) {
            hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15;
            hash_ ^= hash_ >> 29;
        }
    }
    TimePs last() const { return last_; }
    std::uint64_t hash() const { return hash_; }

  private:
    TimePs last_ = 0;
    std::uint64_t hash_ = 0;
};

void send(FlowModel& model, const net::flow::Message& message) {
    if (!model.add(message)) {
        stop(fmt::format("there is no route from end port {} to {}", message.from, message.to));
    }
}

void drain(FlowModel& model, Log& log) {
    while (!model.idle()) {
        for (const Completion& completion : model.step()) {
            log.note(completion);
        }
    }
}

void all_to_all(FlowModel& model, std::uint32_t ends, std::uint64_t bytes, Log& log) {
    for (std::uint32_t from = 0; from < ends; ++from) {
        for (std::uint32_t i = 1; i < ends; ++i) {
            const std::uint32_t to = (from + i) % ends;
            send(model, {.from = from, .to = to, .bytes = bytes, .tag = from});
        }
    }
    drain(model, log);
}

void permutation(FlowModel& model, std::uint32_t ends, std::uint64_t bytes, Log& log) {
    std::vector<std::uint32_t> to(ends);
    std::iota(to.begin(), to.end(), 0);
    Prng prng(42);
    for (std::uint32_t i = ends - 1; i != 0; --i) {
        std::swap(to[i], to[prng.below(i + 1)]);
    }
    for (std::uint32_t from = 0; from < ends; ++from) {
        send(model, {.from = from, .to = to[from], .bytes = bytes, .tag = from});
    }
    drain(model, log);
}

void random_pairs(FlowModel& model, std::uint32_t ends, std::uint64_t bytes, Log& log) {
    constexpr std::uint32_t kEach = 64;  ///< Mean number of messages of a host.
    constexpr TimePs kPsPerByte = 20;
    Prng prng(42);
    for (std::uint32_t i = 0; i < kEach * ends; ++i) {
        const std::uint32_t from = i % ends;
        const auto on = static_cast<std::uint32_t>(1 + prng.below(ends - 1));
        send(model, {.from = from,
                     .to = (from + on) % ends,
                     .bytes = 1 + prng.below(2 * bytes),
                     .start = prng.below(kEach * bytes * kPsPerByte),
                     .tag = i});
    }
    drain(model, log);
}

/// Rings of end ports that pass parts on. The tag of a message is its sender.
class Rings {
  public:
    Rings(FlowModel& model, std::uint32_t hosts, std::uint32_t rails, std::uint64_t bytes)
        : model_(model),
          rails_(rails),
          rounds_(2 * (hosts - 1)),
          part_bytes_((bytes + hosts - 1) / hosts),
          places_(std::size_t{hosts} * rails) {}

    void run(Log& log) {
        for (std::uint32_t end = 0; end < places_.size(); ++end) {
            begin(end, 0);
        }
        while (!model_.idle()) {
            for (const Completion& completion : model_.step()) {
                log.note(completion);
                const auto from = static_cast<std::uint32_t>(completion.tag);
                Place& sender = places_[from];
                ++sender.sent;
                sender.sent_at = completion.sent;
                Place& receiver = places_[next(from)];
                receiver.came[receiver.received++ % kAhead] = completion.delivered;
                go_on(from);
                go_on(next(from));
            }
        }
    }

  private:
    static constexpr std::uint32_t kAhead = 4;  ///< Most parts that wait to be passed on.

    struct Place {
        std::uint32_t begun = 0;
        std::uint32_t sent = 0;
        std::uint32_t received = 0;
        TimePs sent_at = 0;
        std::array<TimePs, kAhead> came{};
    };

    std::uint32_t next(std::uint32_t end) const {
        const auto after = static_cast<std::uint32_t>(end + rails_);
        return after < places_.size() ? after : after - static_cast<std::uint32_t>(places_.size());
    }
    void begin(std::uint32_t end, TimePs at) {
        ++places_[end].begun;
        send(model_, {.from = end, .to = next(end), .bytes = part_bytes_, .start = at, .tag = end});
    }
    void go_on(std::uint32_t end) {
        const Place& place = places_[end];
        if (place.received > place.begun + kAhead) {
            stop("a host is too far ahead of the next one");
        }
        if (place.sent == place.begun && place.received >= place.begun && place.begun < rounds_) {
            begin(end, std::max(place.sent_at, place.came[(place.begun - 1) % kAhead]));
        }
    }

    FlowModel& model_;
    std::uint32_t rails_;
    std::uint32_t rounds_;
    std::uint64_t part_bytes_;
    std::vector<Place> places_;  ///< Progress of each end port.
};

}  // namespace

int main(int argc, char** argv) {
    const std::string work = argc > 1 ? argv[1] : "";
    const bool ring = work == "ring";
    if (argc < (work == "all-to-all" ? 6 : 7)) {
        stop(
            "usage: bench_flow all-to-all|permutation HOSTS RADIX LEVELS BYTES ENGINE\n"
            "       bench_flow ring HOSTS RAILS RADIX LEVELS BYTES");
    }
    const auto number = [&](int place) {
        return static_cast<std::uint32_t>(std::atol(argv[place]));
    };
    const std::uint32_t rails = ring ? number(3) : 1;
    const int rest = ring ? 4 : 3;
    const net::Routed routed = route({.shape = topo::Shape::kFatTree,
                                      .hosts = number(2),
                                      .hcas_per_host = rails,
                                      .radix = number(rest),
                                      .levels = number(rest + 1)},
                                     ring ? "ftree" : argv[6]);
    const net::flow::FlowNetwork network(routed, {.cable_ps = 25'000, .switch_ps = 200'000});
    const double begin = cpu_seconds();
    const TimePs stretch_ps = !ring && argc > 7 ? number(7) : net::flow::FlowConfig{}.stretch_ps;
    FlowModel model(network, {.stretch_ps = stretch_ps});
    Log log;
    if (ring) {
        Rings(model, number(2), rails, number(rest + 2)).run(log);
    } else if (work == "all-to-all") {
        all_to_all(model, network.end_count(), number(rest + 2), log);
    } else if (work == "random") {
        random_pairs(model, network.end_count(), number(rest + 2), log);
    } else {
        permutation(model, network.end_count(), number(rest + 2), log);
    }
    const FlowModel::Stats stats = model.stats();
    fmt::print("{} {} {} {:.3f} {:.3f} {:.1f} {:.3f} {:016x}\n", stats.messages, stats.steps,
               stats.settled, begin, cpu_seconds() - begin, peak_mib(),
               static_cast<double>(log.last()) * 1e-6, log.hash());
    return 0;
}
