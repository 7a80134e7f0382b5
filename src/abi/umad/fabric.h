// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The devices of this process's host, read from the arena of the fabric. The process only reads the
// arena and does not attach to it: a program that manages the fabric need not move data on it.

#include <span>
#include <string_view>

#include "runtime/shm/arena.h"
#include "runtime/shm/naming.h"

namespace softib::abi::umad {

inline constexpr int kPort = 1;  ///< The number of the only port of each HCA.

class Fabric {
  public:
    /// Returns the fabric of this process, which the environment names (SOFTIB_DIR, SOFTIB_HOST).
    /// Opens it on first use and keeps it. Returns nullptr if there is none.
    static const Fabric* get();

    std::span<const shm::DeviceEntry> devices() const { return {devices_, device_count_}; }
    const shm::HcaRecord& hca(const shm::DeviceEntry& device) const {
        return arena_.hcas[device.hca];
    }
    /// Returns the device with this name, or nullptr. A null name means the first device with an
    /// active port, or else the first device.
    const shm::DeviceEntry* find(const char* name) const;

    const char* dir() const { return dir_; }
    std::string_view hosts() const { return hosts_; }

  private:
    static constexpr std::size_t kDevicesMax = 128;

    bool open();

    shm::Arena arena_;
    shm::DeviceEntry devices_[kDevicesMax];
    std::size_t device_count_ = 0;
    const char* dir_ = nullptr;
    std::string_view hosts_;
};

}  // namespace softib::abi::umad
