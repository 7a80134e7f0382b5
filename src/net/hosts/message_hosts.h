// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// HCAs that carry messages reliably, without their bytes. A port carries any number of messages at
// a time, each on a connection like one of RC. A message is cut into packets of an MTU. The
// receiver acknowledges the last packet, and before that one in every MessageConfig::ack_every. A
// sender hears of losses by a timeout, and sends again what was lost.
//
// The messages of a port and lane take turns. At any time one packet of them is queued at the port;
// the next is queued when that one begins to leave, so a lane without credits holds up no other
// lane. A message does not take its turn while its window is full, while congestion control holds
// it back, or while the HCA fetches the state of its connection (its context) from memory.
//
// Sender and receiver share one record of 64 bytes for each message. The record is free again when
// the message is acknowledged and none of its packets is under way.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/prng.h"
#include "core/link/injection.h"
#include "net/engine/network.h"
#include "net/hosts/flows.h"
#include "net/hosts/message_config.h"
#include "net/hosts/roce.h"
#include "net/model.h"

namespace softib::net {

class MessageHosts : public GidReader {
  public:
    using Net = Network<MessageHosts>;

    struct Send {
        std::uint32_t port = 0;     ///< Port of the sender.
        std::uint32_t to_port = 0;  ///< Port of the receiver.
        Lid source;
        Lid destination;
        std::uint64_t bytes = 0;
        std::uint64_t tag = 0;
        std::uint32_t connection = 0;
        std::uint8_t sl = 0;
    };
    struct Stats {
        std::uint64_t context_misses = 0;
        std::uint64_t becns = 0;  ///< BECNs or CNPs that came to senders.
        std::uint64_t timeouts = 0;
        std::uint64_t resent = 0;      ///< Packets that were sent again.
        std::uint64_t duplicates = 0;  ///< Packets that came to a receiver that had them.
    };

    explicit MessageHosts(const MessageConfig& config);

    void set_listener(MessageListener* listener) { listener_ = listener; }
    /// Sets the congestion control that a manager wrote into a port: messages of this port slow
    /// down by it when they hear that they cause congestion.
    void control_congestion(std::uint32_t port, const link::InjectionControl& control);
    /// Returns the P_Key of every packet: messages have the default one.
    PKey pkey_of(const Packet&) const { return kPKeyDefaultFull; }
    /// Sends packets between subnets to a router, with a GRH. `routers` must outlive the hosts.
    void set_routers(const Routers* routers) { routers_ = routers; }
    Gid dgid_of(const Packet& packet) const override;
    /// Sends a message, from `at` on, which must not lie in the past. A message from a port to
    /// itself does not leave the host. Returns the message's number here.
    std::uint32_t post(Engine& net, const Send& send, TimePs at);
    /// Returns the number of messages that have not ended.
    std::uint64_t unfinished() const { return unfinished_; }
    /// Returns the messages that have come in part to receivers here.
    std::vector<Partial> partial() const;
    const Stats& stats() const { return stats_; }
    std::size_t bytes() const;

    // Called by the network (ends.h). timer() gets the word of a timer; timers of one port and
    // moment come in the order in which they were set.
    static constexpr unsigned kHears = hears::kDropped | hears::kFetch;
    void deliver(Engine& net, std::uint32_t port, const Packet& packet);
    /// Prefetches the record that deliver() will read.
    void fetch(const Packet& packet) const;
    void sent(Engine& net, std::uint32_t port, const Packet& packet);
    void dropped(Engine& net, const Packet& packet, TimePs at);
    void timer(Engine& net, std::uint32_t port, std::uint32_t what);

    // message_parts.cc: hosts in one part of a fabric (net/sim/partition.h). A message whose ends
    // are in two parts has a record in each; packets name it by its number at the sender. Hosts of
    // other parts have the port numbers from port_count() of the engine on.
    /// The part of a host, and the number that its port has in this part.
    struct Home {
        std::uint32_t part = kNone;
        std::uint32_t port = kNone;
    };
    /// Makes these the hosts of part `part`; must be called before anything is sent. `home_of_lid`:
    /// the homes of the hosts of all parts, by LID. `hosts`: how many these are.
    void join_parts(std::vector<Home> home_of_lid, std::uint32_t part, std::uint32_t parts,
                    std::uint32_t hosts);
    /// Makes a record for a message that will come from another part, where it has the number
    /// `index`.
    void open(const Engine& net, const Send& send, std::uint32_t index);
    /// Notes that all of message `index` has arrived in another part, and that the receiver has
    /// sent `answers` answers.
    void close(std::uint32_t index, std::uint32_t answers) {
        records_[index].references += answers;
    }
    /// A message from another part that has arrived whole.
    struct Closed {
        Lid sender;
        std::uint32_t index = 0;    ///< Number of the message at the sender.
        std::uint32_t answers = 0;  ///< How many answers the receiver has sent.
    };
    /// Messages from other parts that have arrived since the caller last cleared this.
    std::vector<Closed>& closed() { return closed_; }

    // A packet's body has the number of a message in its lower 29 bits and a Body in the upper
    // three; a timer's word has a Timer there.
    /// What a packet of a message is. A notification only carries a BECN.
    enum class Body : std::uint32_t { kData, kAck, kLastAck, kNotification };
    /// Something that one end of a message hears without a packet, see message_losses.cc.
    struct News {
        enum class Kind : std::uint8_t {
            kLossSeen,   ///< To the receiver: a packet of either end was lost.
            kLossHeard,  ///< To the sender: a packet was lost, and what the receiver had.
            kRepeat,     ///< To the receiver: an answer that was lost is wanted again.
            kGivenUp,    ///< To the receiver: the sender has given up.
        };
        TimePs at = 0;                 ///< When it is heard.
        std::uint32_t port = 0;        ///< Port of the sender.
        std::uint32_t to_port = 0;     ///< Port of the receiver.
        std::uint32_t number = 0;      ///< Number of the message at its sender.
        std::uint32_t received = 0;    ///< Packets that the receiver had; kNone: all.
        std::uint32_t order = kFirst;  ///< Order among news that a port hears at one moment.
        Body body = Body::kData;
        Kind kind = Kind::kLossSeen;
        std::uint8_t sl = 0;

        /// Lowest order of news: behind all other timers.
        static constexpr std::uint32_t kFirst = 1U << 31;
        /// Returns the port that hears the news.
        std::uint32_t target() const { return kind == Kind::kLossHeard ? port : to_port; }
    };
    /// News for ends in other parts, since the caller last cleared them.
    std::vector<News>& news() { return news_out_; }
    /// Takes news for an end here, which hears it at news.at.
    void take_news(Engine& net, const News& news);

    /// Packet::tag of all packets, so that the engine tells what becomes of them; MADs in the same
    /// network have 1. With RoCE this is the lowest tag, since the tag also tells connections apart
    /// (entropy()).
    static constexpr std::uint8_t kTagged = 2;

  private:
    static constexpr std::uint32_t kIndexBits = 29;
    static constexpr std::uint32_t kIndexMask = (1U << kIndexBits) - 1;
    enum class Timer : std::uint32_t {
        kStart,    ///< The time of a message has come.
        kSlowed,   ///< Congestion control lets a message go on.
        kFetched,  ///< The context of a message's sender has been fetched.
        kRetry,    ///< The timeout of a message is over.
        kPaced,    ///< A port may send again; the number is that of the lane.
        kArrived,  ///< A receiver has fetched the context for a packet that came.
        kBegin,    ///< The HCA may take up the next message.
        kNews      ///< News are heard; the number is a place in news_.
    };

    /// A message. For messages between two parts, message_parts.cc has other meanings of `unsent`,
    /// `unacked` and `references`.
    struct alignas(64) Record {
        std::uint64_t tag = 0;
        std::uint32_t flow = kNone;  ///< Number of its flow, see message_congestion.cc, if known.
        std::uint32_t port = 0;
        std::uint32_t to_port = 0;
        std::uint32_t packets = 0;     ///< Packets of the message.
        std::uint32_t unsent = 0;      ///< Packets that must still be sent.
        std::uint32_t unacked = 0;     ///< Packets that are not acknowledged.
        std::uint32_t received = 0;    ///< Packets that the receiver has.
        std::uint32_t next = kNone;    ///< The next message of a queue, or the next free record.
        std::uint32_t references = 0;  ///< Packets under way and timers that name the record.
        std::uint32_t connection : 24 = 0;
        std::uint32_t sl : 4 = 0;
        std::uint32_t vl : 4 = 0;
        std::uint16_t last_bytes = 0;  ///< Payload of the last packet.
        std::uint8_t state = 0;        ///< The bits below.
        std::uint8_t burst = 0;        ///< Packets sent in the present turn.
    };
    static_assert(sizeof(Record) == 64);
    // Bits of Record::state.
    static constexpr std::uint8_t kQueued = 1U << 0;  ///< Waits for its turn.
    /// Congestion control or a fetch holds it back.
    static constexpr std::uint8_t kHeld = 1U << 1;
    static constexpr std::uint8_t kContext = 1U << 2;  ///< Its context has just been fetched.
    /// Its sender is done with it; with kEnters: all of it has come.
    static constexpr std::uint8_t kEnded = 1U << 3;
    static constexpr std::uint8_t kTroubled = 1U << 4;  ///< It has an entry in troubles_.
    // Bits of messages whose ends are in two parts.
    static constexpr std::uint8_t kLeaves = 1U << 5;  ///< The receiver is in another part.
    static constexpr std::uint8_t kEnters = 1U << 6;  ///< The sender is in another part.
    /// The receiver knows that the sender has given up.
    static constexpr std::uint8_t kDeaf = 1U << 7;

    /// The messages of a port and lane that could send.
    struct Turns {
        std::uint32_t head = kNone;
        std::uint32_t tail = kNone;
        bool lined_up = false;  ///< A packet of them is queued at the port.
        bool paced = false;     ///< A kPaced timer is set.
    };
    /// The contexts that an HCA holds.
    struct Contexts {
        explicit Contexts(std::uint64_t seed) : prng(seed) {}
        Prng prng;  ///< Each HCA has its own, so that draws do not depend on other HCAs.
        std::vector<std::uint64_t> keys;  ///< The connections whose contexts it holds.
        /// By key: place in `keys`. Never iterated, since its order is not defined.
        std::unordered_map<std::uint64_t, std::uint32_t> place;
        std::uint32_t fetching = 0;         ///< Fetches under way.
        std::uint32_t parked_head = kNone;  ///< First message that waits until it may fetch.
        std::uint32_t parked_tail = kNone;  ///< Last message that waits until it may fetch.
    };
    /// What was lost of a message since its last timeout.
    struct Trouble {
        std::uint32_t packets = 0;        ///< Data packets lost.
        std::uint32_t acks = 0;           ///< Acknowledgements lost, except the last one.
        std::uint32_t rounds = 0;         ///< Timeouts in a row without progress.
        std::uint32_t received_then = 0;  ///< Packets that the receiver had at the latest loss.
        bool last_ack = false;            ///< The last acknowledgement was lost.
        bool waits = false;               ///< A kRetry timer is set.
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
    std::uint16_t wire_bytes(const Record& record, std::uint32_t psn) const;
    const link::InjectionControl* const& control_of(std::uint32_t port) {
        if (control_of_.size() <= port) {
            control_of_.resize(port + 1, &controls_.front());
        }
        return control_of_[port];
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

    // message_congestion.cc
    static constexpr link::CongestionRules kNoRules{};
    Flows::Key flow_key(const Record& record);
    Flows::Flow* find_flow(std::uint32_t index);
    Flows::Flow& make_flow(const Engine& net, std::uint32_t index);
    TimePs unloaded_round_trip(const Engine& net, const Record& record) const;
    bool wait_for_flow(Engine& net, Turns& queue, std::uint32_t index);
    void resume_flow(Engine& net, Flows::Flow& flow, std::uint32_t port);
    void end_pause(Engine& net, std::uint32_t index);
    void set_flow_timer(Engine& net, Flows::Flow& flow);
    void charge_flow(Engine& net, std::uint32_t index, std::uint32_t packet_bytes);
    void pass_turn(Engine& net, std::uint32_t index);
    bool sends_again(std::uint32_t index);
    void unpark(Flows::Flow& flow, std::uint32_t index);
    /// Counts packets of a message that are under way now, or (modulo 2^32) no longer.
    void count_in_flight(const Record& record, std::uint32_t more) {
        if (record.flow != kNone && algorithm_->from_first_packet) {
            flows_->at(record.flow).in_flight += more;
        }
    }
    link::Controller* controller_of(std::uint32_t index);
    void go_on(Engine& net, std::uint32_t index);

    // message_roce.cc
    std::uint8_t entropy(const Record& record) const;
    void recount(std::uint32_t index);
    std::uint32_t take_psn(std::uint32_t index, TimePs now);
    std::uint32_t roce_body(std::uint32_t index, std::uint32_t psn);
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
    const Routers* routers_ = nullptr;  ///< Null if there is one subnet.
    MessageListener* listener_ = nullptr;
    /// Settings of ports; the first one never slows down.
    std::deque<link::InjectionControl> controls_;
    /// By port: its settings. A deque, since flows point to its entries.
    std::deque<const link::InjectionControl*> control_of_;
    const link::CongestionAlgorithm* algorithm_ = nullptr;  ///< Null: nothing slows down.
    std::unique_ptr<Flows> flows_;                          ///< Null: nothing slows down.
    std::unique_ptr<RoceState> roce_;                       ///< Null: the HCAs speak InfiniBand.
    Table<Record> records_;
    std::uint32_t free_ = kNone;
    std::uint64_t unfinished_ = 0;
    std::vector<std::uint32_t> adapter_of_;  ///< By port: number of its HCA, or kNone.
    std::vector<Lid> lid_of_;                ///< By port.
    std::uint8_t lanes_ = 0;
    std::vector<Turns> turns_;               ///< By HCA, then by lane.
    std::vector<TimePs> paced_until_;        ///< By HCA: sends nothing before; empty: no limit.
    std::vector<TimePs> next_message_at_;    ///< By HCA: begins no message before; empty: no limit.
    std::vector<Contexts> contexts_;         ///< By HCA; empty: they hold any number.
    std::vector<std::uint32_t> timers_set_;  ///< By HCA: timers set until now.
    std::unordered_map<std::uint32_t, Trouble> troubles_;  ///< By message; never iterated.
    std::vector<News> news_;                ///< News that will be heard; timers name their places.
    std::vector<std::uint32_t> free_news_;  ///< Free places in news_.
    Stats stats_;
    // For hosts in a part of a fabric; otherwise not used.
    std::uint32_t part_ = 0;
    std::uint32_t hosts_elsewhere_ = 0;  ///< How many port numbers are for hosts of other parts.
    std::vector<Home> home_of_lid_;
    /// By part of the sender, and number there: number here.
    std::vector<std::vector<std::uint32_t>> entered_;
    std::vector<Closed> closed_;
    std::vector<News> news_out_;
};
static_assert(Ends<MessageHosts>);

}  // namespace softib::net
