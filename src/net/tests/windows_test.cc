// SPDX-License-Identifier: BSD-2-Clause
// Events of switches by windows: a run is the same as with one queue, to the last bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/base/prng.h"
#include "core/topo/spec.h"
#include "net/engine/window_queue.h"
#include "net/sim/test_simulation.h"
#include "net/tests/test_fabrics.h"

namespace softib::net {
namespace {

constexpr TimePs kWindow = 1000;

/// An event that was taken: (time, rank, kind).
using Taken = std::tuple<TimePs, std::uint32_t, int>;
std::vector<Taken> take_all(WindowQueue& queue, std::uint32_t bin, TimePs end) {
    std::vector<Taken> taken;
    WindowQueue::Item item = 0;
    queue.open(bin);
    while (queue.take(end, item)) {
        taken.emplace_back(queue.base() + WindowQueue::time(item), WindowQueue::rank(item),
                           static_cast<int>(WindowQueue::kind(item)));
    }
    queue.close();
    return taken;
}

TEST(WindowQueue, GivesEventsOfASwitchByTimeThenRankThenKind) {
    WindowQueue queue;
    queue.start(3, kWindow);
    queue.push(500, {.bin = 1, .rank = 7}, EventKind::kWake, 0);
    queue.push(500, {.bin = 1, .rank = 7}, EventKind::kArrival, 0);
    queue.push(500, {.bin = 1, .rank = 3}, EventKind::kWake, 0);
    queue.push(499, {.bin = 1, .rank = 9}, EventKind::kWake, 0);
    queue.push(498, {.bin = 2, .rank = 1}, EventKind::kWake, 0);
    queue.advance(queue.earliest());
    EXPECT_EQ(queue.next_bin(0), 1U);
    constexpr int kWake = static_cast<int>(EventKind::kWake);
    EXPECT_EQ(take_all(queue, 1, kWindow),
              (std::vector<Taken>{{499, 9, kWake}, {500, 3, kWake}, {500, 7, 0}, {500, 7, kWake}}));
    EXPECT_EQ(queue.next_bin(0), 2U);
    EXPECT_EQ(queue.pending(), 1U);
}

TEST(WindowQueue, KeepsWhatIsNotDueAndWhatIsFarOff) {
    WindowQueue queue;
    queue.start(64, kWindow);
    Prng prng(3);
    std::vector<std::vector<TimePs>> pushed(64);
    for (int i = 0; i < 5000; ++i) {
        const auto bin = static_cast<std::uint32_t>(prng.below(64));
        const TimePs at = prng.below(20 * kWindow);
        pushed[bin].push_back(at);
        queue.push(at, {.bin = bin & WindowQueue::kNoBin, .rank = 0}, EventKind::kWake, 0);
    }
    std::vector<std::vector<TimePs>> taken(64);
    for (TimePs until = 0; !queue.empty();) {
        until = std::max(until + 317, queue.earliest());
        queue.advance(queue.earliest());
        const TimePs end = std::min(until, queue.base() + kWindow - 1);
        for (std::uint32_t bin = queue.next_bin(0); bin != WindowQueue::kNoBin;
             bin = queue.next_bin(bin + 1)) {
            for (const Taken& each : take_all(queue, bin, end)) {
                taken[bin].push_back(std::get<0>(each));
                EXPECT_LE(std::get<0>(each), end);
            }
        }
    }
    for (auto& times : pushed) {
        std::ranges::sort(times);
    }
    EXPECT_EQ(taken, pushed);
}

struct Case {
    topo::Spec spec;
    std::string engine = "ftree";
    PlantConfig plant = {};
    bool adaptive = false;
    bool lengths = false;  ///< Cables have different lengths.
    std::uint32_t to_one = 0;
};

/// Returns all results of a run: hash, hops, time, when flows were done, and every port's counters.
std::vector<std::uint64_t> play(const Case& played, bool windows, TimePs step) {
    const auto fabric =
        make_fabric(played.spec, played.engine, played.plant,
                    {.flags = played.adaptive ? packet_flag::kAdaptive : std::uint8_t{0}});
    Engine& net = fabric->engine();
    if (played.adaptive) {
        EXPECT_TRUE(fabric->use_adaptive_routing());
    }
    for (std::uint32_t port = 0; played.lengths && port < net.plant().port_count(); ++port) {
        if (net.plant().connected(port) && net.plant().peer(port) > port) {
            net.plant().set_cable(port, 30'000 + port * 977 % 400'000);
        }
    }
    if (windows) {
        net.use_windows(1);
    }
    Prng prng(5);
    for (std::uint32_t i = 0; i < fabric->host_count(); ++i) {
        const auto to = i % 4 == 1 && played.to_one != 0
                            ? 0U
                            : static_cast<std::uint32_t>(prng.below(fabric->host_count()));
        send(*fabric, i, to, 4096 * (20 + i % 30));
    }
    for (TimePs until = step; step != 0 && !net.idle(); until += step) {
        fabric->net().run(until);
    }
    fabric->net().run();
    expect_sound(*fabric);
    std::vector<std::uint64_t> shown = {net.stats().log_hash, net.stats().hops,
                                        net.stats().delivered};
    for (const ScaleHosts::Flow& flow : fabric->ends().flows()) {
        shown.push_back(flow.done_at);
    }
    for (std::uint32_t port = 0; port < net.plant().port_count(); ++port) {
        const counters::PortCounts counts = net.counts(port);
        shown.insert(shown.end(), {counts.xmit_words, counts.rcv_words, counts.xmit_wait});
    }
    if (step == 0) {
        shown.push_back(net.now());
    }
    return shown;
}

void expect_same(const Case& played) {
    for (const TimePs step : {TimePs{0}, TimePs{777'777}}) {
        EXPECT_EQ(play(played, true, step), play(played, false, step)) << step;
    }
}

topo::Spec three_levels() {
    return fat_tree(128, 8, 3);
}

TEST(Windows, GiveTheSameRunAsOneQueue) {
    expect_same({.spec = three_levels(), .plant = {.data_vls = 1, .cable_ps = 500'000}});
}

TEST(Windows, GiveTheSameRunWithShortCablesAndBuffers) {
    expect_same({.spec = three_levels(),
                 .plant = {.data_vls = 1, .buffer_bytes = 8192, .cable_ps = 25'000}});
    expect_same({.spec = three_levels(),
                 .plant = {.data_vls = 1, .buffer_bytes = 8192, .cable_ps = 900'000},
                 .to_one = 1});
}

TEST(Windows, GiveTheSameRunWithCablesOfManyLengths) {
    expect_same({.spec = three_levels(), .plant = {.data_vls = 2}, .lengths = true, .to_one = 1});
}

TEST(Windows, GiveTheSameRunWithAdaptiveRouting) {
    expect_same(
        {.spec = three_levels(), .plant = {.data_vls = 1, .cable_ps = 300'000}, .adaptive = true});
}

TEST(Windows, GiveTheSameRunInATorusWithLanes) {
    expect_same({.spec = {.shape = topo::Shape::kTorus, .hosts = 48, .dimensions = {4, 4}},
                 .engine = "dor",
                 .plant = {.data_vls = 4, .buffer_bytes = 16'384, .cable_ps = 200'000}});
}

/// A delivery makes the next host send at once, and so on: hosts act on each other in no time.
TEST(Windows, ListenersMaySendAtOnce) {
    class Relay : public MessageListener {
      public:
        Relay(Simulation& simulation, std::uint32_t hosts)
            : simulation_(simulation), hosts_(hosts) {
            simulation_.set_listener(this);
            simulation_.send({.from = 0, .to = 1, .bytes = 10'000, .tag = 0}, 0);
        }
        void handle_message(std::uint64_t tag, MessageEvent event, TimePs at) override {
            if (event == MessageEvent::kDelivered) {
                EXPECT_GE(at, last_);
                last_ = at;
                const auto from = static_cast<std::uint32_t>((tag + 1) * 5 % hosts_);
                if (tag < 50) {
                    simulation_.send(
                        {.from = from, .to = (from + 1) % hosts_, .bytes = 10'000, .tag = tag + 1},
                        at);
                }
            }
        }
        TimePs last() const { return last_; }

      private:
        Simulation& simulation_;
        std::uint32_t hosts_;
        TimePs last_ = 0;
    };
    auto simulation = Simulation::make(*topo::generate(three_levels()),
                                       {.plant = {.data_vls = 1, .cable_ps = 500'000}});
    ASSERT_TRUE(simulation);
    const Relay relay(*simulation, 128);
    while (!simulation->run_some(kNever, 1)) {
    }
    EXPECT_EQ(simulation->unfinished(), 0U);
    EXPECT_EQ(simulation->stats().delivered,
              51U * 4);  // Three packets and an answer for each message.
    EXPECT_GT(relay.last(), 51U * 1'000'000);
}

}  // namespace
}  // namespace softib::net
