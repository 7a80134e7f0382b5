// SPDX-License-Identifier: BSD-2-Clause
// Queries of a device: attributes, ports, GIDs, P_Keys, clocks.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "abi/verbs/entry.h"
#include "abi/verbs/objects.h"
#include "core/topo/link_speed.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/identity.h"
#include "runtime/shm/packet_queue.h"

namespace softib::abi {

namespace {

constexpr std::uint32_t kVendorId = 0x0250F7;  ///< The OUI of our GUIDs, locally administered.

const shm::HcaRecord& hca_of(ibv_context* context) {
    const Context& c = impl(context);
    return c.process->self.arena.hcas[c.hca];
}

void fill_device(ibv_context* context, ibv_device_attr& a) {
    const shm::HcaRecord& hca = hca_of(context);
    const auto limit = [&](shm::ObjectKind kind) {
        return static_cast<int>(shm::object_limit(impl(context).process->self.arena, kind));
    };
    std::memset(&a, 0, sizeof a);
    std::snprintf(a.fw_ver, sizeof a.fw_ver, "%s", shm::kFirmwareVersion);
    a.node_guid = __builtin_bswap64(hca.node_guid);
    a.sys_image_guid = __builtin_bswap64(hca.system_image_guid);
    a.max_mr_size = UINT64_MAX;
    a.page_size_cap = 0xFFFFF000;
    a.vendor_id = kVendorId;
    a.vendor_part_id = shm::kPciDevice;
    a.hw_ver = shm::kHardwareRevision;
    a.max_qp = limit(shm::ObjectKind::kQp);
    a.max_qp_wr = direct::kSendWrMax;
    a.device_cap_flags =
        IBV_DEVICE_RESIZE_MAX_WR | IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |
        IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
        IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
        IBV_DEVICE_XRC | IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_MEM_MGT_EXTENSIONS;
    a.max_sge = hca::kSgesMax;
    a.max_sge_rd = hca::kSgesMax;
    a.max_cq = limit(shm::ObjectKind::kCq);
    a.max_cqe = direct::kCqEntriesMax - 1;
    a.max_mr = limit(shm::ObjectKind::kMr);
    a.max_pd = limit(shm::ObjectKind::kPd);
    a.max_qp_rd_atom = 16;
    a.max_res_rd_atom = 16 * a.max_qp;
    a.max_qp_init_rd_atom = 16;
    // Atomic operations are atomic for the CPU too (IBV_ATOMIC_GLOB). But no present HCA reports
    // that, and UCX before 1.16 takes it as no support at all.
    a.atomic_cap = IBV_ATOMIC_HCA;
    a.max_mw = limit(shm::ObjectKind::kMw);
    a.max_mcast_grp = shm::kMcastGroupsMax;
    a.max_mcast_qp_attach = shm::kMcastMembersMax;
    a.max_total_mcast_qp_attach = static_cast<int>(shm::kMcastGroupsMax * shm::kMcastMembersMax);
    a.max_ah = limit(shm::ObjectKind::kAh);
    a.max_srq = limit(shm::ObjectKind::kSrq);
    a.max_srq_wr = direct::kRecvWrMax;
    a.max_srq_sge = hca::kSgesMax;
    a.max_pkeys = shm::kPKeysPerPort;
    a.local_ca_ack_delay = 16;
    a.phys_port_cnt = 1;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attr, std::size_t attr_size) {
    if (input != nullptr && input->comp_mask != 0) {
        return answer(EINVAL);
    }
    if (attr_size < sizeof attr->orig_attr) {
        return answer(EINVAL);
    }
    ibv_device_attr_ex full;
    std::memset(&full, 0, sizeof full);
    fill_device(context, full.orig_attr);
    // Peers reach on-demand memory by system calls, whatever the program maps there.
    constexpr std::uint32_t kOdpAll = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
                                      IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
                                      IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
    full.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
    full.odp_caps.per_transport_caps.rc_odp_caps = kOdpAll;
    full.odp_caps.per_transport_caps.uc_odp_caps = kOdpAll;
    full.odp_caps.per_transport_caps.ud_odp_caps =
        IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
    full.xrc_odp_caps = kOdpAll;
    full.completion_timestamp_mask = UINT64_MAX;
    full.hca_core_clock = 1'000'000;  // In kHz: the clock counts nanoseconds.
    full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
    full.max_dm_size =
        shm::object_limit(impl(context).process->self.arena, shm::ObjectKind::kDeviceMemory);
    full.phys_port_cnt_ex = 1;
    std::memset(attr, 0, attr_size);
    std::memcpy(attr, &full, std::min(attr_size, sizeof full));
    return 0;
}

int fill_port(ibv_context* context, std::uint8_t port, PortAttrSpace& space) {
    if (port != 1) {
        return answer(EINVAL);
    }
    const shm::HcaRecord& hca = hca_of(context);
    const topo::LinkSpeed best = topo::link_speed(static_cast<topo::Generation>(hca.generation));
    // A link that is down reports the slowest speed, at which it would begin to train.
    const bool down = hca.state.load() == PortState::kDown;
    const topo::LinkSpeed speed = down ? topo::link_speed(topo::Generation::kSdr) : best;
    std::memset(&space, 0, sizeof space);
    ibv_port_attr& a = space.attr;
    a.state = static_cast<ibv_port_state>(hca.state.load());
    a.max_mtu = IBV_MTU_4096;
    a.active_mtu = static_cast<ibv_mtu>(hca.mtu_code);
    a.gid_tbl_len = shm::kGidsPerPort;
    a.port_cap_flags = hca.capability_mask;
    a.max_msg_sz = hca::kMessageBytesMax;
    if (const shm::Arena& arena = impl(context).process->self.arena; shm::is_packet_path(arena)) {
        shm::ask_for_counts(arena);
    }
    a.bad_pkey_cntr = static_cast<std::uint32_t>(hca.totals.pkey_violations.load());
    a.qkey_viol_cntr = static_cast<std::uint32_t>(hca.totals.qkey_violations.load());
    a.pkey_tbl_len = shm::kPKeysPerPort;
    a.lid = hca.lid.load();
    a.sm_lid = hca.sm_lid;
    a.lmc = hca.lmc;
    a.max_vl_num = 4;  // VL0-7
    a.sm_sl = hca.sm_sl;
    a.subnet_timeout = 18;
    a.active_width = speed.active_width;
    a.active_speed =
        static_cast<std::uint8_t>(std::min<std::uint32_t>(speed.active_speed, kSpeedNdr));
    a.phys_state = down ? 2 : 5;
    a.link_layer = is_ethernet(context) ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
    a.port_cap_flags2 = 0x3E | (best.active_speed >= kSpeedXdr ? kPortLinkSpeedXdrSup : 0);
    store_at(&space, kPortAttrActiveSpeedEx, speed.active_speed);
    return 0;
}

int query_port_sized(ibv_context* context, std::uint8_t port, ibv_port_attr* attr,
                     std::size_t bytes) {
    PortAttrSpace space;
    const int error = fill_port(context, port, space);
    if (error == 0) {
        std::memset(attr, 0, bytes);
        std::memcpy(attr, &space, std::min(bytes, sizeof space));
    }
    return error;
}

int query_rt_values(ibv_context*, ibv_values_ex* values) {
    const std::uint32_t asked = values->comp_mask;
    values->comp_mask = asked & IBV_VALUES_MASK_RAW_CLOCK;
    if ((asked & IBV_VALUES_MASK_RAW_CLOCK) != 0) {
        const std::uint64_t ns = shm::monotonic_ns();
        values->raw_clock.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
        values->raw_clock.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    }
    return 0;
}

int compat_query_device(ibv_context* context, ibv_device_attr* attr) {
    fill_device(context, *attr);
    return 0;
}

int compat_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attr) {
    return softib_ibv_query_port(context, port, attr);
}

bool read_gid(ibv_context* context, std::uint32_t port, int index, ibv_gid& gid) {
    if (port != 1 || index < 0 || index >= static_cast<int>(shm::kGidsPerPort)) {
        return false;
    }
    const Gid g = shm::gid_at(hca_of(context), static_cast<std::uint32_t>(index));
    std::memcpy(gid.raw, g.bytes.data(), sizeof gid.raw);
    return true;
}

/// Returns 0, EINVAL, or ENODATA if the entry is empty.
int read_gid_entry(ibv_context* context, std::uint32_t port, std::uint32_t index,
                   ibv_gid_entry& entry) {
    entry = {};
    if (!read_gid(context, port, static_cast<int>(index), entry.gid)) {
        return EINVAL;
    }
    if (std::ranges::all_of(entry.gid.raw, [](std::uint8_t byte) { return byte == 0; })) {
        return ENODATA;
    }
    entry.gid_index = index;
    entry.port_num = port;
    entry.gid_type = IBV_GID_TYPE_IB;
    if (is_ethernet(context)) {
        entry.gid_type = IBV_GID_TYPE_ROCE_V2;
        entry.ndev_ifindex = hca_of(context).net_interface;
    }
    return 0;
}

}  // namespace

void set_query_ops(verbs_context& ops) {
    ops.query_device_ex = query_device_ex;
    ops.query_port = query_port_sized;
    ops.query_rt_values = query_rt_values;
    ops.context.ops._compat_query_device = compat_query_device;
    ops.context.ops._compat_query_port = compat_query_port;
}

}  // namespace softib::abi

using namespace softib;
using namespace softib::abi;

extern "C" {

int softib_ibv_query_device(ibv_context* context, ibv_device_attr* attr) noexcept {
    fill_device(context, *attr);
    return 0;
}

int softib_ibv_query_port(ibv_context* context, std::uint8_t port,
                          _compat_ibv_port_attr* attr) noexcept {
    PortAttrSpace space;
    const int error = fill_port(context, port, space);
    if (error == 0) {
        std::memcpy(attr, &space, kPortAttrCompatBytes);
    }
    return error;
}

int softib_ibv_query_gid(ibv_context* context, std::uint8_t port, int index,
                         ibv_gid* gid) noexcept {
    if (!read_gid(context, port, index, *gid)) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}

int softib__ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                             ibv_gid_entry* entry, std::uint32_t flags,
                             std::size_t entry_size) noexcept {
    ibv_gid_entry full;
    const int error = flags != 0 ? EINVAL : read_gid_entry(context, port, index, full);
    if (error == 0) {
        std::memcpy(entry, &full, std::min(entry_size, sizeof full));
    }
    return answer(error);
}

ssize_t softib__ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries,
                                    std::size_t max_entries, std::uint32_t flags,
                                    std::size_t entry_size) noexcept {
    if (flags != 0) {
        return -EOPNOTSUPP;
    }
    if (max_entries == 0) {
        return -EINVAL;
    }
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < shm::kGidsPerPort && count < max_entries; ++i) {
        ibv_gid_entry entry;
        if (read_gid_entry(context, 1, i, entry) == 0) {
            std::memcpy(reinterpret_cast<char*>(entries) + count * entry_size, &entry,
                        std::min(entry_size, sizeof entry));
            ++count;
        }
    }
    return static_cast<ssize_t>(count);
}

int softib_ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned int index,
                              std::uint32_t* type) noexcept {
    ibv_gid gid;
    if (!read_gid(context, port, static_cast<int>(index), gid)) {
        errno = EINVAL;
        return -1;
    }
    *type = is_ethernet(context) ? kGidTypeSysfsRoceV2 : kGidTypeSysfsIbRoceV1;
    return 0;
}

int softib_ibv_query_pkey(ibv_context* context, std::uint8_t port, int index,
                          __be16* pkey) noexcept {
    if (port != 1 || index < 0 || index >= static_cast<int>(shm::kPKeysPerPort)) {
        errno = EINVAL;
        return -1;
    }
    *pkey = __builtin_bswap16(hca_of(context).pkeys[index].load());
    return 0;
}

int softib_ibv_get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey) noexcept {
    for (int i = 0; i < static_cast<int>(shm::kPKeysPerPort); ++i) {
        __be16 at = 0;
        if (softib_ibv_query_pkey(context, port, i, &at) != 0) {
            return -1;
        }
        if (at == pkey) {
            return i;
        }
    }
    errno = EINVAL;
    return -1;
}

int softib_ibv_query_port_speed(ibv_context* context, std::uint32_t port,
                                std::uint64_t* speed) noexcept {
    if (port != 1) {
        return answer(EINVAL);
    }
    // The unit is 100 Mb/s, as in the kernel.
    *speed =
        std::uint64_t{
            topo::link_speed(static_cast<topo::Generation>(hca_of(context).generation)).gbps} *
        10;
    return 0;
}

}  // extern "C"
