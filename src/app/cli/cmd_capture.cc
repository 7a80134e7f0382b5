// SPDX-License-Identifier: BSD-2-Clause
// softib capture: writes packets of a running fabric to a pcap file with times in nanoseconds. Each
// InfiniBand packet is in the record of a capture card (ERF, type 21), which Wireshark reads, or
// bare (link type 247), which Wireshark does not read. Packets of an Ethernet are Ethernet frames.
// The process attaches to the fabric, and has a ring in the arena to which the carrier and the
// daemon write packets.
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/cli/link_name.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "runtime/direct/process.h"
#include "runtime/shm/capture.h"
#include "runtime/shm/packet_queue.h"
#include "view/names.h"

namespace softib::app {

namespace {

constexpr std::uint64_t kRingBytes = std::uint64_t{32} << 20;
constexpr useconds_t kLookUs = 2000;
constexpr std::uint32_t kMagicNanoseconds = 0xA1B23C4D;
constexpr std::uint32_t kLinkTypeEthernet = 1;
constexpr std::uint32_t kLinkTypeErf = 197;
constexpr std::uint32_t kLinkTypeInfiniband = 247;
constexpr std::uint8_t kErfInfiniband = 21;
constexpr std::size_t kErfBytes = 16;

std::atomic<bool> g_stop{false};

class PcapFile {
  public:
    static std::expected<PcapFile, std::string> open(const std::string& name,
                                                     std::uint32_t link_type,
                                                     std::uint32_t snap_bytes) {
        PcapFile file;
        file.bare_ = link_type != kLinkTypeErf;
        // A copy of stdout, so that a pipe whose reader has ended does not fail the command.
        file.out_ = name == "-" ? fdopen(dup(STDOUT_FILENO), "wb") : std::fopen(name.c_str(), "wb");
        if (file.out_ == nullptr) {
            return std::unexpected(fmt::format("cannot write {}: {}", name, std::strerror(errno)));
        }
        const std::uint32_t header[] = {kMagicNanoseconds,
                                        2 | 4U << 16,
                                        0,
                                        0,
                                        snap_bytes + static_cast<std::uint32_t>(kErfBytes),
                                        link_type};
        file.put(header, sizeof header);
        file.flush();  // Wireshark waits for the header.
        return file;
    }
    PcapFile(PcapFile&& other) noexcept
        : out_(std::exchange(other.out_, nullptr)), bare_(other.bare_), error_(other.error_) {}
    PcapFile& operator=(PcapFile&&) = delete;
    ~PcapFile() {
        if (out_ != nullptr) {
            std::fclose(out_);
        }
    }

    void add(const shm::CapturedPacket& packet) {
        constexpr std::uint64_t kSecond = 1'000'000'000;
        const auto seconds = static_cast<std::uint32_t>(packet.time_ns / kSecond);
        const auto rest_ns = static_cast<std::uint32_t>(packet.time_ns % kSecond);
        const auto extra = static_cast<std::uint32_t>(bare_ ? 0 : kErfBytes);
        const std::uint32_t header[] = {seconds, rest_ns,
                                        static_cast<std::uint32_t>(packet.bytes.size()) + extra,
                                        packet.wire_bytes + extra};
        put(header, sizeof header);
        if (!bare_) {
            put_erf(seconds, rest_ns, packet);
        }
        put(packet.bytes.data(), packet.bytes.size());
    }
    /// Returns 0, or the errno value of a write that failed.
    int flush() {
        errno = 0;
        if (error_ == 0 && (std::fflush(out_) != 0 || std::ferror(out_) != 0)) {
            error_ = errno == 0 ? EIO : errno;
        }
        return error_;
    }

  private:
    PcapFile() = default;
    /// Writes the head of an ERF record. The time is a fixed-point number in little-endian order;
    /// lengths are big-endian.
    void put_erf(std::uint32_t seconds, std::uint32_t rest_ns, const shm::CapturedPacket& packet) {
        std::uint8_t erf[kErfBytes]{};
        const std::uint64_t time =
            std::uint64_t{seconds} << 32 | (std::uint64_t{rest_ns} << 32) / 1'000'000'000;
        std::memcpy(erf, &time, sizeof time);
        const auto store = [&](std::size_t at, std::size_t value) {
            erf[at] = static_cast<std::uint8_t>(value >> 8);
            erf[at + 1] = static_cast<std::uint8_t>(value);
        };
        erf[8] = kErfInfiniband;
        store(10, kErfBytes + packet.bytes.size());
        store(14, packet.wire_bytes);
        put(erf, sizeof erf);
    }
    void put(const void* bytes, std::size_t n) { std::fwrite(bytes, 1, n, out_); }

    std::FILE* out_ = nullptr;
    bool bare_ = false;
    int error_ = 0;
};

/// The tap words of the ports whose arriving packets are captured.
using Taps = std::vector<std::atomic<std::uint32_t>*>;

/// Returns the taps for what all HCAs send: those of the switch ports at which it arrives. An HCA
/// without a cable to a switch has none.
Taps all_adapters(const shm::Arena& arena) {
    Taps taps;
    for (std::uint32_t i = 0; i < arena.header->hcas; ++i) {
        const shm::HcaRecord& hca = arena.hcas[i];
        if (hca.peer_switch >= arena.header->switches) {
            continue;
        }
        const shm::SwitchRecord& sw = arena.switches[hca.peer_switch];
        taps.push_back(&arena.switch_ports[sw.port_first + hca.peer_port].taps);
    }
    return taps;
}

/// Adds the taps of both ends of the cable at a port.
std::expected<void, std::string> add_port(const shm::Arena& arena, const std::string& text,
                                          Taps& taps) {
    const auto name = parse_link(text);
    if (!name) {
        return std::unexpected(name.error());
    }
    for (std::uint32_t i = 0; i < arena.header->switch_ports; ++i) {
        shm::SwitchPortRecord& port = arena.switch_ports[i];
        const bool is_it =
            switch_port_name(arena, i) == fmt::format("{}:{}", name->node, name->port);
        const bool leads_to_it =
            port.peer.kind == shm::NodeRef::kHca &&
            (view::node_name(arena, port.peer) == name->node ||
             (arena.hosts[arena.hcas[port.peer.index].host].name == name->node &&
              arena.hcas[port.peer.index].index_on_host + 1 == name->port));
        if (!(is_it || leads_to_it) || port.peer.kind == shm::NodeRef::kNone) {
            continue;
        }
        if (std::ranges::find(taps, &port.taps) != taps.end()) {
            return std::unexpected(fmt::format("'{}' is a cable that was named before", text));
        }
        taps.push_back(&port.taps);
        if (port.peer.kind == shm::NodeRef::kHca) {
            taps.push_back(&arena.hcas[port.peer.index].taps);
        } else {
            const shm::SwitchRecord& other = arena.switches[port.peer.index];
            taps.push_back(&arena.switch_ports[other.port_first + port.peer_port].taps);
        }
        return {};
    }
    return std::unexpected(
        fmt::format("no cable at '{}'; nodes and ports are in: softib topo", text));
}

/// A capture under way; ends with this object.
class Capture {
  public:
    /// Joins the fabric and finds the ports. Nothing is captured before start().
    static std::expected<std::unique_ptr<Capture>, std::string> prepare(
        const CaptureOptions& options, const Observer& observer) {
        direct::Process* const process =
            direct::Process::attach(observer.fabric().dir.c_str(), observer.arena().hosts[0].name);
        if (process == nullptr) {
            return std::unexpected(fmt::format("cannot join the fabric: {}", std::strerror(errno)));
        }
        auto capture = std::make_unique<Capture>(*process);
        const shm::Arena& arena = process->self.arena;
        if (options.ports.empty()) {
            capture->taps_ = all_adapters(arena);
        }
        for (const std::string& port : options.ports) {
            if (auto added = add_port(arena, port, capture->taps_); !added) {
                return std::unexpected(added.error());
            }
        }
        return capture;
    }
    std::expected<void, std::string> start(std::uint32_t snap_bytes) {
        if (!claim(snap_bytes)) {
            return std::unexpected("eight captures are running already, or memory is short");
        }
        return {};
    }
    explicit Capture(direct::Process& process) : process_(process) {}
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    ~Capture() {
        if (slot_ != nullptr) {
            set_taps(false);
            slot_->owner.store(0);
        }
    }

    shm::CaptureSlot& slot() { return *slot_; }
    const shm::Arena& arena() const { return process_.self.arena; }

  private:
    bool claim(std::uint32_t snap_bytes) {
        const std::uint64_t ring = process_.memory.chunks.allocate(kRingBytes);
        for (std::uint32_t i = 0; i < shm::kCaptures && ring != 0; ++i) {
            shm::CaptureSlot& slot = process_.self.arena.header->captures[i];
            std::uint32_t nobody = 0;
            if (!slot.owner.compare_exchange_strong(nobody, process_.self.lock_word)) {
                continue;
            }
            slot.snap_bytes = snap_bytes;
            slot.ring_off = ring;
            slot.ring_bytes = kRingBytes;
            slot.written.store(0);
            slot.read.store(0);
            slot.missed.store(0);
            slot_ = &slot;
            bit_ = 1U << i;
            set_taps(true);
            return true;
        }
        return false;
    }
    void set_taps(bool on) {
        for (std::atomic<std::uint32_t>* tap : taps_) {
            on ? tap->fetch_or(bit_) : tap->fetch_and(~bit_);
        }
        process_.self.arena.header->route_generation.fetch_add(1);
        shm::wake_carrier(process_.self.arena);
    }

    direct::Process& process_;
    Taps taps_;
    shm::CaptureSlot* slot_ = nullptr;
    std::uint32_t bit_ = 0;
};

/// Writes the packets that are in the ring, at most `most`, to the file. Returns how many.
std::uint64_t drain(Capture& capture, PcapFile& file, std::uint64_t most) {
    shm::CapturedPacket packet;
    std::uint64_t taken = 0;
    while (taken < most && shm::capture_get(capture.arena(), capture.slot(), packet)) {
        file.add(packet);
        ++taken;
    }
    return taken;
}

/// Writes packets to the file until a signal comes, `most` were written, or writing fails. Returns
/// how many were written.
std::uint64_t follow(Capture& capture, PcapFile& file, std::uint64_t most) {
    std::uint64_t packets = 0;
    int error = 0;
    while (!g_stop.load() && packets < most && error == 0) {
        const std::uint64_t more = drain(capture, file, most - packets);
        packets += more;
        error = file.flush();
        if (more == 0) {
            usleep(kLookUs);
        }
    }
    return packets + (error == 0 ? drain(capture, file, most - packets) : 0);
}

}  // namespace

int cmd_capture(const CaptureOptions& options) {
    if (options.json && options.file == "-") {
        return misuse("--json and the packets would both go to standard output: leave out --json");
    }
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    if (!shm::is_packet_path(observer->arena())) {
        return fail("this fabric has no packets; start it with: softib up --data-path packet");
    }
    if (options.file == "-" && isatty(STDOUT_FILENO) != 0) {
        return fail(
            "packets are no text; send them to a program, as in: softib capture -w - | tshark -r "
            "-");
    }
    const bool ethernet = observer->arena().header->link_layer == hca::LinkLayer::kEthernet;
    if (ethernet && options.bare) {
        return misuse("--bare is for InfiniBand: packets of an Ethernet are Ethernet frames");
    }
    auto capture = Capture::prepare(options, *observer);
    if (!capture) {
        return fail(capture.error());
    }
    const std::uint32_t link_type = ethernet       ? kLinkTypeEthernet
                                    : options.bare ? kLinkTypeInfiniband
                                                   : kLinkTypeErf;
    auto file = PcapFile::open(options.file, link_type, options.snap_bytes);
    if (!file) {
        return fail(file.error());
    }
    if (const auto started = (*capture)->start(options.snap_bytes); !started) {
        return fail(started.error());
    }
    const auto stop = [](int) { g_stop.store(true); };
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    signal(SIGPIPE, SIG_IGN);
    note("capturing; Ctrl-C ends it");
    const std::uint64_t packets = follow(**capture, *file, options.count.value_or(UINT64_MAX));
    const int error = file->flush();
    const std::uint64_t missed = (*capture)->slot().missed.load();
    if (options.json) {
        fmt::print("{}",
                   json_text({{"file", options.file}, {"packets", packets}, {"missed", missed}}));
    }
    note(fmt::format("{} packets{}", packets,
                     missed != 0 ? fmt::format(", {} more came too fast", missed) : ""));
    const bool reader_gone = error == EPIPE && options.file == "-";
    return error == 0 || reader_gone ? 0
                                     : fail(fmt::format("cannot write all of it to {}: {}",
                                                        options.file, std::strerror(error)));
}

}  // namespace softib::app
