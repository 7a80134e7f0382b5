// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/process_memory.h"

#include <sched.h>

#include <cstdlib>

#include "runtime/direct/memory/memory.h"

namespace softib::direct {

ProcessMemory::ProcessMemory(Process& process, const Attachment& self)
    : gpu(process), process_(process), self_(self), shared_mapper_(self.arena) {}

ProcessMemory::~ProcessMemory() = default;

void ProcessMemory::init() {
    shared_mappings.emplace(shared_mapper_, self_.arena, self_.slot->peer_mappings);
    chunks.init(&self_.arena, self_.owner);
    regions = std::make_unique<MemoryMap>(process_);
    enforces_memlock = std::getenv("SOFTIB_ENFORCE_MEMLOCK") != nullptr;
}

void ProcessMemory::size_copy_team() {
    constexpr std::uint32_t kCopiesPerLook = 1024;
    if (large_copies_.fetch_add(1, std::memory_order_relaxed) % kCopiesPerLook != 0) {
        return;
    }
    // Tests and measurements set the number themselves.
    const char* text = std::getenv("SOFTIB_COPY_HELPERS");
    if (text != nullptr && text[0] >= '0' && text[0] <= '9' && text[1] == '\0') {
        copy_team.set_helpers(static_cast<std::uint32_t>(text[0] - '0'));
        return;
    }
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) {
        return;  // The machine has more cores than cpu_set_t holds: no helpers.
    }
    std::uint32_t processes = 0;
    for (std::uint32_t p = 0; p < procs_used(self_.arena); ++p) {
        processes +=
            self_.arena.procs[p].state.load(std::memory_order_relaxed) == shm::ProcState::kLive;
    }
    const auto count = static_cast<std::uint32_t>(CPU_COUNT(&cores));
    copy_team.set_helpers(CopyTeam::helpers_for(count, processes));
}

}  // namespace softib::direct
