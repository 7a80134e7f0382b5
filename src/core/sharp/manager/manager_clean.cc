// SPDX-License-Identifier: BSD-2-Clause
// Cleans nodes that the aggregation manager could not reach when a job ended: a switch was cut off,
// or a cable lost its MADs. Such a node may come back with the queue pairs, the group and the locks
// of the job, so the manager sends its MADs again, whenever the node is in the fabric, until it
// answers. No other job gets the job's tree before.
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

/// Returns whether a node has not answered when it had to be cleaned of a job.
bool Manager::is_unclean(JobId job) const {
    return std::ranges::find(unclean_, job, &Errand::job) != unclean_.end();
}

/// Lines up the unanswered MADs again for nodes that are in the fabric, at most once in
/// kCleanAgainNs.
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
