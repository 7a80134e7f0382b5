// SPDX-License-Identifier: BSD-2-Clause
// What the aggregation manager could not take back from nodes: a switch was cut off, or a cable
// lost its MADs. Such a node may come back with the queue pairs, the group and the locks of a job
// that has ended, so the manager asks it again, for as long as it is in the fabric, and gives the
// job's tree to nobody else until then.
#include <algorithm>
#include <utility>

#include "core/sharp/manager/manager.h"

namespace softib::sharp {

bool Manager::is_cleaning(JobId job) const {
    const auto found = scripts_.find(job);
    return found != scripts_.end() &&
           std::ranges::find(found->second.errands, Purpose::kClean, &Errand::purpose) !=
               found->second.errands.end();
}

bool Manager::is_unclean(JobId job) const {
    return std::ranges::find(unclean_, job, &Errand::job) != unclean_.end();
}

/// Asks nodes again that are in the fabric.
void Manager::clean_again(std::uint64_t now_ns) {
    if (now_ns < clean_again_ns_) {
        return;
    }
    clean_again_ns_ = now_ns + kCleanAgainNs;
    for (Errand& errand : std::exchange(unclean_, {})) {
        if (graph_ && graph_->target_of(errand.lid) != routing::kNone) {
            scripts_[errand.job].errands.push_back(std::move(errand));
        } else {
            unclean_.push_back(std::move(errand));
        }
    }
}

}  // namespace softib::sharp
