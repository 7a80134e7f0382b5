// SPDX-License-Identifier: BSD-2-Clause
#include "server/jobs.h"

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/shm/arena.h"
#include "runtime/shm/rpc.h"
#include "server/connection.h"
#include "view/programs.h"
#include "view/sharp.h"

namespace softib::server {

namespace {

void add_programs(int daemon, std::vector<Job>& jobs) {
    shm::Message message;
    shm::request::OneFile file;
    if (shm::rpc_ask(daemon, shm::request::Observe{}, message, file) != 0) {
        return;
    }
    shm::Arena arena = shm::arena_map(file.file, false);
    if (arena.base == nullptr) {
        close(file.file);
        return;
    }
    for (const view::Program& program : view::programs(arena)) {
        jobs.push_back({.id = fmt::format("pid-{}", program.pid),
                        .kind = "process",
                        .name = program.command,
                        .text = fmt::format("{} with {} queue pairs", program.command,
                                            view::holdings(arena, program.owner).qps),
                        .objects = {program.host}});
    }
    shm::arena_unmap(arena);
}

void add_sharp(int daemon, std::vector<Job>& jobs) {
    const auto sharp = view::ask_sharp(daemon);
    if (!sharp) {
        return;
    }
    for (const view::SharpJob& told : sharp->jobs) {
        Job job{.id = fmt::format("sharp-{}", told.id),
                .kind = "SHARP",
                .name = told.key,
                .failed = !told.reason.empty(),
                .text = fmt::format("{}, {} members on tree {}{}{}", told.state, told.members,
                                    told.tree, told.reason.empty() ? "" : ": ", told.reason),
                .objects = {}};
        for (const view::SharpSwitch& at : told.switches) {
            job.objects.push_back(at.name);
        }
        jobs.push_back(std::move(job));
    }
}

}  // namespace

std::vector<Job> fabric_jobs(const std::string& dir) {
    std::vector<Job> jobs;
    if (dir.empty()) {
        return jobs;
    }
    const Connection daemon(dir);
    if (daemon.fd() >= 0) {
        add_programs(daemon.fd(), jobs);
        add_sharp(daemon.fd(), jobs);
    }
    return jobs;
}

}  // namespace softib::server
