// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/path.h"

namespace softib::shm {

std::optional<Path> walk_path(const Arena& arena, std::uint32_t from_hca, Lid dlid,
                              std::optional<PKey> pkey, std::optional<Refusal>& refused) {
    if (dlid == kLidUnassigned || dlid.value >= kLftEntries ||
        !active(arena.hcas[from_hca].state)) {
        return std::nullopt;
    }
    const auto hca =
        follow_datagram(arena, from_hca, dlid, pkey, [&](SwitchPortRecord& port, Step step) {
            if (step == Step::kRefusedIn || step == Step::kRefusedOut) {
                refused = Refusal{&port, step == Step::kRefusedIn};
            }
        });
    return hca ? std::optional(Path{*hca}) : std::nullopt;
}

}  // namespace softib::shm
