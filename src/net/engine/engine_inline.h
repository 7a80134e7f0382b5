// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a network (network.h) makes of an engine for every event: a call of its own would cost a
// hundredth of a hop.

#include "net/engine/engine.h"

namespace softib::net {

inline void Engine::step() {
    Schedule& schedule = mover_.schedule_;
    Outbox& told = mover_.outbox_;
    const Event event = schedule.queue().pop();
    ahead_.look(schedule, mover_.plant_, mover_.queues_, told.coming);
    if (event.kind() == EventKind::kTimer) {
        ++mover_.stats_.events;
        told.has_timer = true;
        told.timer = {event.link(), event.packet};
        return;
    }
    mover_.handle(event);
}

}  // namespace softib::net
