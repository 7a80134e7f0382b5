// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The file in which our manager's LIDs outlive it (core/sm/lid_map.h has its format).

#include <expected>
#include <span>
#include <string>

#include "core/sm/manager.h"

namespace softib::live {

class LidFile {
  public:
    LidFile() = default;  ///< No file.
    explicit LidFile(std::string path) : path_(std::move(path)) {}

    /// Puts the LIDs into `config`; a file that is not there has none. Bad lines are logged and
    /// left out. The error says why the file cannot be used.
    std::expected<void, std::string> load(sm::ManagerConfig& config);
    /// Writes them, whole or not at all, if they are others than before; a failure is logged.
    void save(std::span<const sm::LidRange> ranges);

  private:
    std::string path_;
    std::string text_;  ///< As in the file.
};

}  // namespace softib::live
