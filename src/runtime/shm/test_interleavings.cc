// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/test_interleavings.h"

#include <algorithm>

namespace softib::shm {

namespace {

static_assert(sizeof(Machine) == Machine::kVariables + Machine::kThreads * 24 + 1);

class Explorer {
  public:
    explicit Explorer(const Model& model) : model_(model) {}

    Explored run() {
        found(model_.start, 0, "start");
        while (!open_.empty() && wrong_.empty()) {
            const std::size_t state = open_.back();
            open_.pop_back();
            expand(state);
        }
        return {states_.size(), wrong_, wrong_.empty() ? std::vector<std::string>{} : order()};
    }

  private:
    struct State {
        Machine machine;
        std::size_t before;  ///< The state that it was reached from.
        std::string step;
    };

    void found(const Machine& machine, std::size_t before, std::string step) {
        const std::string bytes(reinterpret_cast<const char*>(&machine), sizeof machine);
        if (!wrong_.empty() || !known_.emplace(bytes, states_.size()).second) {
            return;
        }
        states_.push_back({machine, before, std::move(step)});
        open_.push_back(states_.size() - 1);
        if (model_.always) {
            judge(model_.always(machine), states_.size() - 1);
        }
    }
    void judge(const std::string& wrong, std::size_t state) {
        if (!wrong.empty()) {
            wrong_ = wrong;
            wrong_at_ = state;
        }
    }

    void expand(std::size_t from) {
        const Machine machine = states_[from].machine;
        bool moved = false;
        bool waits = false;
        for (std::size_t t = 0; t < model_.programs.size() && wrong_.empty(); ++t) {
            const Machine::Thread& thread = machine.threads[t];
            const std::string name = std::string(1, static_cast<char>('A' + t));
            if (thread.buffered != 0) {
                Machine next = machine;
                Cpu::empty_one(next, t);
                found(next, from, name + "'s oldest store reaches memory");
                moved = true;
            }
            if (thread.done != 0 || thread.dead != 0) {
                continue;
            }
            Machine next = machine;
            Cpu cpu(next, t);
            if (model_.programs[t].step(cpu)) {
                found(next, from, name + " executes " + std::to_string(thread.at));
                moved = true;
            } else {
                waits = true;
            }
            if (model_.programs[t].mortal && machine.deaths < model_.deaths_max) {
                Machine without = machine;
                without.threads[t].dead = 1;
                ++without.deaths;
                found(without, from, name + " dies before " + std::to_string(thread.at));
            }
        }
        if (!moved && wrong_.empty()) {
            judge(waits ? "a thread waits for ever"
                        : (model_.at_end ? model_.at_end(machine) : std::string{}),
                  from);
        }
    }

    std::vector<std::string> order() const {
        std::vector<std::string> steps;
        for (std::size_t at = wrong_at_; at != 0; at = states_[at].before) {
            steps.push_back(states_[at].step);
        }
        std::ranges::reverse(steps);
        return steps;
    }

    const Model& model_;
    std::vector<State> states_;
    std::vector<std::size_t> open_;
    std::unordered_map<std::string, std::size_t> known_;
    std::string wrong_;
    std::size_t wrong_at_ = 0;
};

}  // namespace

Explored explore(const Model& model) {
    return Explorer(model).run();
}

}  // namespace softib::shm
