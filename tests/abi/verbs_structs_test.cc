// SPDX-License-Identifier: BSD-2-Clause
//
// The sizes on which programs of every release from v28 to v64 agree. If the distribution's header
// disagrees, the build must fail.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "abi/verbs/abi64.h"

namespace softib::abi {
namespace {

static_assert(sizeof(ibv_context) == 328);
static_assert(sizeof(ibv_device) == 664);
static_assert(sizeof(ibv_device_attr) == 232);
static_assert(sizeof(ibv_device_attr_ex) == 400);
static_assert(sizeof(ibv_pd) == 16);
static_assert(sizeof(ibv_mr) == 48);
static_assert(sizeof(ibv_mw) == 32);
static_assert(sizeof(ibv_dm) == 32);
static_assert(sizeof(ibv_ah) == 24);
static_assert(sizeof(ibv_cq) == 128);
static_assert(sizeof(ibv_cq_ex) == 288);
static_assert(sizeof(ibv_qp) == 160);
static_assert(sizeof(ibv_srq) == 128);
static_assert(sizeof(ibv_wq) == 152);
static_assert(sizeof(ibv_xrcd) == 8);
static_assert(sizeof(ibv_td) == 8);
static_assert(sizeof(ibv_comp_channel) == 16);
static_assert(sizeof(ibv_async_event) == 16);

static_assert(sizeof(ibv_wc) == 48);
static_assert(sizeof(ibv_sge) == 16);
static_assert(sizeof(ibv_send_wr) == 128);
static_assert(sizeof(ibv_recv_wr) == 32);
static_assert(sizeof(ibv_grh) == 40);

static_assert(sizeof(ibv_qp_attr) == 144);
static_assert(sizeof(ibv_qp_init_attr) == 64);
static_assert(sizeof(ibv_qp_init_attr_ex) == 136);
static_assert(sizeof(ibv_qp_open_attr) == 32);
static_assert(sizeof(ibv_srq_init_attr) == 24);
static_assert(sizeof(ibv_srq_init_attr_ex) == 64);
static_assert(sizeof(ibv_cq_init_attr_ex) == 56);
static_assert(sizeof(ibv_wq_init_attr) == 48);
static_assert(sizeof(ibv_xrcd_init_attr) == 12);
static_assert(sizeof(ibv_parent_domain_init_attr) == 48);
static_assert(sizeof(ibv_alloc_dm_attr) == 16);
static_assert(sizeof(ibv_ah_attr) == 32);
static_assert(sizeof(ibv_global_route) == 24);
static_assert(sizeof(ibv_gid_entry) == 32);
static_assert(sizeof(ibv_ece) == 12);
static_assert(sizeof(ibv_modify_cq_attr) == 8);
static_assert(sizeof(ibv_values_ex) == 24);

static_assert(kVerbsContextBytes == 696);
static_assert(offsetof(ibv_qp_ex, qp_base) == 0 && offsetof(ibv_qp_ex, wr_start) == 320);
static_assert(offsetof(ibv_cq_ex, comp_mask) == sizeof(ibv_cq));
static_assert(offsetof(ibv_context, ops) == 8);

TEST(VerbsAbi, FieldsNewerThanTheHeaderAreReachedByOffset) {
    QpExSpace qp{};
    const WrFlush flush = [](ibv_qp_ex*, std::uint32_t, std::uint64_t, std::size_t, std::uint8_t,
                             std::uint8_t) {};
    store_at(&qp, kQpExWrFlush, flush);
    EXPECT_EQ(load_at<WrFlush>(&qp, kQpExWrFlush), flush);
    EXPECT_EQ(qp.qp_ex.wr_atomic_write, nullptr);

    PortAttrSpace port{};
    store_at(&port, kPortAttrActiveSpeedEx, kSpeedXdr);
    EXPECT_EQ(load_at<std::uint32_t>(&port, kPortAttrActiveSpeedEx), 256U);
    EXPECT_EQ(port.attr.port_cap_flags2, 0);
}

TEST(VerbsAbi, ContextOperationsGrowDownwards) {
    alignas(16) std::array<std::byte, kVerbsContextBytes> space{};
    auto* context = reinterpret_cast<ibv_context*>(space.data() + kVerbsContextPrefixBytes);
    context->abi_compat = __VERBS_ABI_IS_EXTENDED;
    store_at(context, kContextSz, kVerbsContextBytes);

    verbs_context* extended = verbs_get_ctx(context);
    ASSERT_NE(extended, nullptr);
    EXPECT_EQ(extended->sz, kVerbsContextBytes);
    EXPECT_EQ(&extended->context, context);
}

}  // namespace
}  // namespace softib::abi
