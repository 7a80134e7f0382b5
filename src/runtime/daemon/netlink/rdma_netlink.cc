// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/netlink/rdma_netlink.h"

#include <fmt/format.h>
#include <rdma/rdma_netlink.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <charconv>
#include <expected>

#include "runtime/daemon/netlink/rdma_resources.h"
#include "runtime/daemon/sysfs/sysfs_tree.h"
#include "runtime/shm/identity.h"
#include "runtime/shm/netlink_message.h"

namespace softib::daemon {

namespace {

using sysfs::Device;

/// The most bytes of a table in one message. A longer table is sent in several messages.
constexpr std::size_t kTableBytes = 3072;
constexpr std::uint32_t kPorts = 1;
constexpr std::uint8_t kNodeTypeCa = 1;
constexpr std::uint8_t kPhysicalPolling = 2;
constexpr std::uint8_t kPhysicalLinkUp = 5;

/// One request, and the answers to it.
class Conversation {
  public:
    Conversation(const NetlinkView& from, const nlmsghdr& head, const shm::Attributes& attributes,
                 std::vector<std::string>& datagrams)
        : view(from), asked(attributes), head_(head), datagrams_(datagrams) {}

    bool is_dump() const { return (head_.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP; }

    void reply(const shm::AttributeList& attributes) {
        send(head_.nlmsg_type, is_dump() ? NLM_F_MULTI : 0, attributes.bytes());
    }

    /// Sends what ends the answers to a request. `error` is an errno value or 0.
    void finish(int error) {
        const int negative = -error;
        const std::string_view code(reinterpret_cast<const char*>(&negative), sizeof negative);
        if (is_dump() && error == 0) {
            send(NLMSG_DONE, NLM_F_MULTI, code);
        } else if (error != 0 || (head_.nlmsg_flags & NLM_F_ACK) != 0) {
            // NLM_F_CAPPED: the error has only the header of the request.
            send(NLMSG_ERROR, NLM_F_CAPPED,
                 std::string(code) +
                     std::string(reinterpret_cast<const char*>(&head_), sizeof head_));
        }
    }

    const NetlinkView& view;
    const shm::Attributes& asked;

  private:
    void send(std::uint16_t type, int flags, std::string_view payload) {
        const std::string message =
            shm::netlink_message({.nlmsg_len = 0,
                                  .nlmsg_type = type,
                                  .nlmsg_flags = static_cast<std::uint16_t>(flags),
                                  .nlmsg_seq = head_.nlmsg_seq,
                                  .nlmsg_pid = view.port_id},
                                 payload);
        // Messages of a dump share datagrams. Others have a datagram of their own, as in Linux.
        const bool joins = (flags & NLM_F_MULTI) != 0 && began_ &&
                           datagrams_.back().size() + message.size() <= kNetlinkDatagramBytes;
        if (joins) {
            datagrams_.back() += message;
        } else {
            datagrams_.push_back(message);
        }
        began_ = true;
    }

    nlmsghdr head_;
    std::vector<std::string>& datagrams_;
    bool began_ = false;
};

shm::AttributeList device_handle(const Device& d) {
    shm::AttributeList a;
    a.put_number(RDMA_NLDEV_ATTR_DEV_INDEX, static_cast<std::uint32_t>(d.number));
    a.put_string(RDMA_NLDEV_ATTR_DEV_NAME, d.name);
    return a;
}

shm::AttributeList device_attributes(const Device& d) {
    shm::AttributeList a = device_handle(d);
    a.put_number(RDMA_NLDEV_ATTR_PORT_INDEX, kPorts);
    a.put_string(RDMA_NLDEV_ATTR_FW_VERSION, shm::kFirmwareVersion);
    a.put_number(RDMA_NLDEV_ATTR_NODE_GUID, d.record().node_guid);
    a.put_number(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, d.record().system_image_guid);
    a.put_number(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, kNodeTypeCa);
    a.put_number(RDMA_NLDEV_ATTR_DEV_DIM, std::uint8_t{0});
    a.put_string(RDMA_NLDEV_ATTR_DEV_PROTOCOL, d.is_ethernet() ? "roce" : "ib");
    return a;
}

shm::AttributeList port_attributes(const Device& d) {
    const shm::HcaRecord& hca = d.record();
    const PortState state = hca.state.load(std::memory_order_relaxed);
    shm::AttributeList a = device_handle(d);
    a.put_number(RDMA_NLDEV_ATTR_PORT_INDEX, kPorts);
    if (!d.is_ethernet()) {
        a.put_number(RDMA_NLDEV_ATTR_CAP_FLAGS, std::uint64_t{hca.capability_mask});
        a.put_number(RDMA_NLDEV_ATTR_SUBNET_PREFIX, hca.gid_prefix);
        a.put_number(RDMA_NLDEV_ATTR_LID, std::uint32_t{hca.lid.load(std::memory_order_relaxed)});
        a.put_number(RDMA_NLDEV_ATTR_SM_LID, std::uint32_t{hca.sm_lid});
        a.put_number(RDMA_NLDEV_ATTR_LMC, hca.lmc);
    }
    a.put_number(RDMA_NLDEV_ATTR_PORT_STATE, static_cast<std::uint8_t>(state));
    a.put_number(RDMA_NLDEV_ATTR_PORT_PHYS_STATE,
                 state >= PortState::kInit ? kPhysicalLinkUp : kPhysicalPolling);
    if (d.is_ethernet()) {
        a.put_number(RDMA_NLDEV_ATTR_NDEV_INDEX, hca.net_interface);
        a.put_string(RDMA_NLDEV_ATTR_NDEV_NAME, hca.net_name);
    }
    return a;
}

shm::AttributeList summary(const NetlinkView& view, const Device& d) {
    shm::AttributeList table;
    for (const ResourceKind& kind : resource_kinds()) {
        shm::AttributeList entry;
        entry.put_string(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, kind.name);
        entry.put_number(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR,
                         std::uint64_t{kind.list(view, d.hca).size()});
        table.put_nested(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY, entry);
    }
    shm::AttributeList a = device_handle(d);
    a.put_nested(RDMA_NLDEV_ATTR_RES_SUMMARY, table);
    return a;
}

/// The counters of the port's hw_counters directory, which Linux reports here too.
shm::AttributeList port_counters(const Device& d) {
    const std::string dir = fmt::format("infiniband/{}/ports/{}/hw_counters/", d.name, kPorts);
    shm::AttributeList table;
    for (const sysfs::Entry& file : sysfs::device_entries(d)) {
        if (file.kind != sysfs::Kind::kFile || !file.path.starts_with(dir)) {
            continue;
        }
        const std::string text = file.make(d, file.arg);
        std::uint64_t value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);
        shm::AttributeList entry;
        entry.put_string(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, file.path.substr(dir.size()));
        entry.put_number(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value);
        table.put_nested(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, entry);
    }
    shm::AttributeList a = device_handle(d);
    a.put_number(RDMA_NLDEV_ATTR_PORT_INDEX, kPorts);
    a.put_nested(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, table);
    return a;
}

/// Returns the device that the request names; the error is EINVAL.
std::expected<Device, int> asked_device(const Conversation& c) {
    const auto index = c.asked.number(RDMA_NLDEV_ATTR_DEV_INDEX);
    const std::vector<Device> devices = sysfs::devices_of(c.view.arena, c.view.hosts);
    if (!index || *index >= devices.size()) {
        return std::unexpected(EINVAL);
    }
    return devices[*index];
}

/// Returns whether the request names the device's port, or if not `needed`, no other port.
bool is_port(const Conversation& c, bool needed) {
    const auto port = c.asked.number(RDMA_NLDEV_ATTR_PORT_INDEX);
    return port ? *port == kPorts : !needed;
}

int get_device(Conversation& c) {
    if (!c.is_dump()) {
        const auto device = asked_device(c);
        if (device) {
            c.reply(device_attributes(*device));
        }
        return device ? 0 : device.error();
    }
    for (const Device& device : sysfs::devices_of(c.view.arena, c.view.hosts)) {
        c.reply(device_attributes(device));
    }
    return 0;
}

int get_port(Conversation& c) {
    const auto device = asked_device(c);
    if (!device || (!c.is_dump() && !is_port(c, true))) {
        return EINVAL;
    }
    c.reply(port_attributes(*device));
    return 0;
}

int get_system(Conversation& c) {
    shm::AttributeList a;
    a.put_number(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, std::uint8_t{1});    // Shared by all.
    a.put_number(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, std::uint8_t{1});  // As ibv_is_fork_initialized.
    c.reply(a);
    return 0;
}

int get_summary(Conversation& c) {
    if (!c.is_dump()) {
        const auto device = asked_device(c);
        if (device) {
            c.reply(summary(c.view, *device));
        }
        return device ? 0 : device.error();
    }
    for (const Device& device : sysfs::devices_of(c.view.arena, c.view.hosts)) {
        c.reply(summary(c.view, device));
    }
    return 0;
}

/// Sends all objects of a kind, in as many messages as needed, or the one that the request names.
int get_resources(Conversation& c, const ResourceKind& kind) {
    const auto device = asked_device(c);
    const auto wanted = c.asked.number(kind.id);
    if (!device || !is_port(c, false) || (!c.is_dump() && !wanted)) {
        return EINVAL;
    }
    const bool by_port = c.asked.number(RDMA_NLDEV_ATTR_PORT_INDEX).has_value();
    shm::AttributeList table;
    const auto send_table = [&] {
        shm::AttributeList a = device_handle(*device);
        a.put_nested(kind.table, table);
        c.reply(a);
        table = {};
    };
    for (const Resource& each : kind.list(c.view, device->hca)) {
        if (!c.is_dump() && each.id == *wanted) {
            shm::AttributeList a = device_handle(*device);
            a.append(each.attributes);
            c.reply(a);
            return 0;
        }
        if (!c.is_dump() ||
            (by_port && kind.command == RDMA_NLDEV_CMD_RES_QP_GET && each.port == 0)) {
            continue;
        }
        if (table.size() + each.attributes.size() > kTableBytes) {
            send_table();
        }
        table.put_nested(kind.entry, each.attributes);
    }
    if (table.size() != 0) {
        send_table();
    }
    return c.is_dump() ? 0 : ENOENT;
}

int get_node(Conversation& c) {
    const std::string_view type = c.asked.text(RDMA_NLDEV_ATTR_CHARDEV_TYPE);
    const auto device = asked_device(c);
    if (!device || type.empty()) {
        return type == "rdma_cm" ? EOPNOTSUPP : EINVAL;
    }
    if (type != "uverbs" && type != "umad" && type != "issm") {
        return EOPNOTSUPP;
    }
    shm::AttributeList a;
    // The file in /dev is the null device.
    a.put_number(RDMA_NLDEV_ATTR_CHARDEV, std::uint64_t{makedev(1, 3)});
    a.put_number(RDMA_NLDEV_ATTR_CHARDEV_ABI, std::uint64_t{type == "uverbs" ? 1U : 5U});
    a.put_string(RDMA_NLDEV_ATTR_CHARDEV_NAME, fmt::format("{}{}", type, device->number));
    c.reply(a);
    return 0;
}

/// Sends the counters of a port. There are no counters of queue pairs or regions.
int get_statistics(Conversation& c) {
    if (c.is_dump()) {
        return 0;
    }
    const auto device = asked_device(c);
    if (!device || !is_port(c, true)) {
        return EINVAL;
    }
    if (c.asked.number(RDMA_NLDEV_ATTR_STAT_RES)) {
        return ENOENT;
    }
    c.reply(port_counters(*device));
    return 0;
}

int execute(Conversation& c, std::uint32_t command) {
    for (const ResourceKind& kind : resource_kinds()) {
        if (kind.command == command) {
            return get_resources(c, kind);
        }
    }
    switch (command) {
        case RDMA_NLDEV_CMD_GET:
            return get_device(c);
        case RDMA_NLDEV_CMD_PORT_GET:
            return get_port(c);
        case RDMA_NLDEV_CMD_SYS_GET:
            return get_system(c);
        case RDMA_NLDEV_CMD_RES_GET:
            return get_summary(c);
        case RDMA_NLDEV_CMD_GET_CHARDEV:
            return get_node(c);
        case RDMA_NLDEV_CMD_STAT_GET:
            return get_statistics(c);
        case RDMA_NLDEV_CMD_SET:
        case RDMA_NLDEV_CMD_NEWLINK:
        case RDMA_NLDEV_CMD_DELLINK:
        case RDMA_NLDEV_CMD_SYS_SET:
        case RDMA_NLDEV_CMD_STAT_SET:
        case RDMA_NLDEV_CMD_STAT_DEL:
        case RDMA_NLDEV_CMD_RES_QP_GET_RAW:
        case RDMA_NLDEV_CMD_RES_CQ_GET_RAW:
        case RDMA_NLDEV_CMD_RES_MR_GET_RAW:
            return EOPNOTSUPP;
        default:
            return EINVAL;
    }
}

/// Returns the head of the next message of a datagram, or std::nullopt if there is no whole
/// message.
std::optional<nlmsghdr> next_message(std::string_view datagram) {
    nlmsghdr head;
    if (datagram.size() < sizeof head) {
        return std::nullopt;
    }
    std::memcpy(&head, datagram.data(), sizeof head);
    const bool whole = head.nlmsg_len >= sizeof head && head.nlmsg_len <= datagram.size();
    return whole ? std::optional(head) : std::nullopt;
}

bool is_device_request(const nlmsghdr& head) {
    return RDMA_NL_GET_CLIENT(head.nlmsg_type) == RDMA_NL_NLDEV;
}

}  // namespace

std::vector<std::string> answer_netlink(const NetlinkView& view, std::string_view datagram) {
    std::vector<std::string> datagrams;
    while (const auto head = next_message(datagram)) {
        const auto attributes =
            shm::Attributes::parse(datagram.substr(sizeof *head, head->nlmsg_len - sizeof *head));
        datagram.remove_prefix(std::min(shm::netlink_aligned(head->nlmsg_len), datagram.size()));
        const shm::Attributes none;
        Conversation c(view, *head, attributes ? *attributes : none, datagrams);
        const bool is_request =
            (head->nlmsg_flags & NLM_F_REQUEST) != 0 && head->nlmsg_type >= NLMSG_MIN_TYPE;
        if (!is_request) {
            // Answers and control messages need no answer.
            if ((head->nlmsg_flags & NLM_F_ACK) != 0) {
                c.finish(0);
            }
            continue;
        }
        c.finish(attributes && is_device_request(*head)
                     ? execute(c, RDMA_NL_GET_OP(head->nlmsg_type))
                     : EINVAL);
    }
    return datagrams;
}

}  // namespace softib::daemon
