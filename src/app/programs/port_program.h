// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What softib-sm and softib-am, the managers that run as programs on a port, share: the command
// line, and the loop that waits for MADs, timeouts and signals.

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <expected>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>

#include "umad/port.h"

namespace softib::app {

std::uint64_t now_ns();

/// Options of all these programs, beside --version and --help.
struct PortOptions {
    std::string device;
    int port = 0;
    bool once = false;
};

/// An option that only one of these programs has.
struct OwnOption {
    char letter;
    const char* name;
    bool has_value;
    /// Takes the value of the option. Prints what is wrong and returns false if the value is not
    /// valid.
    std::function<bool(const char* value)> take;
};

/// Reads the command line of a program that calls itself `name` in messages.
class PortCommand {
  public:
    constexpr PortCommand(const char* name, const char* usage) : name_(name), usage_(usage) {}

    /// Reads all arguments. Prints what is wrong and the usage, and returns false, if an argument
    /// is not valid.
    bool parse(int argc, char** argv, PortOptions& options, std::span<const OwnOption> own) const;
    /// Reads a number, decimal, or hexadecimal after 0x. Prints what is wrong and returns false if
    /// the text is no number, or the number is more than `most`.
    template <typename T>
    bool take_number(const char* text, T& number, std::uint64_t most) const {
        std::uint64_t value = 0;
        if (!parse_number(text, value, most)) {
            return false;
        }
        number = static_cast<T>(value);
        return true;
    }
    const char* name() const { return name_; }

  private:
    bool parse_arguments(int argc, char** argv, PortOptions& options,
                         std::span<const OwnOption> own) const;
    bool take_common(int letter, PortOptions& options) const;
    bool parse_number(const char* text, std::uint64_t& value, std::uint64_t most) const;

    const char* name_;
    const char* usage_;
};

/// A program that runs on a port. From its construction on, `signals` come to handle_signal().
class PortProgram {
  public:
    PortProgram(const char* name, umad::Port& port, std::initializer_list<int> signals);
    PortProgram(const PortProgram&) = delete;
    PortProgram& operator=(const PortProgram&) = delete;
    virtual ~PortProgram();

    /// Runs the loop until is_over() is true or the port is gone.
    void run();

  protected:
    umad::Port& port() const { return port_; }

  private:
    /// Handles the MADs that have arrived and the timeouts that are due.
    virtual void step() = 0;
    virtual bool is_over() const = 0;
    /// Returns the time at which step() has something to do; UINT64_MAX if it only waits for MADs.
    virtual std::uint64_t next_timeout_ns() const = 0;
    virtual void handle_signal(int number) = 0;

    int wait_ms() const;

    const char* name_;
    umad::Port& port_;
    int signal_fd_ = -1;
};

/// What main() of such a program does, from its command line to its exit status. `Program` is
/// constructed from options and a port; `parse(argc, argv, options)` reads its command line;
/// `prepare(port)` makes the opened port fit for it, and returns what prevents that.
template <typename Program, typename Options>
int run_on_port(const PortCommand& command, int argc, char** argv,
                bool (*parse)(int, char**, Options&),
                std::expected<void, std::string> (*prepare)(umad::Port&)) {
    Options options;
    if (!parse(argc, argv, options)) {
        return 2;
    }
    umad::Port port;
    auto ready = port.open(options.device, options.port);
    if (ready) {
        ready = prepare(port);
    }
    if (!ready) {
        fmt::print(stderr, "{}: {}\n", command.name(), ready.error());
        return 1;
    }
    fmt::print("{} on {}, {}\n", command.name(), port.name(), to_string(port.guid()));
    std::fflush(stdout);
    Program(options, port).run();
    return 0;
}

}  // namespace softib::app
