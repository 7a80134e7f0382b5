// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/sharp/group_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/wire/sharp/sharp_performance_counters.h"

namespace softib::daemon {

namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint32_t kMtuBytes = 4096;
constexpr std::size_t kPacketSent = 0;  ///< Index into SwitchRecord::aggregation.
static_assert(wire::SharpPerformanceCounters::counters()[kPacketSent] ==
              &wire::SharpPerformanceCounters::packet_sent);

constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
    return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

void add_packets(std::atomic<std::uint64_t>& packets, std::atomic<std::uint64_t>& words,
                 std::uint64_t new_packets, std::uint64_t new_words) {
    packets.fetch_add(new_packets, std::memory_order_relaxed);
    words.fetch_add(new_words, std::memory_order_relaxed);
}

}  // namespace

std::optional<GroupFile> GroupFile::make(sharp::WalkedTree tree, std::uint32_t members,
                                         std::uint32_t payload_bytes, bool packets) {
    GroupFile group;
    const std::uint64_t steps_off = whole_pages(sizeof(sharp::GroupHeader));
    const std::uint64_t counts_off =
        whole_pages(steps_off + tree.steps.size() * sizeof(sharp::Step));
    const std::uint64_t slots_off = whole_pages(counts_off + members * sizeof(sharp::MemberLine));
    const sharp::SlotLayout layout(members);
    const std::uint64_t posts_off = slots_off + sharp::kSlots * layout.bytes();
    const std::uint64_t total =
        posts_off + (packets ? whole_pages(sharp::posts_bytes(members)) : 0);
    group.file_ = memfd_create("softib-sharp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (group.file_ < 0 || ftruncate(group.file_, static_cast<off_t>(total)) != 0 ||
        fcntl(group.file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return std::nullopt;
    }
    void* const at = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, group.file_, 0);
    if (at == MAP_FAILED) {
        return std::nullopt;
    }
    auto* const base = static_cast<std::byte*>(at);
    group.header_ = static_cast<sharp::GroupHeader*>(at);
    group.mapped_bytes_ = slots_off;
    sharp::GroupHeader& header = *group.header_;
    header.magic = sharp::kGroupMagic;
    header.version = sharp::kGroupVersion;
    header.members = members;
    header.steps = static_cast<std::uint32_t>(tree.steps.size());
    header.stack_depth = static_cast<std::uint32_t>(sharp::stack_depth(tree.steps, members));
    header.ost_payload_bytes = payload_bytes;
    header.mtu_bytes = kMtuBytes;
    header.steps_off = steps_off;
    header.counts_off = counts_off;
    header.slots_off = slots_off;
    header.posts_off = packets ? posts_off : 0;
    header.total_bytes = total;
    std::ranges::copy(tree.steps, reinterpret_cast<sharp::Step*>(base + steps_off));
    munmap(base + slots_off, total - slots_off);  // The daemon does not need the slots.
    group.members_ = members;
    group.settled_.resize(tree.edges.size());
    group.tree_ = std::move(tree);
    return group;
}

GroupFile::GroupFile(GroupFile&& other) noexcept
    : tree_(std::move(other.tree_)),
      settled_(std::move(other.settled_)),
      members_(other.members_),
      file_(std::exchange(other.file_, -1)),
      header_(std::exchange(other.header_, nullptr)),
      mapped_bytes_(other.mapped_bytes_) {}

GroupFile::~GroupFile() {
    if (header_ != nullptr) {
        munmap(header_, mapped_bytes_);
    }
    if (file_ >= 0) {
        close(file_);
    }
}

int GroupFile::share() const {
    return fcntl(file_, F_DUPFD_CLOEXEC, 0);
}

void GroupFile::fail(sharp::Error error) {
    std::int32_t none = 0;
    header_->error.compare_exchange_strong(none, static_cast<std::int32_t>(error));
}

const sharp::MemberLine* GroupFile::lines() const {
    // Computed anew, because a member may have overwritten the offsets in the header.
    const std::uint64_t steps_off = whole_pages(sizeof(sharp::GroupHeader));
    return reinterpret_cast<const sharp::MemberLine*>(
        reinterpret_cast<const std::byte*>(header_) +
        whole_pages(steps_off + tree_.steps.size() * sizeof(sharp::Step)));
}

void GroupFile::Count::add(const sharp::WireCount& counter) {
    packets += counter.packets.load(std::memory_order_relaxed);
    words += counter.words.load(std::memory_order_relaxed);
}

GroupFile::Passed GroupFile::passed_everywhere() const {
    Passed sum;
    for (std::uint32_t member = 0; member < members_; ++member) {
        sum.up.add(lines()[member].all_up);
        sum.down.add(lines()[member].all_down);
    }
    return sum;
}

GroupFile::Passed GroupFile::passed(const sharp::Edge& edge, const Passed& everywhere) const {
    if (edge.member != sharp::Edge::kNoMember) {
        Passed own;
        own.up.add(lines()[edge.member].sent);
        own.down.add(lines()[edge.member].received);
        return own;
    }
    Passed sum = everywhere;
    for (const std::uint32_t member : edge.members_below) {
        sum.up.add(lines()[member].only_up);
        sum.down.add(lines()[member].only_down);
    }
    return sum;
}

void GroupFile::settle(const shm::Arena& arena) {
    const auto totals_of = [&](Lid lid, std::uint8_t port) -> shm::PortTotals* {
        const shm::NodeRef& owner = arena.lid_owner[lid.value];
        if (owner.kind == shm::NodeRef::kHca) {
            return &arena.hcas[owner.index].totals;
        }
        if (owner.kind == shm::NodeRef::kSwitch && port < arena.switches[owner.index].port_count) {
            return &arena.switch_ports[arena.switches[owner.index].port_first + port].totals;
        }
        return nullptr;
    };
    const auto count_sent = [&](Lid lid, std::uint64_t packets) {
        if (const shm::NodeRef& owner = arena.lid_owner[lid.value];
            owner.kind == shm::NodeRef::kSwitch) {
            arena.switches[owner.index].aggregation[kPacketSent].fetch_add(
                packets, std::memory_order_relaxed);
        }
    };
    const Passed everywhere = passed_everywhere();
    for (std::size_t i = 0; i < tree_.edges.size(); ++i) {
        const sharp::Edge& edge = tree_.edges[i];
        const Passed now = passed(edge, everywhere);
        const Passed before = std::exchange(settled_[i], now);
        const Count up{now.up.packets - before.up.packets, now.up.words - before.up.words};
        const Count down{now.down.packets - before.down.packets,
                         now.down.words - before.down.words};
        if (shm::PortTotals* const child = totals_of(edge.child, edge.child_port)) {
            add_packets(child->xmit_packets, child->xmit_words, up.packets, up.words);
            add_packets(child->rcv_packets, child->rcv_words, down.packets, down.words);
        }
        if (shm::PortTotals* const parent = totals_of(edge.parent, edge.parent_port)) {
            add_packets(parent->rcv_packets, parent->rcv_words, up.packets, up.words);
            add_packets(parent->xmit_packets, parent->xmit_words, down.packets, down.words);
        }
        count_sent(edge.child, up.packets);
        count_sent(edge.parent, down.packets);
    }
}

}  // namespace softib::daemon
