// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A whole fabric as a flow model (flow_model.h) behind the interface of all models (net/model.h).
// It takes the same options as a Simulation, but refuses those that need packets. It tells of
// messages when they are delivered and when their sender knows it. docs/flow-model.md says where it
// must not be used.
//
// An acknowledgement is under way as long as a bit of the message, and takes no bandwidth.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "net/flow/flow_model.h"
#include "net/model.h"
#include "net/sim/paths.h"
#include "net/sim/simulation.h"

namespace softib::net::flow {

class FlowSimulation : public Model {
  public:
    /// Routes a fabric and makes its model. The message of the error says what does not fit and
    /// what to do.
    static std::expected<std::unique_ptr<FlowSimulation>, topo::Error> make(
        topo::Fabric fabric, const SimulationOptions& options);
    FlowSimulation(const FlowSimulation&) = delete;
    FlowSimulation& operator=(const FlowSimulation&) = delete;

    std::uint32_t end_count() const override { return network_.end_count(); }
    TimePs now() const override { return now_; }
    void send(const net::Message& message, TimePs at) override;
    void set_listener(MessageListener* listener) override { listener_ = listener; }
    bool run_some(TimePs until, std::uint32_t events_max) override;
    bool idle() const override { return model_.idle() && due_.empty(); }
    /// Returns the number of events and the log_hash; all else is 0, as there are no packets.
    ModelStats stats() const override;
    std::uint64_t events() const override { return events_; }
    std::uint64_t packets_delivered() const override { return 0; }
    /// Returns the loads; XmitWait, packets and the time without credits are 0.
    std::vector<net::LinkLoad> links() const override;
    std::vector<net::Hop> path(std::uint32_t from, std::uint32_t to) const override;
    const std::string& engine() const override { return engine_; }
    std::uint8_t data_vls() const override { return start_.data_vls; }
    std::uint64_t unfinished() const override { return unfinished_; }
    /// Returns the messages that have left their senders in part.
    std::vector<net::Partial> partial() const override { return model_.partial(now_); }
    const std::vector<std::string>& notes() const override { return start_.notes; }
    std::vector<std::string> check() const override { return {}; }

  private:
    /// An event of which the listener will be told.
    struct Due {
        TimePs at = 0;
        std::uint64_t order = 0;  ///< Order among events of one time.
        std::uint64_t tag = 0;
        TimePs latency = 0;  ///< Time until the sender knows of a delivery.
        MessageEvent event = MessageEvent::kDelivered;
    };
    struct Later {
        bool operator()(const Due& a, const Due& b) const {
            return a.at != b.at ? a.at > b.at : a.order > b.order;
        }
    };

    FlowSimulation(StartingRoutes start, const SimulationOptions& options);
    void push(TimePs at, std::uint64_t tag, TimePs latency, MessageEvent event);
    void tell_next();

    SimulationOptions options_;
    StartingRoutes start_;
    std::string engine_;
    FlowNetwork network_;
    FlowModel model_;
    Paths paths_;
    MessageListener* listener_ = nullptr;
    std::vector<Due> due_ = {};  ///< A heap, the earliest first.
    std::uint64_t pushed_ = 0;
    std::uint64_t unfinished_ = 0;
    std::uint64_t events_ = 0;
    std::uint64_t log_hash_ = 0;
    TimePs now_ = 0;
};

}  // namespace softib::net::flow
