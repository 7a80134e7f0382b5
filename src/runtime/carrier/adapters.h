// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The HCAs of all programs: an hca::Hca for each HCA of the fabric, with the programs' queue pairs
// and shared receive queues, at the ends of a network. Requests are fetched from rings in the
// arena; completions and events go to the arena's queues and channels. Transports use the wall
// clock, the network has its own.

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

class Adapters final : private net::TransportHosts::Hooks,
                       private hca::CompletionSink,
                       private net::KeyReader {
  public:
    Adapters(direct::Process& process, Watchers& watchers)
        : process_(process), memory_(process), watchers_(watchers), hosts_(*this) {}
    Adapters(const Adapters&) = delete;
    Adapters& operator=(const Adapters&) = delete;

    /// Makes the HCAs. `ports` has the network's port of each HCA, in the arena's order.
    void join(net::Engine& net, std::vector<std::uint32_t> ports);
    /// Returns the HCAs as the network's ports have them.
    net::TransportHosts& hosts() { return hosts_; }
    hca::Hca& hca(std::uint32_t index) { return *hcas_[index]; }
    std::uint32_t port(std::uint32_t hca) const { return ports_[hca]; }
    std::size_t size() const { return hcas_.size(); }

    /// Executes a program's call. Returns 0 or an errno value; std::nullopt if it must be tried
    /// again, since the queue pair first sends the answers and requests it still has.
    std::optional<int> call(shm::Owner owner, const shm::CarrierCall& call);
    /// Fetches the requests of a queue pair whose bell has rung.
    void serve(std::uint32_t qp);
    /// Keeps packets off the network: RoceWire takes them by poll_transmit(), and passes those that
    /// arrive to handle_packet().
    void leave_network() { has_network_ = false; }
    /// Returns HCAs that may have something to send, in any order, some more than once. The caller
    /// must empty the list.
    std::vector<std::uint32_t>& wanting() { return wanting_; }
    bool poll_transmit(std::uint32_t hca, hca::Transmit& out);
    void handle_packet(std::uint32_t hca, const wire::PacketHeaders& headers,
                       const hca::Payload& payload);
    /// Reads LIDs, P_Keys and GIDs of all ports from the arena.
    void read_ports();
    /// Reads which queue pairs are attached to which multicast groups from the arena.
    void read_groups();
    /// Destroys the queue pairs and shared receive queues of processes that have ended.
    void forget_dead();

    /// Sets the time, in nanoseconds of the wall clock, and handles timeouts that are due.
    void set_time(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const { return next_timeout_ns_; }
    /// Reports events to programs, and writes the states of failed queue pairs into the arena. Must
    /// be called at the end of a round of work.
    void tell();

    /// Sets the aggregation nodes and members of SHARP, which have queue pairs and ports of their
    /// own. They must live while packets move.
    void set_sharp(SharpEnds* sharp) { sharp_ = sharp; }
    /// Sends packets from an HCA. Must be called after something was posted to it.
    void send_from(std::uint32_t hca);

    /// Sets the trunks, which take packets that come to their far ends. They must live while
    /// packets move.
    void set_trunks(TrunkWire* trunks) { trunks_ = trunks; }

    // Called by the network (net/engine/ends.h).
    static constexpr unsigned kHears =
        net::hears::kCopied | net::hears::kDropped | net::hears::kTapped | net::hears::kRefused;
    void deliver(net::Engine& net, std::uint32_t port, const net::Packet& packet);
    void sent(net::Engine& net, std::uint32_t port, const net::Packet& packet);
    void timer(net::Engine& net, std::uint32_t port, std::uint32_t word) {
        hosts_.timer(net, port, word);
    }
    void copied(net::Engine& net, const net::Packet& packet, std::uint32_t more) {
        hosts_.copied(net, packet, more);
    }
    void dropped(net::Engine& net, const net::Packet& packet, net::TimePs at);
    void tapped(net::Engine& net, std::uint32_t port, const net::Packet& packet);
    void refused(net::Engine& net, std::uint32_t port, bool inbound, const net::Packet& packet);

  private:
    /// A queue pair of a program.
    struct Pair {
        std::uint32_t index;  ///< Index in the arena.
        std::uint32_t hca;
        Qpn qpn;
        shm::Owner owner;
        std::uint64_t instance;   ///< Instance of its owner's slot.
        std::uint32_t sends = 0;  ///< Number of send requests that were fetched.
        ReceiveSource receives;
        std::uint32_t srq;     ///< Index of its shared receive queue + 1; 0 if it has none.
        bool listens = false;  ///< Whether it is attached to a multicast group.
        /// Since when it sends its last packets before it must stop; 0 if it need not stop.
        std::uint64_t ending_since_ns = 0;
    };
    /// A shared receive queue of a program.
    struct Shared {
        std::uint32_t index;
        std::uint32_t hca;
        shm::Owner owner;
        std::uint64_t instance;
        ReceiveSource receives;
    };

    PKey pkey_of(const net::Packet& packet) const override { return hosts_.pkey_of(packet); }
    std::uint64_t now_ns(const net::Engine&) const override { return now_ns_; }
    bool tells_time(std::uint32_t port, std::uint64_t due_ns) override;
    void before_packet(std::uint32_t port, const wire::PacketHeaders& headers) override;
    void after_packet(std::uint32_t port, const wire::PacketHeaders& headers) override;
    void complete(hca::CqId cq, const hca::Completion& completion, bool solicited) override;

    bool has_last_words(Pair& pair);
    int create_qp(shm::Owner owner, std::uint32_t index);
    int modify_qp(Pair& pair, const hca::QpAttr& attr, std::uint32_t mask);
    int create_srq(shm::Owner owner, std::uint32_t index);
    void destroy_qp(std::uint32_t index);
    void destroy_srq(std::uint32_t index);

    Pair* pair(std::uint32_t index) const {
        return index < pairs_.size() ? pairs_[index].get() : nullptr;
    }
    Pair* pair(Qpn qpn) const;
    Shared* shared(std::uint32_t index) const {
        return index < shareds_.size() ? shareds_[index].get() : nullptr;
    }
    shm::QpShared& record(const Pair& pair) const { return process_.self.arena.qps[pair.index]; }
    bool is_gone(shm::Owner owner, std::uint64_t instance) const;

    void fetch_sends(Pair& pair);
    bool post(Pair& pair, std::uint32_t at);
    void fetch_receives(Pair& pair);
    void fetch_receives(Shared& shared);
    void release_receives(Pair& pair);
    void show_state(Pair& pair);
    void stop_with_cq(std::uint32_t cq);
    void tell(std::uint32_t hca, const hca::Event& event);

    direct::Process& process_;
    ArenaMemory memory_;
    Watchers& watchers_;
    net::TransportHosts hosts_;
    std::vector<std::uint32_t> ports_;
    std::vector<std::uint32_t> hca_of_port_;
    std::vector<std::unique_ptr<hca::Hca>> hcas_;
    std::vector<std::unique_ptr<Pair>> pairs_;      ///< Queue pairs by index in the arena.
    std::vector<std::unique_ptr<Shared>> shareds_;  ///< Shared queues by index in the arena.
    std::vector<Qpn> failed_;                       ///< Queue pairs whose state may have changed.
    std::vector<std::uint32_t> overrun_;            ///< Completion queues that have overrun.
    std::vector<std::uint32_t> wanting_;            ///< See wanting().
    bool has_network_ = true;
    net::Engine* net_ = nullptr;
    TrunkWire* trunks_ = nullptr;
    SharpEnds* sharp_ = nullptr;
    std::uint64_t now_ns_ = 0;
    std::uint64_t next_timeout_ns_ = hca::kNever;
};
static_assert(net::Ends<Adapters>);

}  // namespace softib::carrier
