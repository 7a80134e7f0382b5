// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The file that keeps our subnet manager's LIDs for the next run (format: core/sm/lid_map.h).

#include <expected>
#include <span>
#include <string>

#include "core/sm/manager.h"

namespace softib::daemon {

class LidFile {
  public:
    LidFile() = default;  ///< No file.
    explicit LidFile(std::string path) : path_(std::move(path)) {}

    /// Puts the file's LIDs into `config`. A file that does not exist has none. Bad lines are
    /// logged and ignored. The error says why the file cannot be used.
    std::expected<void, std::string> load(sm::ManagerConfig& config);
    /// Writes the LIDs, completely or not at all, if they have changed. A failure is logged.
    void save(std::span<const sm::LidRange> ranges);

  private:
    std::string path_;
    std::string text_;  ///< Contents of the file.
};

}  // namespace softib::daemon
