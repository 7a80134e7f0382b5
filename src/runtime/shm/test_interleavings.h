// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// For tests: runs a few short programs against each other in every order that a machine with store
// buffers (x86-TSO) allows, and lets them die between any two steps. Tests on real processors see
// only a few of these orders.
//
// A thread's stores go into its buffer, in order, and from there to memory at any later moment; its
// loads see its own buffer first. A thread that dies executes no more, but its buffer still
// empties.

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace softib::shm {

/// A state of the machine. All bytes count: two states with the same bytes are the same.
struct Machine {
    static constexpr std::size_t kVariables = 16;
    static constexpr std::size_t kThreads = 3;
    static constexpr std::size_t kBuffer = 8;
    struct Thread {
        std::uint8_t at = 0;  ///< The step that it executes next.
        std::uint8_t dead = 0;
        std::uint8_t done = 0;
        std::uint8_t buffered = 0;
        std::array<std::uint8_t, 4> registers{};
        std::array<std::uint8_t, kBuffer> variable{};
        std::array<std::uint8_t, kBuffer> value{};
    };
    std::array<std::uint8_t, kVariables> memory{};
    std::array<Thread, kThreads> threads{};
    std::uint8_t deaths = 0;
};

/// One thread's view of the machine while it executes a step. A step makes at most one access to
/// memory, and ends with one of next(), go(), wait() and end().
class Cpu {
  public:
    Cpu(Machine& machine, std::size_t self) : machine_(machine), self_(self) {}

    std::uint8_t at() const { return thread().at; }
    std::uint8_t& reg(std::size_t i) { return machine_.threads[self_].registers[i]; }
    /// Whether another thread is seen to be dead: the kernel says so after its last store.
    bool dead(std::size_t other) const {
        return machine_.threads[other].dead != 0 && machine_.threads[other].buffered == 0;
    }

    std::uint8_t load(std::size_t variable) const {
        const Machine::Thread& t = thread();
        for (std::size_t i = t.buffered; i != 0; --i) {
            if (t.variable[i - 1] == variable) {
                return t.value[i - 1];
            }
        }
        return machine_.memory[variable];
    }
    void store(std::size_t variable, std::uint8_t value) {
        Machine::Thread& t = machine_.threads[self_];
        if (t.buffered == Machine::kBuffer) {
            empty_one(machine_, self_);
        }
        t.variable[t.buffered] = static_cast<std::uint8_t>(variable);
        t.value[t.buffered] = value;
        ++t.buffered;
    }
    void fence() { empty(self_); }
    /// A locked exchange: returns the value before.
    std::uint8_t exchange(std::size_t variable, std::uint8_t value) {
        fence();
        return std::exchange(machine_.memory[variable], value);
    }
    bool compare_exchange(std::size_t variable, std::uint8_t expected, std::uint8_t value) {
        fence();
        if (machine_.memory[variable] != expected) {
            return false;
        }
        machine_.memory[variable] = value;
        return true;
    }
    /// Executes a barrier, and has another thread execute one. barrier_everywhere() is one such
    /// step for each thread.
    void barrier_at(std::size_t other) {
        empty(self_);
        empty(other);
    }

    bool next() { return go(static_cast<std::uint8_t>(at() + 1)); }
    bool go(std::uint8_t step) {
        machine_.threads[self_].at = step;
        return true;
    }
    /// The step cannot be executed now; another thread must act first.
    static bool wait() { return false; }
    bool end() {
        machine_.threads[self_].done = 1;
        return true;
    }
    static void empty_one(Machine& machine, std::size_t thread) {
        Machine::Thread& t = machine.threads[thread];
        machine.memory[t.variable[0]] = t.value[0];
        for (std::size_t i = 1; i < t.buffered; ++i) {
            t.variable[i - 1] = t.variable[i];
            t.value[i - 1] = t.value[i];
        }
        --t.buffered;
        t.variable[t.buffered] = 0;
        t.value[t.buffered] = 0;
    }

  private:
    const Machine::Thread& thread() const { return machine_.threads[self_]; }
    void empty(std::size_t other) {
        while (machine_.threads[other].buffered != 0) {
            empty_one(machine_, other);
        }
    }

    Machine& machine_;
    const std::size_t self_;
};

struct Program {
    /// Executes the thread's next step. Returns false if it cannot be executed now.
    std::function<bool(Cpu&)> step;
    bool mortal = false;
};

/// What a model is: its programs, and what must hold. The checks return what is wrong, or nothing.
struct Model {
    std::vector<Program> programs;
    Machine start;
    std::uint8_t deaths_max = 1;
    std::function<std::string(const Machine&)> always;  ///< In every state.
    std::function<std::string(const Machine&)> at_end;  ///< When no thread can go on.
};

struct Explored {
    std::size_t states = 0;
    std::string wrong;               ///< Empty if all orders are right.
    std::vector<std::string> order;  ///< The steps that lead to what is wrong.
};

/// Runs a model in every order.
Explored explore(const Model& model);

}  // namespace softib::shm
