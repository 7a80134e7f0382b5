// SPDX-License-Identifier: BSD-2-Clause
// softib's aggregation manager (SHARP) as a program of its own, on a port that libibumad opens: a
// virtual one under `softib exec`, or one of a real HCA.
#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>

#include <algorithm>
#include <cstdio>
#include <expected>
#include <string>
#include <vector>

#include "app/programs/port_program.h"
#include "core/sharp/manager/job_desk.h"
#include "core/sharp/manager/manager_service.h"
#include "umad/port.h"

namespace softib::app {
namespace {

constexpr char kUsage[] =
    "usage: softib-am [options]\n"
    "Runs an aggregation manager on a port, in the foreground.\n"
    "  -C, --device NAME    the HCA (default: the first that has a cable)\n"
    "  -P, --port N         its port\n"
    "  -k, --am-key KEY     that aggregation nodes ask for from then on (0: they ask for none)\n"
    "  -o, --once           ends when it knows the nodes\n"
    "SIGINT, SIGTERM: ends all jobs, and then itself.\n";

constexpr PortCommand kCommand{"softib-am", kUsage};

struct Options : PortOptions {
    sharp::ManagerConfig manager;
};

/// Returns a random number of 23 bits, after which the ids of jobs begin. So jobs of a manager that
/// was restarted do not have the ids of earlier ones.
std::uint32_t draw_job_before() {
    std::uint32_t drawn = 0;
    return getrandom(&drawn, sizeof drawn, 0) == sizeof drawn ? drawn & 0x7FFFFF : 0;
}

bool parse(int argc, char** argv, Options& options) {
    options.manager.job_before = draw_job_before();
    const OwnOption own[] = {{'k', "am-key", true, [&](const char* text) {
                                  return kCommand.take_number(text, options.manager.am_key,
                                                              UINT64_MAX);
                              }}};
    return kCommand.parse(argc, argv, options, own);
}

/// Returns the classes of the manager. It sends requests to the SA and to aggregation nodes, takes
/// requests of jobs' members, and takes reports of the SA.
std::vector<umad::Agent> agents() {
    using enum wire::Method;
    return {{.mgmt_class = static_cast<std::uint8_t>(wire::MgmtClass::kSharp),
             .version = wire::kSharpClassVersion,
             .methods = {kSet}},
            {.mgmt_class = static_cast<std::uint8_t>(wire::MgmtClass::kSubnAdm),
             .version = wire::kSaClassVersion,
             .methods = {kReport},
             .whole_messages = true}};
}

std::expected<void, std::string> prepare(umad::Port& port) {
    if (!port.add_agents(agents())) {
        return std::unexpected(fmt::format("{} has an aggregation manager already", port.name()));
    }
    return {};
}

class Program : public PortProgram {
  public:
    Program(const Options& options, umad::Port& port)
        : PortProgram(kCommand.name(), port, {SIGINT, SIGTERM}),
          once_(options.once),
          service_(options.manager),
          desk_(service_) {}

  private:
    void step() override {
        look_at_fabric();
        for (bool busy = true; busy;) {
            busy = false;
            for (bool any = true; any;) {
                const auto message = port().receive_message(any);
                busy = busy || any;
                if (message) {
                    handle(*message);
                }
            }
            if (service_.next_timeout_ns() <= now_ns()) {
                service_.handle_timeout(now_ns());
            }
            desk_.handle_timeout(now_ns());
            while (const auto packet = service_.poll_transmit(now_ns())) {
                busy = true;
                port().send(*packet);
            }
            while (const auto packet = desk_.poll_transmit()) {
                busy = true;
                port().send(*packet);
            }
            while (const auto event = service_.manager().poll_event()) {
                tell(*event);
            }
        }
        tell_nodes();
    }

    void handle(const umad::Port::Message& message) {
        const mad::Packet& first = message.first;
        const mad::RmppPeer from{first.slid, first.source, first.pkey, first.sl};
        if (sharp::JobDesk::takes(first.mad)) {
            desk_.handle(from, first.mad, now_ns());
        } else {
            service_.handle(from, message.bytes, now_ns());
        }
    }

    /// Reads the LIDs of the port and of its subnet manager, and looks for aggregation nodes, so
    /// that they are known before a job asks for them.
    void look_at_fabric() {
        if (now_ns() < look_ns_) {
            return;
        }
        look_ns_ = now_ns() + kLookNs;
        const umad::Port::Lids lids = port().lids();
        service_.set_subnet_manager(lids.subnet_manager);
        service_.manager().set_lid(lids.own);
        if (!known_) {
            service_.freshen(now_ns());
        }
        if (service_.trouble() != trouble_) {
            trouble_ = service_.trouble();
            if (!trouble_.empty()) {
                fmt::print(stderr, "softib-am: {}\n", trouble_);
            }
        }
    }

    bool is_over() const override {
        return (ending_ && service_.manager().is_idle()) || (once_ && known_);
    }
    std::uint64_t next_timeout_ns() const override {
        return std::min({service_.next_timeout_ns(), desk_.next_timeout_ns(), look_ns_});
    }

    void tell_nodes() {
        if (known_ || service_.readings() == 0 || !service_.manager().is_idle()) {
            return;
        }
        known_ = true;
        fmt::print("READY: {} aggregation nodes\n", service_.manager().nodes().size());
        std::fflush(stdout);
    }

    void tell(const sharp::Event& event) {
        const sharp::JobState* const job = service_.manager().job(event.job);
        if (event.kind == sharp::Event::kJobActive && job != nullptr) {
            fmt::print("job {}: {} tree {}, {} switches, {} members\n", event.job,
                       job->streams ? "SAT" : "LLT", job->tree_id, job->plan.nodes.size(),
                       job->members.size());
        } else if (event.kind == sharp::Event::kJobFailed) {
            fmt::print("job {} failed: {}\n", event.job, job == nullptr ? "" : job->reason);
        } else if (event.kind == sharp::Event::kJobEnded) {
            fmt::print("job {} ended\n", event.job);
        }
        std::fflush(stdout);
    }

    void handle_signal(int) override {
        ending_ = true;
        std::vector<sharp::JobId> jobs;
        for (const auto& [id, job] : service_.manager().jobs()) {
            jobs.push_back(id);
        }
        for (const sharp::JobId id : jobs) {
            service_.manager().end_job(id);
        }
    }

    static constexpr std::uint64_t kLookNs = 1'000'000'000;

    bool once_;
    sharp::ManagerService service_;
    sharp::JobDesk desk_;
    std::uint64_t look_ns_ = 0;
    std::string trouble_;
    bool known_ = false;   ///< Whether the aggregation nodes have been asked.
    bool ending_ = false;  ///< Whether the program ends as soon as all nodes are clean.
};

}  // namespace
}  // namespace softib::app

int main(int argc, char** argv) {
    return softib::app::run_on_port<softib::app::Program>(softib::app::kCommand, argc, argv,
                                                          softib::app::parse, softib::app::prepare);
}
