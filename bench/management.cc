// SPDX-License-Identifier: BSD-2-Clause
// Measures what the management plane costs: bring-up by SMPs, repair after a lost cable, path
// queries. The agents of all nodes and softib's subnet manager are joined as in the daemon, in one
// process and one thread.
//
//   bench_management [bringup|repair|paths]

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/from_fabric.h"
#include "core/base/prng.h"
#include "core/sm/service/subnet_service.h"
#include "core/topo/graph.h"
#include "core/topo/spec.h"
#include "core/wire/sa/path_record.h"
#include "core/wire/sa/sa.h"

namespace {

using namespace softib;

double seconds_of(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

class NoCounters : public agent::CounterSource {
  public:
    counters::PortCounts read(std::uint32_t, std::uint8_t) override { return {}; }
};

topo::Fabric tree(std::uint32_t hosts) {
    const auto fabric = topo::generate({.shape = topo::Shape::kFatTree,
                                        .hosts = hosts,
                                        .radix = 64,
                                        .levels = hosts > 2048 ? 3U : 2U});
    if (!fabric) {
        fmt::print(stderr, "{}\n", fabric.error().message);
        std::exit(1);
    }
    return *fabric;
}

class Plane {
  public:
    Plane(std::uint32_t hosts, const std::string& engine)
        : fabric_(tree(hosts)), mesh(agent::make_mesh(fabric_, counters_)) {
        while (!mesh.node(root).is_switch()) {
            ++root;
        }
        sm::ManagerConfig config;
        config.engine = engine;
        config.port_guid = mesh.node(root).spec().ports[0].guid;
        service_.emplace(std::move(config));
        mesh.set_capability({root, 0}, wire::port_capability::kIsSM, true);
    }

    sm::SubnetService& service() { return *service_; }
    void start() {
        service_->start(now_ns);
        drive();
    }
    void drive() {
        for (bool busy = true; busy;) {
            mesh.advance(now_ns);
            busy = deliver();
            while (const auto out = service_->poll_transmit(now_ns)) {
                busy = true;
                mesh.send({root, 0}, *out, now_ns);
                deliver();
            }
            while (service_->poll_event()) {
            }
        }
        while (mesh.poll_update()) {
        }
    }

  private:
    bool deliver() {
        bool any = false;
        while (const auto delivery = mesh.poll_delivery()) {
            any = true;
            if (delivery->at.node == root) {
                service_->handle(delivery->packet, now_ns);
            }
        }
        return any;
    }

    topo::Fabric fabric_;
    NoCounters counters_;
    std::optional<sm::SubnetService> service_;

  public:
    agent::Mesh mesh;
    std::uint32_t root = 0;
    std::uint64_t now_ns = 1'000'000'000;
};

/// Returns an end of a cable between switches, far from the manager.
agent::End cable_between_switches(const agent::Mesh& mesh, std::uint32_t root) {
    for (auto i = static_cast<std::uint32_t>(mesh.size()); i-- > 0;) {
        for (std::uint8_t p = 1; mesh.node(i).is_switch() && p <= mesh.node(i).port_count(); ++p) {
            const agent::End peer = mesh.peer({i, p});
            if (peer.node != agent::kNoNode && mesh.node(peer.node).is_switch() && i != root &&
                peer.node != root) {
                return {i, p};
            }
        }
    }
    return {};
}

double resident_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

void bring_up() {
    fmt::print("{:>6} {:>8}  {:8} {:>9} {:>9} {:>9} {:>10} {:>9}\n", "hosts", "switches", "engine",
               "SMPs", "wall s", "CPU s", "LFT blocks", "MiB so far");
    for (const auto& [hosts, engine] :
         std::vector<std::pair<std::uint32_t, std::string>>{{2048, "minhop"},
                                                            {2048, "ftree"},
                                                            {8192, "ftree"},
                                                            {24576, "ftree"},
                                                            {40960, "ftree"}}) {
        Plane plane(hosts, engine);
        const double wall = seconds_of(CLOCK_MONOTONIC);
        const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        plane.start();
        const sm::Manager& manager = plane.service().manager();
        fmt::print("{:6} {:8}  {:8} {:9} {:9.2f} {:9.2f} {:10} {:9.0f}\n", hosts,
                   plane.mesh.size() - hosts, manager.tables().engine, manager.stats().smps_sent,
                   seconds_of(CLOCK_MONOTONIC) - wall, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu,
                   manager.stats().lft_blocks, resident_mib());
        std::fflush(stdout);
        if (!manager.settled() || manager.state() != wire::SmState::kMaster) {
            fmt::print(stderr, "the subnet is not up\n");
            std::exit(1);
        }
    }
}

/// Pulls a cable between switches, and measures the repair: the trap, the sweep, routing, and the
/// writing of what changed.
void repair() {
    fmt::print("{:>6}  {:8} {:>9} {:>12} {:>12} {:>9} {:>9}\n", "hosts", "engine", "what", "CPU ms",
               "LFT blocks", "SMPs", "check ms");
    for (const char* const engine : {"minhop", "updn", "ftree"}) {
        Plane plane(8192, engine);
        plane.start();
        for (const bool plugged : {false, true}) {
            const sm::ManagerStats before = plane.service().manager().stats();
            const agent::End far = cable_between_switches(plane.mesh, plane.root);
            const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
            plane.mesh.set_plugged(far, plugged);
            plane.drive();
            const double written = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
            plane.service().handle_timeout(plane.now_ns);
            const double checked = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
            const sm::ManagerStats after = plane.service().manager().stats();
            fmt::print("{:6}  {:8} {:>9} {:12.1f} {:12} {:9} {:9.1f}\n", 8192, engine,
                       plugged ? "returned" : "lost", (written - cpu) * 1e3,
                       after.lft_blocks - before.lft_blocks, after.smps_sent - before.smps_sent,
                       (checked - written) * 1e3);
            std::fflush(stdout);
        }
    }
}

void paths() {
    constexpr std::uint32_t kHosts = 8192;
    constexpr std::uint32_t kQueries = 400'000;
    Plane plane(kHosts, "ftree");
    plane.start();
    using R = wire::PathRecord;
    Prng random(1);
    std::vector<wire::MadBytes> requests(1024);
    for (wire::MadBytes& mad : requests) {
        const auto from = static_cast<std::uint32_t>(random.below(kHosts));
        const auto to = static_cast<std::uint32_t>(random.below(kHosts));
        wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnAdm,
                      .class_version = wire::kSaClassVersion,
                      .method = wire::Method::kGet,
                      .transaction_id = 1,
                      .attribute_id = static_cast<std::uint16_t>(wire::SaAttribute::kPathRecord)}
            .emit(wire::Mad<std::uint8_t>(mad));
        const wire::Sa<std::uint8_t> sa(mad);
        sa.set_header({.component_mask = wire::component(&R::slid) | wire::component(&R::dlid) |
                                         wire::component(&R::numb_path) |
                                         wire::component(&R::reversible)});
        R record{};
        record.slid = plane.mesh.node(from).port(1).lid;
        record.dlid = plane.mesh.node(to).port(1).lid;
        record.numb_path = 1;
        record.reversible = true;
        wire::emit(record, sa.data().first<R::kBytes>());
    }
    const Lid asker = plane.mesh.node(0).port(1).lid;
    std::uint32_t good = 0;
    const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    for (std::uint32_t i = 0; i < kQueries; ++i) {
        const auto answer = plane.service().admin().handle(requests[i % requests.size()], asker,
                                                           Qpn{1}, plane.now_ns);
        good += answer && (*answer)[4] == 0 && (*answer)[5] == 0 ? 1U : 0U;
    }
    const double took = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    fmt::print("PathRecord by LIDs, {} hosts: {:.0f} per second of CPU, {} of {} answered well\n",
               kHosts, kQueries / took, good, kQueries);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "all";
    if (what == "all" || what == "bringup") {
        bring_up();
    }
    if (what == "all" || what == "repair") {
        repair();
    }
    if (what == "all" || what == "paths") {
        paths();
    }
    return 0;
}
