// SPDX-License-Identifier: BSD-2-Clause
// Writes RoCEv2 packets of every opcode in Ethernet frames, over IPv4 and IPv6, some with a VLAN
// tag, as a pcap file (its argument), and what is in them to standard output (samples.h).
// test_roce.py compares the two.
#include <array>
#include <cstdio>
#include <span>
#include <string>

#include "core/wire/packet/roce.h"
#include "samples.h"

namespace softib::wire {

namespace {

constexpr std::uint32_t kLinkTypeEthernet = 1;

void describe(Samples& out, const RoceFrame& frame, std::span<const std::uint8_t> bytes) {
    const PacketHeaders& sent = frame.roce.packet.headers;
    const bool ipv4 = is_ipv4(sent.grh->sgid);
    if (frame.vlan) {
        out.tell("VLAN", "Priority", std::to_string(frame.vlan->priority));
        out.tell("VLAN", "ID", std::to_string(frame.vlan->vlan));
    }
    auto ip = bytes.subspan(EthernetHeader::kBytes + (frame.vlan ? VlanTag::kBytes : 0));
    if (ipv4) {
        out.describe("IPv4", *parse<Ipv4Header>(ip));
    } else {
        out.describe("IPv6", *parse<Grh>(ip));
    }
    ip = ip.subspan(ipv4 ? Ipv4Header::kBytes : Grh::kBytes);
    out.describe("UDP", *parse<UdpHeader>(ip));
    out.describe("BTH", sent.bth);
    const auto info = opcode_info(sent.bth.opcode);
    if (is_read_whole(*info)) {
        describe_extended(out, *info, sent);
        const std::uint8_t* icrc = &bytes[bytes.size() - kIcrcBytes];
        out.tell("CRC", "Invariant", std::to_string(load_be<std::uint32_t>(icrc)));
    }
}

RoceFrame random_frame(Prng& prng, std::uint8_t opcode, int number) {
    RoceFrame frame;
    frame.ethernet = random_value<EthernetHeader>(prng, 0);
    if (number % 4 < 2) {
        frame.vlan = random_value<VlanTag>(prng, 0);
    }
    frame.roce.fields = {.source_port = static_cast<std::uint16_t>(0xC000 + prng.below(0x4000)),
                         .ipv4_id = random_value<std::uint16_t>(prng, 16),
                         .ipv4_dont_fragment = prng.chance(1, 2)};
    frame.roce.packet.headers = random_headers(prng, opcode);
    Grh& route = frame.roce.packet.headers.grh.emplace(random_value<Grh>(prng, 0));
    if (number % 2 == 0) {
        route.sgid = ipv4_gid(random_value<std::uint32_t>(prng, 32));
        route.dgid = ipv4_gid(random_value<std::uint32_t>(prng, 32));
    }
    return frame;
}

bool write_all(const char* path) {
    Samples out(path, kLinkTypeEthernet);
    for (int number = 0; number < 256; ++number) {
        const auto opcode = static_cast<std::uint8_t>(number);
        const auto info = opcode_info(opcode);
        if (!info || opcode == kCnpOpcode) {  // RoCEv2 has a CNP of its own.
            continue;
        }
        for (int i = 0; i < kSamplesEach; ++i) {
            RoceFrame frame = random_frame(out.prng(), opcode, i);
            auto payload =
                random_bytes(out.prng(), info->has_payload ? 8 + out.prng().below(60) : 0);
            if (opcode == kRoceCnpOpcode) {
                payload.assign(kRoceCnpPayloadBytes, 0);
            }
            frame.roce.packet.payload = payload;
            std::array<std::uint8_t, kRoceBytesMax> buffer;
            const auto bytes = std::span(buffer).first(*emit_roce_frame(frame, buffer));
            describe(out, *parse_roce_frame(bytes), bytes);
            out.write_frame({}, bytes);
        }
    }
    return out.good();
}

}  // namespace

}  // namespace softib::wire

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: write_roce_samples FILE.pcap\n", stderr);
        return 2;
    }
    if (!softib::wire::write_all(argv[1])) {
        std::fprintf(stderr, "cannot write %s; is its folder there?\n", argv[1]);
        return 1;
    }
    return 0;
}
