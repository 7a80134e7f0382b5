// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Adapters that carry messages reliably: any number of them at a port, each on a connection as RC
// has one, without the bytes. A message is cut into packets of an MTU, the receiver acknowledges
// every so many of them and the last one, and the sender hears of losses by a timeout and sends
// what was lost again.
//
// The messages of a port and lane take turns. One of them has a packet lined up at the port at any
// time; the next is lined up when that begins to leave, so a lane without credits holds up no other
// lane. A message does not take its turn while its window is full, while congestion control holds
// it back, or while the adapter fetches the state of its connection (its context) from memory.
//
// Sender and receiver share one record of 64 bytes a message. It is free again when the message is
// acknowledged and none of its packets is under way.

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/prng.h"
#include "core/link/injection.h"
#include "net/hosts/roce.h"
#include "net/model.h"
#include "net/network.h"

namespace softib::net {

struct MessageConfig {
    std::uint16_t mtu = 4096;
    std::uint16_t header_bytes = 26;        ///< Of each packet: LRH, BTH, ICRC, VCRC.
    std::uint16_t first_header_bytes = 16;  ///< Of the first one besides: RETH.
    std::uint16_t ack_bytes = 30;      ///< 0: nothing is acknowledged, delivery ends a message.
    std::uint32_t ack_every = 256;     ///< Packets, half a window at most; and the last one.
    std::uint32_t window_packets = 0;  ///< Sent and not acknowledged; 0: any number.
    std::uint32_t burst_packets = 8;   ///< Of one message before it is another's turn.
    bool adaptive = false;             ///< Switches may choose the way of packets.
    /// Picoseconds for 64 bytes that a port sends at most; 0: as fast as its link.
    std::uint32_t inject_block_ps = 0;
    /// Picoseconds from one message that a port begins to the next, at least; 0: none.
    TimePs message_gap_ps = 0;
    /// The same as inject_block_ps for its bus, in both directions.
    std::uint32_t pcie_block_ps = 0;
    TimePs pcie_round_trip_ps = 700'000;
    std::uint32_t context_entries = 0;   ///< Connections that an adapter holds; 0: any number.
    std::uint32_t context_fetches = 16;  ///< At once, by the sending side of an adapter.
    TimePs timeout_ps = 524'288'000;     ///< Local ACK timeout: 4.096 us * 2^7.
    std::uint8_t retries = 7;            ///< Timeouts in a row without progress that it bears.
    /// From a place to another at which it is heard that a packet was lost, a message given up, or
    /// an answer wanted again: as long as the shortest cable, see message_losses.cc.
    TimePs news_ps = 0;
    std::uint64_t seed = 1;               ///< Of what an adapter throws out of its context cache.
    std::optional<RoceConfig> roce = {};  ///< They speak RoCEv2.
};

class MessageHosts : public GidReader {
  public:
    using Net = Network<MessageHosts>;

    struct Send {
        std::uint32_t port = 0;  ///< Of the sender.
        std::uint32_t to_port = 0;
        Lid source;
        Lid destination;
        std::uint64_t bytes = 0;
        std::uint64_t tag = 0;
        std::uint32_t connection = 0;
        std::uint8_t sl = 0;
    };
    struct Stats {
        std::uint64_t context_misses = 0;
        std::uint64_t becns = 0;  ///< Or CNPs, that came to senders.
        std::uint64_t timeouts = 0;
        std::uint64_t resent = 0;      ///< Packets that were sent before.
        std::uint64_t duplicates = 0;  ///< Packets that came to a receiver that had them.
    };

    explicit MessageHosts(const MessageConfig& config);

    void set_listener(MessageListener* listener) { listener_ = listener; }
    /// As a manager wrote it into the port: its messages slow down by it when they hear that they
    /// make congestion.
    void control_congestion(std::uint32_t port, const link::InjectionControl& control);
    /// Packets between subnets go to a router, and have a GRH. These outlive the hosts.
    void set_routers(const Routers* routers) { routers_ = routers; }
    Gid dgid_of(const Packet& packet) const override;
    /// Begins at `at`, which is not over. What a host sends to itself does not leave it. Returns
    /// the message's number here.
    std::uint32_t post(Engine& net, const Send& send, TimePs at);
    /// Messages that have not ended.
    std::uint64_t unfinished() const { return unfinished_; }
    const Stats& stats() const { return stats_; }
    std::size_t bytes() const;

    void deliver(Engine& net, std::uint32_t port, const Packet& packet);
    /// Fetches the record that deliver() will read.
    void fetch(const Packet& packet) const;
    void sent(Engine& net, std::uint32_t port, const Packet& packet);
    void dropped(Engine& net, const Packet& packet, TimePs at);
    void timer(Engine& net, std::uint32_t port, std::uint32_t what);
    /// Timers of one port and moment come in the order in which they were set: their word is
    /// theirs.
    static constexpr bool kOrdersTimers = true;

    // message_parts.cc: hosts in one part of a fabric (net/partition.h). A message whose ends are
    // in two parts has a record in each; packets name it by its number at the sender. Hosts of
    // other parts have the port numbers from port_count() of the engine on.
    struct Home {
        std::uint32_t part = kNone;
        std::uint32_t port = kNone;
    };
    /// Before anything is sent. `home_of_lid`: of all hosts; `hosts`: how many there are.
    void join_parts(std::vector<Home> home_of_lid, std::uint32_t part, std::uint32_t parts,
                    std::uint32_t hosts);
    /// A message comes from another part, where it has the number `index`.
    void open(const Engine& net, const Send& send, std::uint32_t index);
    /// All of a message to another part has arrived, which has sent so many answers.
    void close(std::uint32_t index, std::uint32_t answers) {
        records_[index].references += answers;
    }
    /// Messages from other parts that have arrived whole, since this was last cleared.
    struct Closed {
        Lid sender;
        std::uint32_t index = 0;  ///< At the sender.
        std::uint32_t answers = 0;
    };
    std::vector<Closed>& closed() { return closed_; }

    // A packet's body and a timer's word are the number of a message below three bits.
    enum class Body : std::uint32_t { kData, kAck, kLastAck, kNotification };
    /// What one end of a message hears of it, apart from packets, see message_losses.cc.
    struct News {
        enum class Kind : std::uint8_t {
            kLossSeen,   ///< To the receiver: a packet of either end is lost.
            kLossHeard,  ///< To the sender: the same, and what the receiver had by then.
            kRepeat,     ///< To the receiver: an answer that was lost is wanted again.
            kGivenUp,    ///< To the receiver: the sender has.
        };
        TimePs at = 0;           ///< When it is heard.
        std::uint32_t port = 0;  ///< Of the sender.
        std::uint32_t to_port = 0;
        std::uint32_t number = 0;      ///< Of the message at its sender.
        std::uint32_t received = 0;    ///< Packets that the receiver had; kNone: all.
        std::uint32_t order = kFirst;  ///< Among news that a port hears at one moment.
        Body body = Body::kData;
        Kind kind = Kind::kLossSeen;
        std::uint8_t sl = 0;

        static constexpr std::uint32_t kFirst = 1U << 31;  ///< Behind all other timers.
        std::uint32_t target() const { return kind == Kind::kLossHeard ? port : to_port; }
    };
    /// What ends in other parts must hear, since this was last cleared.
    std::vector<News>& news() { return news_out_; }
    /// An end here will hear it.
    void take_news(Engine& net, const News& news);

    /// Of a packet, so that the engine tells what becomes of it; with RoCE the least, as it also
    /// tells connections apart. MADs in the same network have 1.
    static constexpr std::uint8_t kTagged = 2;

  private:
    static constexpr std::uint32_t kIndexBits = 29;
    static constexpr std::uint32_t kIndexMask = (1U << kIndexBits) - 1;
    enum class Timer : std::uint32_t {
        kStart,
        kSlowed,
        kFetched,
        kRetry,
        kPaced,
        kArrived,
        kBegin,
        kNews
    };

    struct Record {
        std::uint64_t tag = 0;
        link::Injection injection;
        std::uint32_t port = 0;
        std::uint32_t to_port = 0;
        std::uint32_t packets = 0;
        std::uint32_t unsent = 0;
        std::uint32_t unacked = 0;
        std::uint32_t received = 0;
        std::uint32_t next = kNone;    ///< In a queue, or among the free ones.
        std::uint32_t references = 0;  ///< Packets under way, and timers.
        std::uint32_t connection : 24 = 0;
        std::uint32_t sl : 4 = 0;
        std::uint32_t vl : 4 = 0;
        std::uint16_t last_bytes = 0;  ///< Payload of the last packet.
        std::uint8_t state = 0;
        std::uint8_t burst = 0;
    };
    static_assert(sizeof(Record) == 64);
    // Bits of Record::state.
    static constexpr std::uint8_t kQueued = 1U << 0;    ///< Waits for its turn.
    static constexpr std::uint8_t kHeld = 1U << 1;      ///< By congestion control or a fetch.
    static constexpr std::uint8_t kContext = 1U << 2;   ///< Its context has just been fetched.
    static constexpr std::uint8_t kEnded = 1U << 3;     ///< For the sender.
    static constexpr std::uint8_t kTroubled = 1U << 4;  ///< It has an entry in troubles_.
    // Where the ends are in two parts. Packets and answers on their way are not counted then.
    static constexpr std::uint8_t kLeaves = 1U << 5;  ///< The receiver is in another part.
    static constexpr std::uint8_t kEnters = 1U << 6;  ///< The sender is in another part.
    static constexpr std::uint8_t kDeaf = 1U << 7;    ///< The receiver knows it was given up.

    /// The messages of a port and lane that could send.
    struct Turns {
        std::uint32_t head = kNone;
        std::uint32_t tail = kNone;
        bool lined_up = false;  ///< A packet stands at the port.
        bool paced = false;     ///< A timer will look again.
    };
    /// The connections whose state is in an adapter.
    struct Contexts {
        explicit Contexts(std::uint64_t seed) : prng(seed) {}
        Prng prng;  ///< Each has its own: draws do not depend on what other adapters do.
        std::vector<std::uint64_t> keys;
        std::unordered_map<std::uint64_t, std::uint32_t> place;  ///< Only looked up.
        std::uint32_t fetching = 0;
        std::uint32_t parked_head = kNone;  ///< Messages that wait until they may fetch.
        std::uint32_t parked_tail = kNone;
    };
    /// What was lost of a message since it last got something through.
    struct Trouble {
        std::uint32_t packets = 0;
        std::uint32_t acks = 0;  ///< But for the last one.
        std::uint32_t rounds = 0;
        std::uint32_t received_then = 0;
        bool last_ack = false;
        bool waits = false;  ///< For its timeout.
    };

    void attach(const Engine& net);
    std::uint32_t make_record();
    void set_up(const Send& send, Record& record);
    void start(Engine& net, std::uint32_t index);
    void begin(Engine& net, std::uint32_t index);
    enum class Place { kFirst, kLast };
    void enqueue(std::uint32_t index, Place place);
    void pop(Turns& queue);
    void take_turns(Engine& net, std::uint32_t port, std::uint8_t vl);
    void send_packet(Engine& net, Turns& queue, std::uint32_t index);
    bool may_send(const Record& record) const {
        return record.unsent != 0 && (config_.window_packets == 0 ||
                                      record.unacked - record.unsent < config_.window_packets);
    }
    void wake(std::uint32_t index, Place place);
    bool wait_for_pace(Engine& net, std::uint32_t port, std::uint8_t vl, Turns& queue);
    void slow_down(Engine& net, std::uint32_t index, std::uint32_t packet_bytes);
    std::uint16_t wire_bytes(const Record& record, std::uint32_t psn) const;
    const link::InjectionControl& control_of(std::uint32_t port) const {
        return controls_[port < control_of_.size() ? control_of_[port] : 0];
    }
    /// Puts the addresses of two ports into a packet, and a GRH if they are in different subnets.
    void address(Packet& packet, std::uint32_t from, std::uint32_t to) const;

    void receive_data(Engine& net, std::uint32_t index, bool marked);
    void inject_answer(Engine& net, std::uint32_t index, Body body, bool becn);
    void receive_answer(Engine& net, const Packet& packet, std::uint32_t index);
    void end(std::uint32_t index, MessageEvent event, TimePs at);
    void release(std::uint32_t index);
    void tell(std::uint32_t index, MessageEvent event, TimePs at);

    // message_contexts.cc
    Contexts& contexts(std::uint32_t port) { return contexts_[adapter_of_[port]]; }
    std::uint64_t sender_key(const Record& record) const;
    bool holds(Contexts& at, std::uint64_t key);
    void replace(Contexts& at, std::uint64_t key);
    bool fetch_context(Engine& net, std::uint32_t index);
    void start_fetch(Engine& net, Contexts& at, std::uint32_t index);
    void end_fetch(Engine& net, std::uint32_t index);
    bool receiver_misses(const Record& record);

    // message_losses.cc
    void spread(Engine& net, const News& news);
    void hear(Engine& net, News news);
    void hear_of_loss(Engine& net, const News& news);
    std::uint32_t index_at_receiver(const News& news) const;
    void note_loss(Engine& net, const News& news);
    void retry(Engine& net, std::uint32_t index);
    void ask_to_repeat(Engine& net, std::uint32_t index, Body body);
    void give_up(Engine& net, std::uint32_t index);
    void repeat_answer(Engine& net, const News& news);

    // message_roce.cc
    std::uint8_t entropy(const Record& record) const;
    std::uint64_t connection_key(const Record& record) const;
    void recount(std::uint32_t index);
    std::uint32_t take_psn(std::uint32_t index, TimePs now);
    std::uint32_t roce_body(std::uint32_t index, std::uint32_t psn);
    bool wait_for_rate(Engine& net, Turns& queue, std::uint32_t index);
    void resume_rate(Engine& net, std::uint32_t index);
    void charge_rate(Engine& net, std::uint32_t index, std::uint32_t packet_bytes);
    void handle_ack(Engine& net, std::uint32_t index, std::uint32_t psn);
    void handle_nak(Engine& net, std::uint32_t index, const RoceState::Body& body);
    void handle_status(Engine& net, std::uint32_t index, std::uint32_t psn);
    void receive_roce_answer(Engine& net, const RoceState::Body& body);
    void retry_roce(Engine& net, std::uint32_t index);
    void watch(Engine& net, std::uint32_t index, TimePs at);
    void dropped_roce(Engine& net, const Packet& packet);
    void deliver_roce(Engine& net, const Packet& packet);
    void answer_roce(Engine& net, const RoceState::Body& body);
    void notify(Engine& net, std::uint32_t index);
    void receive_roce_data(Engine& net, const RoceState::Body& body, bool marked);
    void ask_again(Engine& net, std::uint32_t index, std::uint32_t psn);

    Turns& turns(std::uint32_t port, std::uint8_t vl) {
        return turns_[std::size_t{adapter_of_[port]} * lanes_ + vl];
    }
    void set_timer(Engine& net, std::uint32_t index, TimePs at, Timer timer) {
        set_timer_at(net, records_[index].port, index, at, timer);
    }
    void set_timer_at(Engine& net, std::uint32_t port, std::uint32_t index, TimePs at,
                      Timer timer) {
        ++records_[index].references;
        net.set_timer(port, at, timers_set_[adapter_of_[port]]++,
                      static_cast<std::uint32_t>(timer) << kIndexBits | index);
    }

    // message_parts.cc
    std::uint32_t index_here(std::uint32_t part, std::uint32_t number) const {
        return part == part_ ? number : entered_[part][number];
    }
    void finish_entered(std::uint32_t index);

    MessageConfig config_;
    const Routers* routers_ = nullptr;  ///< None: there is one subnet.
    MessageListener* listener_ = nullptr;
    std::vector<link::InjectionControl> controls_;  ///< Empty: nobody slows down; the first: never.
    std::vector<std::uint32_t> control_of_;         ///< By port.
    std::unique_ptr<RoceState> roce_;               ///< nullptr: they speak InfiniBand.
    Table<Record> records_;
    std::uint32_t free_ = kNone;
    std::uint64_t unfinished_ = 0;
    std::vector<std::uint32_t> adapter_of_;  ///< By port.
    std::vector<Lid> lid_of_;                ///< By port.
    std::uint8_t lanes_ = 0;
    std::vector<Turns> turns_;                             ///< By adapter, then by lane.
    std::vector<TimePs> paced_until_;                      ///< By adapter; empty: no limit.
    std::vector<TimePs> next_message_at_;                  ///< By adapter; empty: no limit.
    std::vector<Contexts> contexts_;                       ///< By adapter; empty: no limit.
    std::vector<std::uint32_t> timers_set_;                ///< By adapter: how many.
    std::unordered_map<std::uint32_t, Trouble> troubles_;  ///< By message; only looked up.
    std::vector<News> news_;                ///< That will be heard; timers name them.
    std::vector<std::uint32_t> free_news_;  ///< Places in it.
    Stats stats_;
    // Of hosts in a part; else empty.
    std::uint32_t part_ = 0;
    std::uint32_t hosts_elsewhere_ = 0;  ///< Port numbers for hosts of other parts.
    std::vector<Home> home_of_lid_;
    std::vector<std::vector<std::uint32_t>> entered_;  ///< By part and number there: number here.
    std::vector<Closed> closed_;
    std::vector<News> news_out_;
};

}  // namespace softib::net
