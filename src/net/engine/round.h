// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the engine keeps while it handles a window switch by switch (round.cc).

#include <array>
#include <cstdint>
#include <vector>

#include "net/engine/window_queue.h"

namespace softib::net {

struct Round {
    /// The ports of a switch.
    struct Outputs {
        std::uint32_t first;  ///< Port 0.
        std::uint32_t count;  ///< With port 0.
    };
    struct Due {
        WindowQueue::Item item;
        std::uint32_t output;  ///< Number of the port at its switch.
    };
    /// Credits that find no slot until the end of the window.
    struct Late {
        TimePs at;
        std::uint32_t link;
        std::uint16_t blocks;
        std::uint8_t vl;
    };

    std::vector<Outputs> outputs;  ///< By switch.
    std::vector<Late> late;

    // The switch at hand.
    std::vector<Due> due;                     ///< Its events.
    std::vector<WindowQueue::Item> sorted;    ///< Arrivals, by output.
    std::array<std::uint32_t, 256> begins{};  ///< By number of the port: place in `sorted`.
    std::array<std::uint8_t, 256> woken{};    ///< By number of the port: a wake is due.
    std::vector<std::uint32_t> walkers;       ///< A packet in each queue, see begin_walk().
    std::uint32_t open_output = kNone;        ///< The port whose events are handled now.
    TimePs open_until = 0;                    ///< Last moment of the window.
    TimePs open_last = 0;                     ///< Time of the latest event.
};

}  // namespace softib::net
