// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/passage.h"

#include <dlfcn.h>

#include <fstream>
#include <string>

namespace softib::direct {

namespace {

struct Gate {
    CloseIoGate* close = reinterpret_cast<CloseIoGate*>(dlsym(RTLD_DEFAULT, kCloseIoGate));
    OpenIoGate* open = reinterpret_cast<OpenIoGate*>(dlsym(RTLD_DEFAULT, kOpenIoGate));
    UsesAsyncIo* async = reinterpret_cast<UsesAsyncIo*>(dlsym(RTLD_DEFAULT, kUsesAsyncIo));
};

/// Returns whether the process has mapped a ring of io_uring or aio.
bool has_rings() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find("anon_inode:[io_uring]") != std::string::npos ||
            line.find("/[aio]") != std::string::npos) {
            return true;
        }
    }
    return false;
}

/// Returns whether the kernel has long-term pins on memory of the process.
bool has_pinned_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmPin:")) {
            return line.find_first_of("123456789") != std::string::npos;
        }
    }
    return false;
}

/// Returns whether the program uses io_uring or aio. The preloaded library sees rings that are made
/// by calls of the C library. Rings that were made by raw system calls are looked for once, at the
/// first registration. Without the preloaded library, pinned memory is looked for each time, which
/// costs as much as half a registration.
bool uses_async_io(const Gate& gate) {
    static const bool had_rings = has_rings();
    return had_rings || (gate.async != nullptr ? gate.async() : has_pinned_memory());
}

}  // namespace

Passage::Passage(PageMover& mover, std::uint64_t begin, std::uint64_t end, bool back) {
    static const Gate gate;
    const bool held = back ? mover.can_return() : mover.hold() != PageMover::Hold::kNobody;
    const auto stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if ((stack >= begin && stack < end) ||  // This thread's stack: it would wait for itself.
        uses_async_io(gate)) {
        return;
    }
    // If no access can be made to wait, there must be no thread of softib either: it may copy.
    if (program_is_alone(!held)) {
        granted_ = true;
        return;
    }
    if (gate.close != nullptr && gate.open != nullptr) {
        // The gate is closed even if system calls would wait, because one that has already pinned
        // its pages (O_DIRECT) would write to the old ones.
        granted_ = held && gate.close(begin, end);
        open_ = granted_ ? gate.open : nullptr;
        granted_ = granted_ && !uses_async_io(gate);  // The program may have begun to use it.
    } else {
        granted_ = held && mover.hold() == PageMover::Hold::kAll;
    }
}

Passage::~Passage() {
    if (open_ != nullptr) {
        open_();
    }
}

}  // namespace softib::direct
