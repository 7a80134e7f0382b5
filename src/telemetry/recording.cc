// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "telemetry/clocks.h"
#include "telemetry/recording_bytes.h"

namespace softib::telemetry {

namespace {

constexpr std::size_t kCells = sizeof(PortCounts) / sizeof(std::uint64_t);
static_assert(kCells < 64);
constexpr std::size_t kFrameHead = 2 * sizeof(std::uint32_t);
constexpr std::uint32_t kFrameBytesMax = 256U << 20;
constexpr std::uint32_t kPortsMax = 4U << 20;
constexpr std::size_t kMagicBytes = sizeof kRecordingMagic - 1;

using Cells = std::array<std::uint64_t, kCells>;
Cells cells_of(const PortCounts& counts) {
    return std::bit_cast<Cells>(counts);
}

std::string inventory_bytes(const Inventory& inventory) {
    FrameWriter out;
    out.text(inventory.fabric);
    out.number(inventory.virtual_step_ns);
    out.number(static_cast<std::uint32_t>(inventory.nodes.size()));
    for (const Node& node : inventory.nodes) {
        out.number(node.guid.value);
        out.number(node.system_guid.value);
        out.text(node.name);
        out.number(static_cast<std::uint8_t>(node.kind));
        out.number(node.lid.value);
        out.number(node.port_first);
        out.number(node.port_count);
    }
    out.number(static_cast<std::uint32_t>(inventory.ports.size()));
    for (const Port& port : inventory.ports) {
        out.number(port.node);
        out.number(port.number);
        out.number(port.lanes);
        out.number(port.guid.value);
        out.number(port.peer);
        out.number(port.nominal_mbps);
        out.number(port.active_mbps);
        out.text(port.speed);
    }
    return out.bytes();
}

std::optional<Inventory> parse_inventory(const std::string& bytes) {
    FrameReader in(bytes);
    Inventory inventory;
    inventory.revision = 1;
    inventory.fabric = in.text();
    inventory.virtual_step_ns = in.number<std::uint64_t>();
    inventory.has_lids = false;
    const auto nodes = in.number<std::uint32_t>();
    for (std::uint32_t i = 0; i < nodes && in.good(); ++i) {
        Node node;
        node.guid = Guid{in.number<std::uint64_t>()};
        node.system_guid = Guid{in.number<std::uint64_t>()};
        node.name = in.text();
        node.kind = static_cast<topo::NodeKind>(in.number<std::uint8_t>());
        node.lid = Lid{in.number<std::uint16_t>()};
        node.port_first = in.number<std::uint32_t>();
        node.port_count = in.number<std::uint32_t>();
        inventory.nodes.push_back(std::move(node));
    }
    const auto ports = in.number<std::uint32_t>();
    for (std::uint32_t i = 0; i < ports && in.good(); ++i) {
        Port port;
        port.node = in.number<std::uint32_t>();
        port.number = in.number<std::uint8_t>();
        port.lanes = in.number<std::uint8_t>();
        port.guid = Guid{in.number<std::uint64_t>()};
        port.peer = in.number<std::uint32_t>();
        port.nominal_mbps = in.number<std::uint32_t>();
        port.active_mbps = in.number<std::uint32_t>();
        port.speed = in.text();
        if (port.node >= nodes || (port.peer >= ports && port.peer != kNoIndex)) {
            return std::nullopt;
        }
        inventory.ports.push_back(std::move(port));
    }
    if (!in.good() || !in.is_over() || ports > kPortsMax || inventory.virtual_step_ns == 0) {
        return std::nullopt;
    }
    for (const Node& node : inventory.nodes) {
        if (std::uint64_t{node.port_first} + node.port_count > ports) {
            return std::nullopt;
        }
    }
    assign_tiers(inventory);
    return inventory;
}

}  // namespace

std::expected<RecordingWriter, std::string> RecordingWriter::create(const std::string& path,
                                                                    const Inventory& inventory) {
    std::FILE* const file = std::fopen(path.c_str(), "wbe");
    if (file == nullptr) {
        return std::unexpected(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    }
    RecordingWriter writer(file, path);
    std::fputs(kRecordingMagic, file);
    if (auto written = writer.write(FrameKind::kInventory, inventory_bytes(inventory)); !written) {
        return std::unexpected(written.error());
    }
    return writer;
}

std::expected<void, std::string> RecordingWriter::write(FrameKind kind, const std::string& bytes) {
    FrameWriter head;
    head.number(static_cast<std::uint32_t>(kind));
    head.number(static_cast<std::uint32_t>(bytes.size()));
    std::fwrite(head.bytes().data(), 1, head.bytes().size(), file_.get());
    std::fwrite(bytes.data(), 1, bytes.size(), file_.get());
    if (std::fflush(file_.get()) != 0 || std::ferror(file_.get()) != 0) {
        return std::unexpected(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
    }
    return {};
}

std::expected<void, std::string> RecordingWriter::add(std::uint64_t time_ns,
                                                      const std::vector<PortCounts>& counts,
                                                      const std::vector<PortState>& states) {
    const bool first = counts_.empty();
    FrameWriter out;
    out.number(time_ns);
    for (std::uint32_t i = 0; i < counts.size(); ++i) {
        const Cells before = first ? Cells{} : cells_of(counts_[i]);
        const Cells now = cells_of(counts[i]);
        std::uint64_t changed = 0;
        for (std::size_t c = 0; c < kCells; ++c) {
            changed |= std::uint64_t{now[c] != before[c] ? 1U : 0U} << c;
        }
        if (changed == 0 && !first && states[i] == states_[i]) {
            continue;
        }
        out.number(i);
        out.number(static_cast<std::uint8_t>(states[i]));
        out.number(changed);
        for (std::size_t c = 0; c < kCells; ++c) {
            if ((changed >> c & 1) != 0) {
                out.number(now[c]);
            }
        }
    }
    counts_ = counts;
    states_ = states;
    return write(FrameKind::kSample, out.bytes());
}

std::expected<void, std::string> RecordingWriter::finish() {
    return write(FrameKind::kEnd, {});
}

RecordingSource::RecordingSource(std::string path)
    : path_(std::move(path)), begin_s_(static_cast<std::uint64_t>(wall_us() / 1'000'000)) {}

RecordingSource::~RecordingSource() {
    if (fd_ >= 0) {
        close(fd_);
    }
}

std::string RecordingSource::name() const {
    return "recording " + path_.substr(path_.rfind('/') + 1);
}

std::expected<std::optional<RecordingSource::Frame>, std::string> RecordingSource::next_frame() {
    std::array<char, kFrameHead> head{};
    if (pread(fd_, head.data(), head.size(), static_cast<off_t>(at_)) !=
        static_cast<ssize_t>(head.size())) {
        return std::nullopt;
    }
    FrameReader in(std::string_view(head.data(), head.size()));
    const auto kind = static_cast<FrameKind>(in.number<std::uint32_t>());
    const auto size = in.number<std::uint32_t>();
    if (size > kFrameBytesMax || kind < FrameKind::kInventory || kind > FrameKind::kEnd) {
        return std::unexpected(fmt::format("{} is damaged at byte {}", path_, at_));
    }
    Frame frame{kind, std::string(size, '\0')};
    if (pread(fd_, frame.bytes.data(), size, static_cast<off_t>(at_ + kFrameHead)) !=
        static_cast<ssize_t>(size)) {
        return std::nullopt;
    }
    at_ += kFrameHead + size;
    return frame;
}

bool RecordingSource::take_inventory(const std::string& bytes) {
    auto inventory = parse_inventory(bytes);
    if (!inventory) {
        return false;
    }
    last_.counts.assign(inventory->ports.size(), {});
    last_.states.assign(inventory->ports.size(), PortState::kActive);
    last_.fresh.assign(inventory->ports.size(), 1);
    inventory_ = std::make_shared<const Inventory>(*std::move(inventory));
    return true;
}

bool RecordingSource::take_sample(const std::string& bytes) {
    FrameReader in(bytes);
    const auto time_ns = in.number<std::uint64_t>();
    if (!inventory_ || (samples_ != 0 && time_ns <= last_.time_ns)) {
        return false;
    }
    while (in.good() && !in.is_over()) {
        const auto port = in.number<std::uint32_t>();
        const auto state = in.number<std::uint8_t>();
        const auto changed = in.number<std::uint64_t>();
        if (port >= last_.counts.size() || changed >> kCells != 0 ||
            state > static_cast<std::uint8_t>(PortState::kActiveDefer)) {
            return false;
        }
        Cells cells = cells_of(last_.counts[port]);
        for (std::size_t c = 0; c < kCells; ++c) {
            if ((changed >> c & 1) != 0) {
                cells[c] = in.number<std::uint64_t>();
            }
        }
        last_.counts[port] = std::bit_cast<PortCounts>(cells);
        last_.states[port] = static_cast<PortState>(state);
    }
    last_.time_ns = time_ns;
    last_.wall_us = static_cast<std::int64_t>((begin_s_ + samples_) * 1'000'000);
    ++samples_;
    return in.good();
}

std::unexpected<std::string> RecordingSource::damaged() const {
    return std::unexpected(fmt::format("{} is no recording, or is damaged", path_));
}

std::expected<void, std::string> RecordingSource::open_file() {
    if (fd_ < 0) {
        fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    }
    return fd_ < 0 ? std::unexpected(fmt::format("cannot read {}: {}", path_, std::strerror(errno)))
                   : std::expected<void, std::string>();
}

std::expected<void, std::string> RecordingSource::check() {
    if (auto opened = open_file(); !opened) {
        return opened;
    }
    std::array<char, kMagicBytes> magic{};
    const ssize_t got = pread(fd_, magic.data(), magic.size(), 0);
    if (got < 0) {
        return std::unexpected(fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
    }
    // A simulation that begins has not written all of it yet.
    if (std::memcmp(magic.data(), kRecordingMagic, static_cast<std::size_t>(got)) != 0) {
        return damaged();
    }
    return {};
}

std::expected<Reading, std::string> RecordingSource::read() {
    if (auto opened = open_file(); !opened) {
        return std::unexpected(opened.error());
    }
    if (at_ == 0) {
        std::array<char, kMagicBytes> magic{};
        const ssize_t got = pread(fd_, magic.data(), magic.size(), 0);
        if (got != static_cast<ssize_t>(magic.size()) ||
            std::memcmp(magic.data(), kRecordingMagic, kMagicBytes) != 0) {
            return damaged();
        }
        at_ = kMagicBytes;
    }
    const std::uint64_t before = samples_;
    while (samples_ == before) {
        const std::uint64_t here = at_;
        auto frame = next_frame();
        if (!frame) {
            return std::unexpected(frame.error());
        }
        if (!*frame || (*frame)->kind == FrameKind::kEnd) {
            at_ = here;
            break;
        }
        const bool good = (*frame)->kind == FrameKind::kInventory ? take_inventory((*frame)->bytes)
                                                                  : take_sample((*frame)->bytes);
        if (!good) {
            at_ = here;
            return damaged();
        }
    }
    more_ = samples_ != before;
    if (samples_ == 0) {
        return std::unexpected(fmt::format("{} has no reading yet", path_));
    }
    return Reading{.inventory = inventory_, .sample = last_, .notices = {}};
}

}  // namespace softib::telemetry
