// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What managers that are programs on a port share: their command line, and the loop that waits for
// MADs, for the time and for signals.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>

#include "umad/port.h"

namespace softib::app {

std::uint64_t now_ns();

/// Options of all such programs; --version and --help are the others.
struct PortOptions {
    std::string device;
    int port = 0;
    bool once = false;
};

/// An option that a program has beside those of all.
struct OwnOption {
    char letter;
    const char* name;
    bool has_value;
    /// Returns false, after it has said what is wrong, if the value is none.
    std::function<bool(const char* value)> take;
};

/// A command line of a program that calls itself `name` in messages.
class PortCommand {
  public:
    constexpr PortCommand(const char* name, const char* usage) : name_(name), usage_(usage) {}

    /// Returns false, after it has said what is wrong, with the usage, if an argument is none.
    bool parse(int argc, char** argv, PortOptions& options, std::span<const OwnOption> own) const;
    /// Reads a number, decimal, or hexadecimal after 0x. Returns false, after it has said so, if it
    /// is none, or more than `most`.
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

/// A program that has a port. It takes the signals that it names from its beginning on.
class PortProgram {
  public:
    PortProgram(const char* name, umad::Port& port, std::initializer_list<int> signals);
    PortProgram(const PortProgram&) = delete;
    PortProgram& operator=(const PortProgram&) = delete;
    virtual ~PortProgram();

    /// Returns when the program is over, or its port is gone.
    void run();

  protected:
    umad::Port& port() const { return port_; }
    const char* name() const { return name_; }

  private:
    /// Takes what has arrived and does what is due.
    virtual void step() = 0;
    virtual bool is_over() const = 0;
    /// Returns when step() has something to do, UINT64_MAX if only a MAD can tell.
    virtual std::uint64_t next_timeout_ns() const = 0;
    virtual void handle_signal(int number) = 0;

    int wait_ms() const;

    const char* name_;
    umad::Port& port_;
    int signal_fd_ = -1;
};

}  // namespace softib::app
