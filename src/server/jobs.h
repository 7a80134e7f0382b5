// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What runs on a softib fabric: programs on its hosts, and SHARP jobs of its aggregation manager.

#include <string>
#include <vector>

namespace softib::server {

struct Job {
    std::string id;    ///< "pid-1234", "sharp-3"
    std::string kind;  ///< "process", "SHARP"
    std::string name;  ///< The command, or the key of the SHARP job.
    bool failed = false;
    std::string text;                  ///< One sentence about the job.
    std::vector<std::string> objects;  ///< The host, or the switches of the tree, the root first.
};

/// Returns the jobs of the fabric in a directory; none if the fabric does not answer.
std::vector<Job> fabric_jobs(const std::string& dir);

}  // namespace softib::server
