// SPDX-License-Identifier: BSD-2-Clause
#include "view/manager.h"

#include "runtime/shm/rpc.h"

namespace softib::view {

std::expected<Manager, int> ask_manager(int daemon, shm::ManagerCommand command) {
    shm::Message message;
    shm::request::Manager::Reply told;
    const shm::request::Manager request{.command = command};
    if (const int error = shm::rpc_ask(daemon, request, message, told); error != 0) {
        return std::unexpected(error);
    }
    Manager manager{.master = std::string(told.master), .ours = {}};
    if (told.ours) {
        manager.ours = OurManager{.state = std::string(told.state),
                                  .lid = told.lid,
                                  .guid = told.guid,
                                  .priority = told.priority,
                                  .engine = std::string(told.engine),
                                  .routes = std::string(told.routes),
                                  .adaptive_groups = told.adaptive_groups,
                                  .nodes = told.nodes,
                                  .full_sweeps = told.full_sweeps,
                                  .partial_sweeps = told.partial_sweeps,
                                  .smps = told.smps,
                                  .lft_blocks = told.lft_blocks,
                                  .others = told.others};
    }
    return manager;
}

}  // namespace softib::view
