// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/output_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "app/fabric/term.h"

namespace softib::app {

namespace {

namespace fs = std::filesystem;

/// Returns whether two paths name one file, there or not. Devices and pipes take any number of
/// outputs.
bool is_same(const std::string& one, const std::string& other) {
    std::error_code none;
    if (one == "-" || other == "-") {
        return one == other;
    }
    if (fs::exists(one, none) && fs::exists(other, none)) {
        return fs::is_regular_file(one, none) && fs::equivalent(one, other, none);
    }
    return fs::weakly_canonical(one, none) == fs::weakly_canonical(other, none);
}

/// Returns the errno value with which a file cannot be opened for writing; 0 if it can.
int try_file(const std::string& path) {
    const auto opened = [&](int flags) {
        const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
        if (file >= 0) {
            close(file);
        }
        return file >= 0;
    };
    if (opened(O_CREAT | O_EXCL)) {
        unlink(path.c_str());
        return 0;
    }
    if (errno != EEXIST) {
        return errno;
    }
    // ENXIO: a pipe that nobody reads yet. ENOENT: a link to a file that will be made.
    return opened(O_NONBLOCK) || errno == ENXIO || errno == ENOENT ? 0 : errno;
}

}  // namespace

std::optional<OutputFault> find_output_fault(std::span<const OutputFile> written,
                                             std::span<const std::string> read) {
    for (std::size_t i = 0; i < written.size(); ++i) {
        const auto& [option, path] = written[i];
        if (path.empty()) {
            continue;
        }
        const auto same = [&path](const OutputFile& other) {
            return !other.path.empty() && is_same(path, other.path);
        };
        if (std::ranges::any_of(written.first(i), same)) {
            return OutputFault{fmt::format("{}: {} would be written twice: name another file",
                                           option, path == "-" ? "standard output" : path),
                               true};
        }
        if (path == "-") {
            continue;
        }
        const auto is_read = [&path](const std::string& file) {
            return !file.empty() && is_same(path, file);
        };
        if (std::ranges::any_of(read, is_read)) {
            return OutputFault{
                fmt::format("{}: {} is read too, and would be lost: name another file", option,
                            path),
                true};
        }
    }
    for (const auto& [option, path] : written) {
        if (const int error = path.empty() || path == "-" ? 0 : try_file(path); error != 0) {
            return OutputFault{fmt::format("cannot write {}: {}", path, std::strerror(error))};
        }
    }
    return std::nullopt;
}

int check_outputs(std::span<const OutputFile> written, std::span<const std::string> read) {
    const auto fault = find_output_fault(written, read);
    if (!fault) {
        return 0;
    }
    return fault->misuse ? misuse(fault->text) : fail(fault->text);
}

}  // namespace softib::app
