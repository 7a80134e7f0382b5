// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Text for people: messages, tables, colour and a sign of life during long work. Colour and
// progress only on a terminal; NO_COLOR turns colour off (no-color.org).

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

namespace softib::app {

enum class Colour { kNone, kBold, kDim, kGreen, kYellow, kRed };

bool colour_wanted();                                         ///< For stdout.
std::string painted(const std::string& text, Colour colour);  ///< Unchanged where unwanted.

/// Prints "softib: MESSAGE" to stderr and returns the exit status of a failed command.
[[nodiscard]] int fail(const std::string& message);
/// The same for a command line that is wrong.
[[nodiscard]] int misuse(const std::string& message);
void note(const std::string& message);  ///< The same without being a failure.

/// Returns the exit status of the program: the command's, unless its output could not be written.
[[nodiscard]] int finish_output(int status);

/// Left-aligned columns; the last one is never padded.
class Table {
  public:
    explicit Table(std::vector<std::string> header);
    void row(std::vector<std::string> cells);
    std::string text() const;

  private:
    std::vector<std::vector<std::string>> rows_;
};

/// "[######..................]": the part that is done.
std::string bar_text(std::size_t done, std::size_t all);

/// "fabric default: starting … 1.4 s", redrawn in place; shows nothing in the first moments.
class Progress {
  public:
    explicit Progress(std::string what);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void tick();
    void set(std::string what);  ///< What is being done now; the time goes on.
    /// "[####....] 3 of 8 WHAT": the same with how far it is.
    void bar(std::size_t done, std::size_t all, const std::string& what);

  private:
    std::string what_;
    std::chrono::steady_clock::time_point start_;
    bool terminal_;
    bool drawn_ = false;
};

/// 1536 -> "1.5 KiB".
std::string human_bytes(std::uint64_t bytes);

/// "1 host", "2 hosts", "2 switches".
std::string counted(std::uint64_t n, const std::string& what);

}  // namespace softib::app
