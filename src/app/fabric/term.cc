// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/term.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace softib::app {

namespace {

constexpr std::chrono::milliseconds kProgressAfter{250};

/// Returns how many columns a text takes on the screen: UTF-8 continuation bytes and colour
/// sequences take none.
std::size_t screen_width(const std::string& text) {
    std::size_t width = 0;
    bool escape = false;
    for (const char c : text) {
        if (escape) {
            escape = c != 'm';
        } else if (c == '\x1b') {
            escape = true;
        } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
            ++width;
        }
    }
    return width;
}

const char* sequence(Colour colour) {
    switch (colour) {
        case Colour::kBold:
            return "\x1b[1m";
        case Colour::kDim:
            return "\x1b[2m";
        case Colour::kGreen:
            return "\x1b[32m";
        case Colour::kYellow:
            return "\x1b[33m";
        case Colour::kRed:
            return "\x1b[31m";
        case Colour::kNone:
            break;
    }
    return "";
}

}  // namespace

bool colour_wanted() {
    const char* const no_colour = std::getenv("NO_COLOR");
    const char* const terminal = std::getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
           (terminal == nullptr || std::string_view(terminal) != "dumb");
}

std::string painted(const std::string& text, Colour colour) {
    static const bool wanted = colour_wanted();
    return wanted && colour != Colour::kNone ? sequence(colour) + text + "\x1b[0m" : text;
}

int fail(const std::string& message) {
    note(message);
    return 1;
}

int misuse(const std::string& message) {
    note(message);
    return 2;
}

void note(const std::string& message) {
    std::fflush(stdout);
    std::fputs(fmt::format("softib: {}\n", message).c_str(), stderr);  // fmt::print() would throw.
}

int finish_output(int status) {
    errno = 0;
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
        return status;
    }
    // errno is 0 if an earlier write failed: its reason is lost.
    const std::string reason = errno == 0 ? "" : fmt::format(": {}", std::strerror(errno));
    note("cannot write the output" + reason);
    return status == 0 ? 1 : status;
}

Table::Table(std::vector<std::string> header) {
    for (std::string& cell : header) {
        cell = painted(cell, Colour::kBold);
    }
    rows_.push_back(std::move(header));
}

void Table::row(std::vector<std::string> cells) {
    cells.resize(rows_.front().size());
    rows_.push_back(std::move(cells));
}

std::string Table::text() const {
    const std::size_t columns = rows_.front().size();
    std::vector<std::size_t> widths(columns, 0);
    for (const auto& row : rows_) {
        for (std::size_t c = 0; c < columns; ++c) {
            widths[c] = std::max(widths[c], screen_width(row[c]));
        }
    }
    std::string out;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t c = 0; c < columns; ++c) {
            line += row[c];
            if (c + 1 < columns) {
                line.append(widths[c] - screen_width(row[c]) + 2, ' ');
            }
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

std::string bar_text(std::size_t done, std::size_t all) {
    constexpr std::size_t kWidth = 24;
    const std::size_t filled = all == 0 ? kWidth : std::min(done, all) * kWidth / all;
    return fmt::format("[{}{}]", std::string(filled, '#'), std::string(kWidth - filled, '.'));
}

Progress::Progress(std::string what)
    : what_(std::move(what)),
      start_(std::chrono::steady_clock::now()),
      terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
    if (drawn_) {
        fmt::print(stderr, "\r\x1b[K");
    }
}

void Progress::tick() {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    if (!terminal_ || elapsed < kProgressAfter) {
        return;
    }
    const double seconds = std::chrono::duration<double>(elapsed).count();
    fmt::print(stderr, "\r\x1b[K{} … {:.1f} s", what_, seconds);
    std::fflush(stderr);
    drawn_ = true;
}

void Progress::set(std::string what) {
    what_ = std::move(what);
    tick();
}

void Progress::bar(std::size_t done, std::size_t all, const std::string& what) {
    set(fmt::format("{} {} of {} {}", bar_text(done, all), done, all, what));
}

std::string human_bytes(std::uint64_t bytes) {
    constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string counted(std::uint64_t n, const std::string& what) {
    const char* const plural = what.ends_with("ch") || what.ends_with("s") ? "es" : "s";
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : plural);
}

}  // namespace softib::app
