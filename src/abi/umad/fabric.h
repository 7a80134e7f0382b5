// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The fabric as this process sees it: the devices of its host, read from the arena. Only a reader:
// a program that manages the fabric need not be one that moves data on it.

#include <span>
#include <string_view>

#include "runtime/shm/arena.h"
#include "runtime/shm/naming.h"

namespace softib::abi::umad {

inline constexpr int kPort = 1;  ///< Our HCAs have one.

class Fabric {
  public:
    /// The one of this process, found on first use by its environment (SOFTIB_DIR, SOFTIB_HOST)
    /// and kept. nullptr: there is none.
    static const Fabric* get();

    std::span<const live::DeviceEntry> devices() const { return {devices_, device_count_}; }
    const live::HcaRecord& hca(const live::DeviceEntry& device) const {
        return arena_.hcas[device.hca];
    }
    /// Returns the device with this name; a null name means the first with an active port, or else
    /// the first.
    const live::DeviceEntry* find(const char* name) const;

    const char* dir() const { return dir_; }
    std::string_view hosts() const { return hosts_; }

  private:
    static constexpr std::size_t kDevicesMax = 128;

    bool open();

    live::Arena arena_;
    live::DeviceEntry devices_[kDevicesMax];
    std::size_t device_count_ = 0;
    const char* dir_ = nullptr;
    std::string_view hosts_;
};

}  // namespace softib::abi::umad
