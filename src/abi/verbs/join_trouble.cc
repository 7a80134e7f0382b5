// SPDX-License-Identifier: BSD-2-Clause
#include "abi/verbs/join_trouble.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "runtime/shm/arena.h"
#include "runtime/shm/protocol.h"

namespace softib::abi {

namespace {

std::string versions_text() {
    return "protocol " + std::to_string(shm::kProtocolVersion) + ", arena " +
           std::to_string(shm::kArenaVersion);
}

/// Returns the version of the fabric's daemon if it differs from ours; an empty text if it is the
/// same or unknown.
std::string other_version(const std::string& dir) {
    std::string text;
    std::ifstream file(dir + "/" + shm::kVersionFileName);
    std::getline(file, text);
    return text.ends_with(versions_text()) ? "" : text;
}

}  // namespace

std::string join_trouble(const std::string& dir, int error) {
    const std::string other = other_version(dir);
    if (!other.empty() || error == EPROTO || error == EPROTONOSUPPORT) {
        return "the fabric's softibd has another version (" + (other.empty() ? "" : other + "; ") +
               "this library has " + versions_text() +
               "); start the program with the softib that started the fabric";
    }
    switch (error) {
        case EUSERS:
            return "all process slots of the fabric are in use; end some programs, or start "
                   "another fabric with: softib up NAME";
        case EAGAIN:
            return "its softibd does not answer; see: softib list";
        case ENOENT:
            return access((dir + "/" + shm::kSocketName).c_str(), F_OK) == 0
                       ? "it has no such host; softib status shows its hosts"
                       : "it is not up; see: softib list";
        case ECONNREFUSED:
            return "its softibd is gone; see: softib list";
        case ENOMEM:
            return "its arena does not fit into this program's address space; bring it up smaller, "
                   "e.g. softib up --arena 16G";
        default:
            return std::strerror(error);
    }
}

}  // namespace softib::abi
