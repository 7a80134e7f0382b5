// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// For tests: two hosts in virtual time with a bad channel between their QP1s, and an SA that knows
// the one path between them. The channel can lose, double and delay MADs.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/base/prng.h"
#include "core/base/time_units.h"
#include "core/cm/address.h"
#include "core/cm/host.h"
#include "core/wire/sa/sa.h"

namespace softib::cm {

inline constexpr Lid kTestSmLid{99};
inline constexpr std::uint16_t kPort = 7000;
inline constexpr std::uint64_t kMinute = 60 * kNsPerSecond;

class TestSurroundings final : public Surroundings {
  public:
    explicit TestSurroundings(std::uint8_t number) : number_(number) {}

    static Gid gid_of(std::uint8_t number) {
        return Gid::from(kSubnetPrefixDefault, Guid{0x100U + number});
    }

    std::uint32_t port_count() const override { return 1; }
    LocalPort port(std::uint32_t) const override {
        LocalPort port;
        port.node_guid = Guid{0x200U + number_};
        port.gid = gid_of(number_);
        port.lid = Lid{number_};
        port.sm_lid = kTestSmLid;
        port.active = true;
        port.pkeys = pkeys_;
        return port;
    }
    std::optional<Gid> find_port(const Address& ip) const override {
        return ip.family == Family::kIp4 && ip.bytes.bytes[0] == 10
                   ? std::optional(gid_of(ip.bytes.bytes[3]))
                   : std::nullopt;
    }
    Address address_of(std::uint32_t) const override { return ip4(10, 0, 0, number_); }
    bool is_own(const Address& ip) const override { return is_loopback(ip); }

  private:
    std::uint8_t number_;
    std::array<PKey, 1> pkeys_{kPKeyDefaultFull};
};

/// A host with the events that its programs got.
struct TestHost {
    explicit TestHost(std::uint8_t which)
        : surroundings(which), host(surroundings, which), number(which) {}

    std::uint32_t count(EventType type) const {
        std::uint32_t n = 0;
        for (const Event& event : events) {
            n += event.type == type ? 1 : 0;
        }
        return n;
    }
    const Event* last(EventType type) const {
        for (auto it = events.rbegin(); it != events.rend(); ++it) {
            if (it->type == type) {
                return &*it;
            }
        }
        return nullptr;
    }

    TestSurroundings surroundings;
    Host host;
    std::uint8_t number;
    std::vector<Event> events;
};

class TestPair {
  public:
    explicit TestPair(std::uint64_t seed = 1) : prng(seed) {}

    Reply execute(TestHost& on, Command command) {
        const Reply reply = on.host.execute(command, now_ns);
        drive();
        return reply;
    }
    Command command(Operation operation, IdHandle id) const {
        Command out;
        out.operation = operation;
        out.id = id;
        return out;
    }
    IdHandle create(TestHost& on, PortSpace space = PortSpace::kTcp, QpType type = QpType::kRc) {
        Command create = command(Operation::kCreateId, 0);
        create.port_space = space;
        create.qp_type = type;
        return execute(on, create).id;
    }
    int bind(TestHost& on, IdHandle id, const Address& address) {
        Command bind = command(Operation::kBind, id);
        bind.source = address;
        return execute(on, bind).status;
    }
    int listen(TestHost& on, IdHandle id, std::uint32_t backlog = 0) {
        Command listen = command(Operation::kListen, id);
        listen.value = backlog;
        return execute(on, listen).status;
    }
    IdHandle listener(TestHost& on, std::uint16_t port, PortSpace space = PortSpace::kTcp,
                      QpType type = QpType::kRc) {
        const IdHandle id = create(on, space, type);
        bind(on, id, with_port(ip4(0, 0, 0, 0), port));
        listen(on, id);
        return id;
    }
    /// Returns an endpoint of `from` that has resolved the address of `to` and the route to it.
    IdHandle resolved(TestHost& from, const TestHost& to, std::uint16_t port,
                      PortSpace space = PortSpace::kTcp, QpType type = QpType::kRc) {
        const IdHandle id = create(from, space, type);
        Command resolve = command(Operation::kResolveAddr, id);
        resolve.destination = with_port(ip4(10, 0, 0, to.number), port);
        execute(from, resolve);
        Command route = command(Operation::kResolveRoute, id);
        route.timeout_ms = 2000;
        execute(from, route);
        return id;
    }
    int connect(TestHost& on, IdHandle id, std::uint8_t data = 0) {
        Command connect = command(Operation::kConnect, id);
        connect.parameters.qpn = Qpn{100 + id};
        connect.parameters.responder_resources = 4;
        connect.parameters.initiator_depth = 3;
        connect.parameters.retry_count = 7;
        connect.parameters.private_data_bytes = 1;
        connect.parameters.private_data[0] = data;
        return execute(on, connect).status;
    }
    int accept(TestHost& on, IdHandle id) {
        Command accept = command(Operation::kAccept, id);
        accept.parameters.qpn = Qpn{500 + id};
        accept.parameters.responder_resources = 3;
        accept.parameters.initiator_depth = 4;
        return execute(on, accept).status;
    }
    int simple(TestHost& on, Operation operation, IdHandle id) {
        return execute(on, command(operation, id)).status;
    }

    /// Delivers all MADs and events that are due now; `answer`, if set, handles each event.
    void drive() {
        for (bool busy = true; busy;) {
            busy = false;
            for (TestHost* each : {&a, &b}) {
                while (const auto out = each->host.poll_transmit()) {
                    busy = true;
                    send(*each, out->packet);
                }
                while (const auto event = each->host.poll_event()) {
                    busy = true;
                    each->events.push_back(*event);
                    if (answer) {
                        answer(*each, *event);
                    }
                }
            }
            while (!channel.empty() && channel.begin()->first <= now_ns) {
                busy = true;
                const mad::Packet packet = channel.begin()->second;
                channel.erase(channel.begin());
                deliver(packet);
            }
        }
    }
    /// Lets `ns` nanoseconds of virtual time pass, from deadline to deadline.
    void run_for(std::uint64_t ns) {
        const std::uint64_t end = now_ns + ns;
        drive();
        while (true) {
            std::uint64_t next = std::min(a.host.next_timeout_ns(), b.host.next_timeout_ns());
            if (!channel.empty()) {
                next = std::min(next, channel.begin()->first);
            }
            if (next > end) {
                break;
            }
            now_ns = std::max(now_ns, next);
            a.host.handle_timeout(now_ns);
            b.host.handle_timeout(now_ns);
            drive();
        }
        now_ns = end;
    }

    TestHost a{1};
    TestHost b{2};
    Prng prng;
    std::uint64_t now_ns = 1'000'000;
    std::uint32_t lose_percent = 0;
    std::uint32_t double_percent = 0;
    std::uint64_t delay_max_ns = 0;
    bool cut = false;                    ///< Whether the channel loses everything.
    std::uint8_t packet_life_time = 18;  ///< PacketLifeTime of every path.
    std::uint64_t sent = 0;
    std::function<void(TestHost&, const Event&)> answer;
    std::function<void(wire::MadBytes&)> tamper;
    std::multimap<std::uint64_t, mad::Packet> channel;  ///< Packets by time of arrival.

  private:
    void send(const TestHost& from, mad::Packet packet) {
        packet.slid = Lid{from.number};
        if (packet.dlid == kTestSmLid) {
            answer_query(from, packet);
            return;
        }
        ++sent;
        if (tamper) {
            tamper(packet.mad);
        }
        if (cut || prng.chance(lose_percent, 100)) {
            return;
        }
        const int copies = prng.chance(double_percent, 100) ? 2 : 1;
        for (int i = 0; i < copies; ++i) {
            channel.emplace(now_ns + (delay_max_ns == 0 ? 0 : prng.below(delay_max_ns)), packet);
        }
    }
    void answer_query(const TestHost& from, mad::Packet packet) {
        const wire::Mad<std::uint8_t> header(packet.mad);
        header.set_method(wire::response_to(header.method()));
        const wire::Sa<std::uint8_t> sa(packet.mad);
        if (header.attribute_id() == static_cast<std::uint16_t>(wire::SaAttribute::kPathRecord)) {
            auto path =
                wire::parse<wire::PathRecord>(std::span<const std::uint8_t, 200>(sa.data()));
            path.slid = Lid{from.number};
            path.dlid = Lid{static_cast<std::uint16_t>(path.dgid.interface_id().value - 0x100)};
            path.mtu = 5;
            path.rate = 3;
            path.packet_life_time = packet_life_time;
            wire::emit(path, sa.data());
        } else {
            auto member =
                wire::parse<wire::McMemberRecord>(std::span<const std::uint8_t, 200>(sa.data()));
            member.mlid = Lid{0xC001};
            wire::emit(member, sa.data());
            ++(header.method() == wire::Method::kDeleteResp ? leaves : joins);
        }
        packet.dlid = packet.slid;
        packet.slid = kTestSmLid;
        channel.emplace(now_ns, packet);
    }
    void deliver(const mad::Packet& packet) {
        TestHost* const to = packet.dlid == Lid{a.number}   ? &a
                             : packet.dlid == Lid{b.number} ? &b
                                                            : nullptr;
        if (to != nullptr) {
            to->host.handle_mad(0, packet, now_ns);
        }
    }

  public:
    std::uint32_t joins = 0;
    std::uint32_t leaves = 0;
};

/// Lets servers accept every request, and clients confirm every response.
inline void be_polite(TestPair& pair) {
    pair.answer = [&pair](TestHost& on, const Event& event) {
        if (event.type == EventType::kConnectRequest) {
            pair.accept(on, event.id);
        } else if (event.type == EventType::kConnectResponse) {
            pair.simple(on, Operation::kAccept, event.id);
        }
    };
}

}  // namespace softib::cm
