// SPDX-License-Identifier: BSD-2-Clause
// softib's subnet manager as a program of its own, on a port that libibumad opens: a virtual one
// under `softib exec`, or one of a real HCA.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "app/programs/port_program.h"
#include "core/routing/engine.h"
#include "core/sm/service/subnet_service.h"
#include "umad/port.h"

namespace softib::app {
namespace {

constexpr char kUsage[] =
    "usage: softib-sm [options]\n"
    "Runs a subnet manager on a port, in the foreground.\n"
    "  -C, --device NAME    the HCA (default: the first that has a cable)\n"
    "  -P, --port N         its port\n"
    "  -p, --priority N     0 to 15: the highest is master (0)\n"
    "  -k, --sm-key KEY     managers with another key are ignored (1)\n"
    "  -m, --m-key KEY      protects the ports of the subnet (0: does not)\n"
    "  -l, --lmc N          2^N LIDs for each HCA port (0)\n"
    "  -R, --engine NAME    how to route (minhop)\n"
    "  -a, --adaptive-routing\n"
    "                       switches choose among ports that are equally good\n"
    "  -o, --once           ends when the subnet is up\n"
    "SIGHUP: sweeps again. SIGUSR1: hands over to another manager.\n";

constexpr PortCommand kCommand{"softib-sm", kUsage};

struct Options : PortOptions {
    sm::ManagerConfig manager;
};

bool take_engine(const char* name, sm::ManagerConfig& manager) {
    manager.engine = name;
    if (routing::find_engine(manager.engine) == nullptr) {
        fmt::print(stderr, "softib-sm: no routing engine '{}'\n", name);
        return false;
    }
    return true;
}

bool parse(int argc, char** argv, Options& options) {
    sm::ManagerConfig& manager = options.manager;
    const auto number = [](auto& field, std::uint64_t most) {
        return [&field, most](const char* text) { return kCommand.take_number(text, field, most); };
    };
    const OwnOption own[] = {
        {'p', "priority", true, number(manager.priority, 15)},
        {'k', "sm-key", true, number(manager.sm_key, UINT64_MAX)},
        {'m', "m-key", true, number(manager.mkey, UINT64_MAX)},
        {'l', "lmc", true, number(manager.lmc, 7)},
        {'R', "engine", true, [&](const char* name) { return take_engine(name, manager); }},
        {'a', "adaptive-routing", false,
         [&](const char*) { return manager.adaptive_routing = true; }}};
    return kCommand.parse(argc, argv, options, own);
}

/// Returns the classes whose requests a subnet manager takes.
std::vector<umad::Agent> agents() {
    using enum wire::Method;
    return {{0x01, 1, {kGet, kSet, kTrap}},
            {0x81, 1, {kGet, kSet}},
            {0x03,
             wire::kSaClassVersion,
             {kGet, kSet, kReport, kGetTable, kGetTraceTable, kGetMulti, kDelete}},
            {static_cast<std::uint8_t>(sm::kReplicaClass), 1, {kSet}, sm::kReplicaOui}};
}

std::expected<void, std::string> prepare(umad::Port& port) {
    if (!port.add_agents(agents())) {
        return std::unexpected(fmt::format("{} has a subnet manager already", port.name()));
    }
    return port.claim_manager();
}

std::string upper_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

class Program : public PortProgram {
  public:
    Program(const Options& options, umad::Port& port)
        : PortProgram(kCommand.name(), port, {SIGINT, SIGTERM, SIGHUP, SIGUSR1}),
          once_(options.once) {
        sm::ManagerConfig config = options.manager;
        config.port_guid = port.guid();
        config.port = port.number();
        service_ = std::make_unique<sm::SubnetService>(std::move(config));
        service_->start(now_ns());
    }

  private:
    void step() override {
        for (bool busy = true; busy;) {
            busy = false;
            for (bool any = true; any;) {
                const auto packet = port().receive(any);
                busy = busy || any;
                if (packet) {
                    service_->handle(*packet, now_ns());
                }
            }
            if (service_->next_timeout_ns() <= now_ns()) {
                service_->handle_timeout(now_ns());
            }
            while (const auto packet = service_->poll_transmit(now_ns())) {
                busy = true;
                port().send(*packet);
            }
            while (const auto event = service_->poll_event()) {
                tell(*event);
            }
        }
    }
    bool is_over() const override { return over_; }
    std::uint64_t next_timeout_ns() const override { return service_->next_timeout_ns(); }
    void tell(const sm::ManagerEvent& event) {
        switch (event.kind) {
            case sm::ManagerEvent::kStateChanged:
                fmt::print("{}\n", upper_case(wire::name_of(service_->manager().state())));
                break;
            case sm::ManagerEvent::kSubnetUp:
                fmt::print("SUBNET UP: {} nodes, {} packets sent\n",
                           service_->manager().subnet().size(),
                           service_->manager().stats().smps_sent);
                over_ = over_ || once_;
                break;
            case sm::ManagerEvent::kRoutingFailed:
            case sm::ManagerEvent::kWarning:
                fmt::print(stderr, "softib-sm: {}\n", event.text);
                break;
            default:
                break;
        }
        std::fflush(stdout);
    }
    void handle_signal(int number) override {
        if (number == SIGHUP) {
            service_->manager().resweep(now_ns());
        } else if (number == SIGUSR1) {
            if (!service_->manager().hand_over()) {
                fmt::print(stderr, "softib-sm: no other manager would keep the subnet\n");
            }
        } else {
            over_ = true;
        }
    }

    std::unique_ptr<sm::SubnetService> service_;
    bool once_;
    bool over_ = false;
};

}  // namespace
}  // namespace softib::app

int main(int argc, char** argv) {
    return softib::app::run_on_port<softib::app::Program>(softib::app::kCommand, argc, argv,
                                                          softib::app::parse, softib::app::prepare);
}
