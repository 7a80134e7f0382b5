// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace softib::run {

/// What a user asks for, before anything of it is checked.
struct Asked {
    std::string file = {};  ///< A scenario or a sweep; empty: none.
    /// The text of such a file instead; paths in it begin in `folder`.
    std::optional<std::string> text = {};
    std::string folder = {};
    std::string config = {};  ///< A description of the fabric; empty: none.
    /// Flags in their order, with the names that the tables of keys and options have. They win over
    /// the files.
    std::vector<std::pair<std::string, std::string>> flags = {};
    bool one_simulation = false;  ///< No other kind of run will do.
    bool job = false;             ///< This process is one of an MPI job.
    std::string libraries = {};   ///< The folder of the library that joins the job.
};

}  // namespace softib::run
