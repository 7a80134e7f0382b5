// SPDX-License-Identifier: BSD-2-Clause
#include "abi/sharp/session.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "runtime/shm/naming.h"
#include "runtime/shm/observe.h"
#include "runtime/shm/program_place.h"
#include "runtime/shm/rpc.h"

namespace softib::abi::sharp {

namespace {

constexpr std::size_t kDevicesMax = 128;
constexpr int kAsksMax = 5000;  ///< How often a pending command is sent, once a millisecond.

bool is_active(const shm::Arena& arena, const shm::DeviceEntry& device) {
    return arena.hcas[device.hca].state.load(std::memory_order_relaxed) == PortState::kActive;
}

/// Returns the first device of the list whose port is active, or of all devices if the list is
/// empty; nullptr if there is none. The ":port" behind a name is ignored.
const shm::DeviceEntry* choose(const shm::Arena& arena, std::span<const shm::DeviceEntry> devices,
                               const char* list) {
    std::string_view rest = list == nullptr ? "" : list;
    if (rest.empty()) {
        const auto found = std::ranges::find_if(
            devices, [&](const shm::DeviceEntry& device) { return is_active(arena, device); });
        return found == devices.end() ? nullptr : &*found;
    }
    while (!rest.empty()) {
        const std::string_view entry = rest.substr(0, rest.find(','));
        const std::string_view name = entry.substr(0, entry.find(':'));
        for (const shm::DeviceEntry& device : devices) {
            if (name == device.name && is_active(arena, device)) {
                return &device;
            }
        }
        rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    }
    return nullptr;
}

}  // namespace

Error Session::open(const char* device_list) {
    const auto [dir, hosts] = shm::program_place();
    if (dir == nullptr || hosts == nullptr) {
        return Error::kSession;
    }
    const shm::Arena& arena = shm::observe_for_life(dir);
    if (arena.base == nullptr) {
        return Error::kSession;
    }
    shm::DeviceEntry devices[kDevicesMax];
    const std::size_t count =
        std::min(shm::list_devices(arena, hosts, std::span(devices)), kDevicesMax);
    const shm::DeviceEntry* const device = choose(arena, {devices, count}, device_list);
    if (device == nullptr) {
        return Error::kDevice;
    }
    hca_ = device->hca;
    fd_ = shm::rpc_connect(dir);
    return fd_ < 0 ? Error::kSession : Error::kNone;
}

void Session::close() {
    if (fd_ >= 0) {
        ::close(fd_);
        fd_ = -1;
    }
}

Error Session::command(const shm::SharpCommand& command, shm::SharpReply& reply, int* file) {
    const std::lock_guard guard(mutex_);
    for (int asks = 0; asks < kAsksMax; ++asks) {
        shm::Message message;
        shm::request::Sharp::Reply told;
        if (fd_ < 0 ||
            shm::rpc_ask(fd_, shm::request::Sharp{.command = command}, message, told) != 0) {
            return Error::kSession;
        }
        if (file != nullptr) {
            *file = told.file;
        } else if (told.file >= 0) {
            ::close(told.file);
        }
        reply = told.reply;
        if (reply.error != 0 || reply.pending == 0) {
            return static_cast<Error>(reply.error);
        }
        const timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
    }
    return Error::kSession;
}

}  // namespace softib::abi::sharp
