// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/lid_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/daemon/log.h"

namespace softib::daemon {

namespace {

constexpr std::size_t kProblemsShown = 10;
constexpr off_t kBytesMax = off_t{64} << 20;

}  // namespace

std::expected<void, std::string> LidFile::load(sm::ManagerConfig& config) {
    if (path_.empty()) {
        return {};
    }
    const auto refuse = [&](const char* what, int error) {
        return std::unexpected(
            fmt::format("cannot {} the LID file {}: {}", what, path_, std::strerror(error)));
    };
    struct stat info{};
    if (stat(path_.c_str(), &info) != 0) {
        // save() will make the file; an error should be seen now.
        const std::string folder = path_.substr(0, path_.rfind('/') + 1);
        if (errno != ENOENT || access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) {
            return refuse("make", errno);
        }
        return {};
    }
    if (!S_ISREG(info.st_mode) || info.st_size > kBytesMax) {
        return std::unexpected(
            fmt::format("{} is no LID file: give --lid-file a text file of at most 64 MiB", path_));
    }
    std::ifstream in(path_, std::ios::binary);
    text_.assign(std::istreambuf_iterator<char>(in), {});
    if (!in) {
        return refuse("read", errno);
    }
    const sm::ParsedLidMap parsed = sm::parse_lid_map(text_);
    for (std::size_t i = 0; i < parsed.problems.size() && i < kProblemsShown; ++i) {
        log_warning("{}, {}", path_, parsed.problems[i]);
    }
    if (parsed.problems.size() > kProblemsShown) {
        log_warning("{}: {} more bad lines", path_, parsed.problems.size() - kProblemsShown);
    }
    for (const sm::LidRange& range : parsed.ranges) {
        config.lids.insert_or_assign(range.guid.value, range.first);
    }
    return {};
}

void LidFile::save(std::span<const sm::LidRange> ranges) {
    std::string text = path_.empty() ? std::string() : sm::print_lid_map(ranges);
    if (text == text_) {
        return;
    }
    const std::string unfinished = path_ + ".new";
    std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out || std::rename(unfinished.c_str(), path_.c_str()) != 0) {
        log_warning("cannot write the LID file {}: {}", path_, std::strerror(errno));
        unlink(unfinished.c_str());
        return;
    }
    text_ = std::move(text);
}

}  // namespace softib::daemon
