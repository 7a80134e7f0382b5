// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Text for people: messages, tables, colour, and progress during long work. Colour and progress
// appear only on a terminal; NO_COLOR turns colour off (no-color.org).

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

namespace softib::app {

enum class Colour { kNone, kBold, kDim, kGreen, kYellow, kRed };

bool colour_wanted();  ///< Returns whether text on stdout may have colour.
/// Returns a text with the sequences of a colour; unchanged if colour is not wanted.
std::string painted(const std::string& text, Colour colour);

/// Prints "softib: MESSAGE" to stderr and returns the exit status of a failed command.
[[nodiscard]] int fail(const std::string& message);
/// Prints "softib: MESSAGE" to stderr and returns the exit status for a wrong command line.
[[nodiscard]] int misuse(const std::string& message);
/// Prints "softib: MESSAGE" to stderr, for something that is no failure.
void note(const std::string& message);

/// Writes out what is buffered for stdout. Returns `status`, or 1 if that is 0 and the output could
/// not be written.
[[nodiscard]] int finish_output(int status);

/// A table with left-aligned columns; the last one is never padded.
class Table {
  public:
    explicit Table(std::vector<std::string> header);
    void row(std::vector<std::string> cells);
    std::string text() const;

  private:
    std::vector<std::vector<std::string>> rows_;
};

/// Returns a bar for the part that is done: "[######..................]".
std::string bar_text(std::size_t done, std::size_t all);

/// A line of progress on the terminal, redrawn in place: "fabric default: starting … 1.4 s". It
/// does not appear if the work is short.
class Progress {
  public:
    explicit Progress(std::string what);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    /// Redraws the line with the time that has passed.
    void tick();
    /// Changes what the line says is being done; the time goes on.
    void set(std::string what);
    /// Changes the line to "[####....] 3 of 8 WHAT".
    void bar(std::size_t done, std::size_t all, const std::string& what);

  private:
    std::string what_;
    std::chrono::steady_clock::time_point start_;
    bool terminal_;
    bool drawn_ = false;
};

/// Returns a number of bytes for people: "1.5 KiB" for 1536.
std::string human_bytes(std::uint64_t bytes);

/// Returns a number with a noun, in the plural if need be: "1 host", "2 hosts", "2 switches".
std::string counted(std::uint64_t n, const std::string& what);

}  // namespace softib::app
