// SPDX-License-Identifier: BSD-2-Clause
#include "abi/umad/fabric.h"

#include <string.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>

#include "runtime/shm/observe.h"
#include "runtime/shm/program_place.h"

namespace softib::abi::umad {

const Fabric* Fabric::get() {
    static std::mutex mutex;
    static const Fabric* known = nullptr;  // Never freed: used until the process ends.
    const std::lock_guard guard(mutex);
    if (known == nullptr) {
        auto* fabric = new (std::nothrow) Fabric;
        if (fabric != nullptr && fabric->open()) {
            known = fabric;
        } else {
            delete fabric;
        }
    }
    return known;
}

bool Fabric::open() {
    const auto [dir, hosts] = shm::program_place();
    if (dir == nullptr || hosts == nullptr) {
        return false;
    }
    arena_ = shm::observe(dir);
    if (arena_.base == nullptr) {
        return false;
    }
    device_count_ = std::min(shm::list_devices(arena_, hosts, devices_), kDevicesMax);
    // Copied, because the program may change its environment.
    dir_ = strdup(dir);
    const char* const kept = strdup(hosts);
    if (dir_ == nullptr || kept == nullptr) {
        return false;
    }
    hosts_ = kept;
    return true;
}

const shm::DeviceEntry* Fabric::find(const char* name) const {
    const auto all = devices();
    const auto found = std::ranges::find_if(all, [&](const shm::DeviceEntry& device) {
        return name != nullptr
                   ? std::string_view(device.name) == name
                   : hca(device).state.load(std::memory_order_relaxed) == PortState::kActive;
    });
    if (found != all.end()) {
        return &*found;
    }
    return name == nullptr && !all.empty() ? &all.front() : nullptr;
}

}  // namespace softib::abi::umad
