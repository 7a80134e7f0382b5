// SPDX-License-Identifier: BSD-2-Clause
#include "view/sharp.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "runtime/shm/rpc.h"

namespace softib::view {

namespace {

/// The fields of a line; empty where there is none.
class TabFields {
  public:
    explicit TabFields(std::string_view line) {
        while (true) {
            const std::size_t end = line.find('\t');
            fields_.push_back(line.substr(0, end));
            if (end == std::string_view::npos) {
                return;
            }
            line.remove_prefix(end + 1);
        }
    }
    std::string_view at(std::size_t i) const { return i < fields_.size() ? fields_[i] : ""; }
    std::string text(std::size_t i) const { return std::string(at(i)); }
    std::uint64_t number(std::size_t i) const {
        std::uint64_t value = 0;
        std::from_chars(at(i).data(), at(i).data() + at(i).size(), value);
        return value;
    }

  private:
    std::vector<std::string_view> fields_;
};

void take_line(const TabFields& line, Sharp& sharp) {
    const std::string_view kind = line.at(0);
    if (kind == "node") {
        sharp.nodes.push_back({line.text(1), line.number(2), line.number(3), line.number(4),
                               line.number(5), line.number(6), line.number(7), line.number(8)});
    } else if (kind == "job") {
        sharp.jobs.push_back({line.number(1),
                              line.text(2),
                              line.text(3),
                              line.number(4),
                              line.number(5),
                              line.number(6),
                              line.number(7),
                              line.number(8),
                              line.number(9),
                              line.text(11),
                              {},
                              {}});
    } else if (sharp.jobs.empty()) {
        return;
    } else if (kind == "switch") {
        sharp.jobs.back().switches.push_back(
            {line.text(2), line.at(3) == "-" ? "" : line.text(3), line.number(4), {}});
    } else if (kind == "member" && !sharp.jobs.back().switches.empty()) {
        sharp.jobs.back().switches.back().members.push_back(
            {line.number(2), line.text(3), line.number(5)});
    } else if (kind == "group") {
        sharp.jobs.back().groups.push_back({line.number(2), line.number(3), line.text(4)});
    }
}

}  // namespace

Sharp parse_sharp(std::string_view text) {
    Sharp sharp;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        take_line(TabFields(line), sharp);
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return sharp;
}

std::expected<Sharp, int> ask_sharp(int daemon) {
    live::Message message;
    live::request::OneFile told;
    if (const int error = live::rpc_ask(daemon, live::request::SharpDescribe{}, message, told);
        error != 0) {
        return std::unexpected(error);
    }
    struct stat st{};
    std::string text;
    if (fstat(told.file, &st) == 0) {
        text.resize(static_cast<std::size_t>(st.st_size));
    }
    const bool read =
        pread(told.file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
    close(told.file);
    return read ? std::expected<Sharp, int>(parse_sharp(text)) : std::unexpected(EIO);
}

}  // namespace softib::view
