// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/carrier.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "net/engine/network.h"
#include "runtime/carrier/adapters.h"
#include "runtime/carrier/link_watch.h"
#include "runtime/carrier/port_counts.h"
#include "runtime/carrier/roce/roce_wire.h"
#include "runtime/carrier/sharp/sharp_ends.h"
#include "runtime/carrier/tables.h"
#include "runtime/carrier/trunk/trunk_wire.h"
#include "runtime/direct/process.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/packet_queue.h"

namespace softib::carrier {

namespace {

constexpr std::uint32_t kEventsAtOnce = 512;
constexpr std::uint64_t kSettleNs = 500'000'000;  ///< See Engine::settle_credits.
constexpr std::uint64_t kCountsNs = 20'000'000;
constexpr std::uint64_t kSpinNs = 50'000;
/// After this long without work, the carrier gives memory that it does not need back to the
/// machine.
constexpr std::uint64_t kKeepMemoryNs = 1'000'000'000;
/// How long a carrier with trunks spins: the other end of a trunk has cores of its own, and each
/// sleep costs both ends time.
constexpr std::uint64_t kSpinTrunkNs = 200'000;

net::PlantConfig plant_config() {
    return {.data_vls = kDataVls,
            .multicast_lids = static_cast<std::uint16_t>(shm::kMcastGroupsMax),
            .lid_max = kLidUnicastMax.value};
}

class Carrier {
  public:
    Carrier(direct::Process& process, const topo::Fabric& fabric, double speed)
        : arena_(process.self.arena),
          tables_(process.self.arena, fabric, speed),
          watchers_(process.self),
          links_(watchers_),
          adapters_(process, watchers_),
          net_(fabric, plant_config(), adapters_),
          counts_(process.self.arena, tables_),
          sharp_(process.self.arena, process.self.fabric_dir, tables_, adapters_, net_.engine()),
          stripe_(process.tables.next_stripe()),
          start_ns_(shm::monotonic_ns()),
          spin_ns_(std::thread::hardware_concurrency() > 2 ? kSpinNs : kSpinNs / 10) {
        net_.engine().ports().manage_all();
        net_.engine().count_lanes();
        adapters_.join(net_.engine(), tables_.hca_ports(net_.engine().plant()));
        watchers_.set_places(tables_.places(net_.engine().plant()));
        adapters_.set_sharp(&sharp_);
    }

    /// Opens the sockets of trunks, or those of an Ethernet.
    std::expected<void, std::string> start(const spec::Trunks& trunks) {
        if (!trunks.plans.empty()) {
            auto wire = TrunkWire::open(arena_, net_.engine(), adapters_, trunks,
                                        tables_.trunk_ports(net_.engine().plant()));
            if (!wire) {
                return std::unexpected(wire.error());
            }
            trunks_ = std::move(*wire);
            adapters_.set_trunks(trunks_.get());
            spin_ns_ = kSpinTrunkNs;
        }
        if (arena_.header->link_layer != hca::LinkLayer::kEthernet) {
            return {};
        }
        auto wire = RoceWire::open(arena_, adapters_, watchers_);
        if (!wire) {
            return std::unexpected(wire.error());
        }
        adapters_.leave_network();
        roce_ = std::move(*wire);
        return {};
    }

    [[noreturn]] void run() {
        for (std::uint64_t idle_since = 0;;) {
            if (work()) {
                idle_since = 0;
                worked_ = true;
                continue;
            }
            const std::uint64_t now = shm::monotonic_ns();
            if (idle_since == 0) {
                idle_since = now;
            }
            if (now - idle_since < spin_ns_) {
                sched_yield();
                continue;
            }
            rest(now);
            idle_since = 0;
        }
    }

  private:
    /// Does one round of work. Returns false if there was nothing to do.
    bool work() {
        // A bell that rings from here on keeps the carrier from sleeping: this round may miss it.
        bell_ = arena_.header->carrier_doorbell.load();
        // No hazard is set yet: follow() asks the daemon, which may be waiting for one to end.
        sharp_.follow();
        // Each round has a hazard of another value, so that a process that waits for one to end
        // sees its end.
        stripe_.hazard.store(shm::kHazardBusy | shm::kHazardAnyOwner | ++round_ << 33,
                             std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const std::uint64_t now = shm::monotonic_ns();
        follow();
        adapters_.set_time(now);
        bool busy = false;
        shm::for_each_call(arena_, [&](shm::Owner owner, const shm::CarrierCall& call) {
            busy = true;
            return adapters_.call(owner, call);
        });
        shm::for_each_rung(*arena_.bells, [&](std::uint32_t qp) {
            busy = true;
            adapters_.serve(qp);
        });
        busy |= sharp_.serve();
        busy |= roce_ != nullptr && roce_->run();
        busy |= trunks_ != nullptr && trunks_->receive(now);
        const std::uint64_t events = net_.engine().stats().events;
        busy |= !net_.run_some((now - start_ns_) * link::kPsPerNs, kEventsAtOnce);
        busy |= net_.engine().stats().events != events;
        busy |= trunks_ != nullptr && trunks_->send(now);
        adapters_.tell();
        count(now);
        if (now - settled_ns_ > kSettleNs) {
            settled_ns_ = now;
            net_.engine().settle_credits();
        }
        stripe_.hazard.store(0, std::memory_order_release);
        return busy;
    }

    /// Reads what other processes have written into the arena since the last round.
    void follow() {
        const shm::ArenaHeader& header = *arena_.header;
        if (const auto deaths = header.death_generation.load(std::memory_order_acquire);
            deaths != deaths_) {
            deaths_ = deaths;
            adapters_.forget_dead();
            watchers_.forget_dead();
        }
        if (const auto routes = header.route_generation.load(std::memory_order_acquire);
            routes != routes_) {
            routes_ = routes;
            tables_.read(net_.engine(), adapters_.hosts());
            adapters_.read_ports();
        }
        if (const auto groups = header.mcast_generation.load(std::memory_order_acquire);
            groups != groups_) {
            groups_ = groups;
            adapters_.read_groups();
        }
    }

    void count(std::uint64_t now) {
        shm::ArenaHeader& header = *arena_.header;
        const std::uint32_t asked = header.counts_asked.load(std::memory_order_acquire);
        const bool wanted = asked != header.counts_given.load(std::memory_order_relaxed);
        if (wanted || now - counted_ns_ > kCountsNs) {
            counted_ns_ = now;
            publish();
            look_at_links(now);
            if (wanted) {
                counts_.write_lanes(net_.engine());
            }
            header.counts_given.store(asked, std::memory_order_release);
        }
    }

    void publish() {
        counts_.write(net_.engine(), adapters_);
        sharp_.write_counts();
        if (roce_ != nullptr) {
            roce_->publish_counts();
        }
    }

    /// Looks for cables with too many errors. There are none on Ethernet (roce_cable.h).
    void look_at_links(std::uint64_t now) {
        if (roce_ == nullptr) {
            links_.look(net_.engine(), now);
        }
    }

    /// Sleeps until a bell rings or something is due.
    void rest(std::uint64_t now) {
        constexpr std::uint64_t kShort = 50'000;
        if (!net_.engine().idle() || !net_.engine().settle_credits()) {
            shm::carrier_sleep(arena_, kShort);  // Something is on a slow cable.
            return;
        }
        publish();
        look_at_links(now);
        counted_ns_ = now;
        if (roce_ != nullptr && !roce_->watch()) {
            // The kernel has no room for the datagrams that wait.
            shm::carrier_sleep(arena_, kShort);
            return;
        }
        if (trunks_ != nullptr && !trunks_->watch()) {
            shm::carrier_sleep(arena_, kShort);  // The peer has no room for datagrams that wait.
            return;
        }
        const std::uint64_t due =
            std::min({adapters_.next_timeout_ns(), links_.next_ns(), give_back(now),
                      trunks_ != nullptr ? trunks_->next_timeout_ns() : hca::kNever});
        shm::carrier_sleep(arena_,
                           due == hca::kNever ? UINT64_MAX
                           : due > now        ? due - now
                                              : 1,
                           bell_);
    }

    /// Gives free memory back to the machine after kKeepMemoryNs without work, since the allocator
    /// would keep it. Returns when this function must be called again.
    std::uint64_t give_back(std::uint64_t now) {
        if (std::exchange(worked_, false)) {
            give_back_ns_ = now + kKeepMemoryNs;
        } else if (give_back_ns_ <= now) {
            give_back_ns_ = hca::kNever;
            net_.engine().give_back();
            adapters_.hosts().give_back();
            malloc_trim(0);
        }
        return give_back_ns_;
    }

    const shm::Arena& arena_;
    Tables tables_;
    Watchers watchers_;
    LinkWatch links_;
    Adapters adapters_;
    net::Network<Adapters> net_;
    PortCountWriter counts_;
    SharpEnds sharp_;
    std::unique_ptr<RoceWire> roce_;
    std::unique_ptr<TrunkWire> trunks_;
    shm::Stripe& stripe_;
    std::uint64_t start_ns_;
    std::uint64_t spin_ns_;
    std::uint64_t round_ = 0;
    std::uint32_t bell_ = 0;  ///< Value of the doorbell when the last round began.
    std::uint64_t deaths_ = 0;
    std::uint64_t routes_ = 0;
    std::uint64_t groups_ = 0;
    std::uint64_t settled_ns_ = 0;
    std::uint64_t counted_ns_ = 0;
    bool worked_ = true;  ///< Whether there was work since the last call of give_back().
    std::uint64_t give_back_ns_ = hca::kNever;
};

}  // namespace

std::expected<void, std::string> carry(const topo::Fabric& fabric, const CarrierOptions& options) {
    direct::Process* const process =
        direct::Process::attach(options.dir.c_str(), fabric.hosts.front().name.c_str());
    if (process == nullptr) {
        return std::unexpected(
            fmt::format("the carrier cannot attach to the fabric: {}", std::strerror(errno)));
    }
    Carrier carrier(*process, fabric, options.speed);
    if (auto started = carrier.start(options.trunks); !started) {
        return started;
    }
    // Calls to an earlier carrier are dropped; the programs that made them find that it has ended.
    for (auto& calls : process->self.arena.bells->calls) {
        calls.store(0);
    }
    process->self.arena.header->carrier.store(process->self.lock_word, std::memory_order_release);
    process->self.call(shm::request::Carrying{});
    carrier.run();
}

}  // namespace softib::carrier
