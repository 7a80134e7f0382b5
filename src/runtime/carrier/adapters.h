// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The HCAs of all programs: an hca::Hca for each HCA of the fabric, with the programs' queue pairs
// and shared queues in it, at the ends of a network. Requests are fetched from rings of the arena;
// completions and events go to the arena's queues and channels. Transports go by the wall clock,
// the network by its own.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/hca/hca.h"
#include "net/hosts/transport_hosts.h"
#include "runtime/carrier/arena_memory.h"
#include "runtime/carrier/receive_source.h"
#include "runtime/carrier/watchers.h"
#include "runtime/direct/process.h"

namespace softib::carrier {

class SharpEnds;
class TrunkWire;

class Adapters final : public net::TransportHosts,
                       private hca::CompletionSink,
                       private net::Engine::KeyReader {
  public:
    Adapters(live::Process& process, Watchers& watchers)
        : process_(process), memory_(process), watchers_(watchers) {}

    /// `ports`: of each HCA in the arena's order, its port in the network.
    void join(net::Engine& net, std::vector<std::uint32_t> ports);
    hca::Hca& hca(std::uint32_t index) { return *hcas_[index]; }
    std::uint32_t port(std::uint32_t hca) const { return ports_[hca]; }
    std::size_t size() const { return hcas_.size(); }

    /// Executes a program's call. Returns 0 or an errno value; std::nullopt if it must be tried
    /// again, since the queue pair first sends the answers and requests it still has.
    std::optional<int> call(live::Owner owner, const live::CarrierCall& call);
    /// The bell of a queue pair has rung.
    void serve(std::uint32_t qp);
    /// Keeps packets off the network: RoceWire takes them from here, and hands over those that
    /// arrive.
    void leave_network() { has_network_ = false; }
    /// HCAs that may have something to send, in any order and more than once. To be emptied.
    std::vector<std::uint32_t>& wanting() { return wanting_; }
    bool poll_transmit(std::uint32_t hca, hca::Transmit& out);
    void handle_packet(std::uint32_t hca, const wire::PacketHeaders& headers,
                       const hca::Payload& payload);
    /// LIDs, P_Keys and GIDs of all ports as the arena has them now.
    void read_ports();
    /// Reads which queue pairs are attached to which multicast groups from the arena.
    void read_groups();
    /// Lets go of what belonged to processes that have ended.
    void forget_dead();

    /// Time in nanoseconds of the wall clock. Does what is due.
    void set_time(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const { return next_timeout_ns_; }
    /// Tells programs of events, and brings queue pairs that have failed to where their programs
    /// see it. After all that was handled.
    void tell();

    /// Aggregation nodes and members have queue pairs and ports of their own; it outlives the
    /// network.
    void set_sharp(SharpEnds* sharp) { sharp_ = sharp; }
    /// After something was posted to an HCA.
    void send_from(std::uint32_t hca);

    /// Packets for ports where a trunk ends are its own; it outlives the network.
    void set_trunks(TrunkWire* trunks) { trunks_ = trunks; }

    // For the network, beside those of TransportHosts.
    void deliver(net::Engine& net, std::uint32_t port, const net::Packet& packet);
    void sent(net::Engine& net, std::uint32_t port, const net::Packet& packet);
    void dropped(net::Engine& net, const net::Packet& packet);
    void tapped(net::Engine& net, std::uint32_t port, const net::Packet& packet);
    void refused(net::Engine& net, std::uint32_t port, bool inbound, const net::Packet& packet);

  private:
    struct Pair {
        std::uint32_t index;
        std::uint32_t hca;
        Qpn qpn;
        live::Owner owner;
        std::uint64_t instance;   ///< Instance of its owner's slot.
        std::uint32_t sends = 0;  ///< Fetched.
        ReceiveSource receives;
        std::uint32_t srq;                  ///< + 1
        bool listens = false;               ///< Attached to a multicast group.
        std::uint64_t ending_since_ns = 0;  ///< It must stop after what it sends; 0: no.
    };
    struct Shared {
        std::uint32_t index;
        std::uint32_t hca;
        live::Owner owner;
        std::uint64_t instance;
        ReceiveSource receives;
    };

    // The network's ends.
    PKey pkey_of(const net::Packet& packet) const override {
        return TransportHosts::pkey_of(packet);
    }
    std::uint64_t now_ns(const net::Engine&) const override { return now_ns_; }
    void arm(net::Engine& net, std::uint32_t port) override;
    void before_packet(std::uint32_t port, const wire::PacketHeaders& headers) override;
    void after_packet(std::uint32_t port, const wire::PacketHeaders& headers) override;
    void complete(hca::CqId cq, const hca::Completion& completion, bool solicited) override;

    bool has_last_words(Pair& pair);
    int create_qp(live::Owner owner, std::uint32_t index);
    int modify_qp(Pair& pair, const hca::QpAttr& attr, std::uint32_t mask);
    int create_srq(live::Owner owner, std::uint32_t index);
    void destroy_qp(std::uint32_t index);
    void destroy_srq(std::uint32_t index);

    Pair* pair(std::uint32_t index) const {
        return index < pairs_.size() ? pairs_[index].get() : nullptr;
    }
    Pair* pair(Qpn qpn) const;
    Shared* shared(std::uint32_t index) const {
        return index < shareds_.size() ? shareds_[index].get() : nullptr;
    }
    live::QpShared& record(const Pair& pair) const { return process_.arena.qps[pair.index]; }
    bool is_gone(live::Owner owner, std::uint64_t instance) const;

    void fetch_sends(Pair& pair);
    bool post(Pair& pair, std::uint32_t at);
    void fetch_receives(Pair& pair);
    void fetch_receives(Shared& shared);
    void release_receives(Pair& pair);
    void show_state(Pair& pair);
    void stop_with_cq(std::uint32_t cq);
    void tell(std::uint32_t hca, const hca::Event& event);

    live::Process& process_;
    ArenaMemory memory_;
    Watchers& watchers_;
    std::vector<std::uint32_t> ports_;
    std::vector<std::uint32_t> hca_of_port_;
    std::vector<std::unique_ptr<hca::Hca>> hcas_;
    std::vector<std::unique_ptr<Pair>> pairs_;      ///< By index in the arena.
    std::vector<std::unique_ptr<Shared>> shareds_;  ///< The same.
    std::vector<Qpn> failed_;                       ///< May have changed their state.
    std::vector<std::uint32_t> overrun_;            ///< Completion queues.
    std::vector<std::uint32_t> wanting_;
    bool has_network_ = true;
    net::Engine* net_ = nullptr;
    TrunkWire* trunks_ = nullptr;
    SharpEnds* sharp_ = nullptr;
    std::uint64_t now_ns_ = 0;
    std::uint64_t next_timeout_ns_ = hca::kNever;
};

}  // namespace softib::carrier
