// SPDX-License-Identifier: BSD-2-Clause
// The header of a user MAD buffer: destination or source, and status.
#include <endian.h>
#include <infiniband/umad.h>

#include <cstdio>

#include "core/wire/mad/mad.h"

namespace {

ib_user_mad& mad_at(void* umad) {
    return *static_cast<ib_user_mad*>(umad);
}

int g_debug_level = 0;

}  // namespace

static_assert(sizeof(ib_user_mad) == 64);

extern "C" {

void* umad_get_mad(void* umad) {
    return mad_at(umad).data;
}

size_t umad_size(void) {
    return sizeof(ib_user_mad);
}

int umad_status(void* umad) {
    return static_cast<int>(mad_at(umad).status);
}

ib_mad_addr_t* umad_get_mad_addr(void* umad) {
    return &mad_at(umad).addr;
}

/// Sets the GRH by an address whose flow label is in host order.
int umad_set_grh(void* umad, void* mad_addr) {
    ib_mad_addr_t& to = mad_at(umad).addr;
    if (mad_addr == nullptr) {
        to.grh_present = 0;
        return 0;
    }
    const ib_mad_addr_t& from = *static_cast<const ib_mad_addr_t*>(mad_addr);
    to.grh_present = 1;
    to.ib_gid = from.ib_gid;
    to.flow_label = htobe32(from.flow_label);
    to.hop_limit = from.hop_limit;
    to.traffic_class = from.traffic_class;
    return 0;
}

int umad_set_addr_net(void* umad, __be16 dlid, __be32 dqp, int sl, __be32 qkey) {
    ib_mad_addr_t& to = mad_at(umad).addr;
    to.lid = dlid;
    to.qpn = dqp;
    to.sl = static_cast<std::uint8_t>(sl);
    to.qkey = qkey;
    return 0;
}

int umad_set_addr(void* umad, int dlid, int dqp, int sl, int qkey) {
    return umad_set_addr_net(umad, htobe16(static_cast<std::uint16_t>(dlid)),
                             htobe32(static_cast<std::uint32_t>(dqp)), sl,
                             htobe32(static_cast<std::uint32_t>(qkey)));
}

int umad_set_pkey(void* umad, int pkey_index) {
    mad_at(umad).addr.pkey_index = static_cast<std::uint16_t>(pkey_index);
    return 0;
}

int umad_get_pkey(void* umad) {
    return mad_at(umad).addr.pkey_index;
}

int umad_debug(int level) {
    if (level >= 0) {
        g_debug_level = level;
    }
    return g_debug_level;
}

void umad_addr_dump(ib_mad_addr_t* addr) {
    std::fprintf(stderr, "umad address: lid %u qpn %#x qkey %#x sl %u pkey_index %u",
                 be16toh(addr->lid), be32toh(addr->qpn), be32toh(addr->qkey), addr->sl,
                 addr->pkey_index);
    if (addr->grh_present != 0) {
        std::fprintf(stderr, " gid_index %u hop_limit %u tclass %u flow_label %#x gid ",
                     addr->gid_index, addr->hop_limit, addr->traffic_class,
                     be32toh(addr->flow_label));
        for (const std::uint8_t byte : addr->gid) {
            std::fprintf(stderr, "%02x", byte);
        }
    }
    std::fputc('\n', stderr);
}

void umad_dump(void* umad) {
    ib_user_mad& mad = mad_at(umad);
    std::fprintf(stderr, "umad: agent %u status %u timeout_ms %u retries %u length %u\n",
                 mad.agent_id, mad.status, mad.timeout_ms, mad.retries, mad.length);
    umad_addr_dump(&mad.addr);
}

}  // extern "C"
