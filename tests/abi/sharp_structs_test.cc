// SPDX-License-Identifier: BSD-2-Clause
// Sizes and offsets of libsharp_coll's structures: programs were compiled with these numbers.
#include <gtest/gtest.h>
#include <sharp/api/sharp.h>

#include <cstddef>

namespace {

static_assert(sizeof(sharp_coll_config) == 32 && offsetof(sharp_coll_config, coll_timeout) == 12 &&
              offsetof(sharp_coll_config, flags) == 16);
static_assert(sizeof(sharp_coll_out_of_band_colls) == 24 &&
              offsetof(sharp_coll_out_of_band_colls, gather) == 16);
static_assert(sizeof(sharp_coll_init_spec) == 120 &&
              offsetof(sharp_coll_init_spec, progress_func) == 16 &&
              offsetof(sharp_coll_init_spec, config) == 32 &&
              offsetof(sharp_coll_init_spec, oob_colls) == 64 &&
              offsetof(sharp_coll_init_spec, world_local_rank) == 88 &&
              offsetof(sharp_coll_init_spec, oob_ctx) == 96);
static_assert(sizeof(sharp_coll_comm_init_spec) == 32 &&
              offsetof(sharp_coll_comm_init_spec, group_world_ranks) == 16);
static_assert(sizeof(sharp_coll_caps) == 112 && offsetof(sharp_coll_caps, support_mask) == 24 &&
              offsetof(sharp_coll_caps, resources) == 88);
static_assert(sizeof(sharp_coll_data_desc) == 40 && offsetof(sharp_coll_data_desc, buffer) == 16 &&
              sizeof(sharp_data_iov) == 24);
static_assert(sizeof(sharp_coll_reduce_spec) == 136 &&
              offsetof(sharp_coll_reduce_spec, sbuf_desc) == 8 &&
              offsetof(sharp_coll_reduce_spec, rbuf_desc) == 48 &&
              offsetof(sharp_coll_reduce_spec, dtype) == 88 &&
              offsetof(sharp_coll_reduce_spec, length) == 96 &&
              offsetof(sharp_coll_reduce_spec, op) == 104 &&
              offsetof(sharp_coll_reduce_spec, aggr_mode) == 112 &&
              offsetof(sharp_coll_reduce_spec, offset) == 120);
static_assert(sizeof(sharp_coll_bcast_spec) == 72 && offsetof(sharp_coll_bcast_spec, size) == 48);
static_assert(sizeof(sharp_coll_gather_spec) == 120 &&
              offsetof(sharp_coll_gather_spec, dtype) == 80 &&
              offsetof(sharp_coll_gather_spec, offset) == 96);
static_assert(sizeof(sharp_coll_reg_params) == 24 &&
              offsetof(sharp_coll_reg_params, dmabuf_offset) == 16);
static_assert(SHARP_DTYPE_BFLOAT16 == 9 && SHARP_DTYPE_INT8 == 11 && SHARP_OP_MINLOC == 11);
static_assert(SHARP_COLL_ELOCK_FAILED == -18 && SHARP_COLL_ENO_RESOURCE == -20);

TEST(SharpAbi, EveryErrorHasAText) {
    for (int error = 0; error >= -20; --error) {
        EXPECT_STRNE(sharp_coll_strerror(error), "Unknown error") << error;
    }
    EXPECT_STREQ(sharp_coll_strerror(-11), "Cannot create SHARP job");
    EXPECT_STREQ(sharp_coll_strerror(-21), "Unknown error");
}

TEST(SharpAbi, WithoutAFabricThereIsNoSession) {
    unsetenv("SOFTIB_DIR");
    sharp_coll_init_spec spec{};
    spec.world_size = 1;
    spec.config = sharp_coll_default_config;
    spec.config.flags = SHARP_COLL_HIDE_ERRORS;
    sharp_coll_context* context = nullptr;
    EXPECT_EQ(sharp_coll_init(&spec, &context), SHARP_COLL_ESESS_INIT);
    EXPECT_EQ(context, nullptr);
}

TEST(SharpAbi, NullArgumentsAreRefusedAndNeverComplete) {
    void* handle = nullptr;
    EXPECT_EQ(sharp_coll_init(nullptr, nullptr), SHARP_COLL_EINVAL);
    EXPECT_EQ(sharp_coll_finalize(nullptr), SHARP_COLL_EINVAL);
    EXPECT_EQ(sharp_coll_do_barrier(nullptr), SHARP_COLL_EINVAL);
    EXPECT_EQ(sharp_coll_do_allreduce_nb(nullptr, nullptr, &handle), SHARP_COLL_EINVAL);
    EXPECT_EQ(handle, nullptr);
    EXPECT_EQ(sharp_coll_req_test(nullptr), 0);
    EXPECT_EQ(sharp_coll_req_wait(nullptr), SHARP_COLL_EINVAL);
    EXPECT_EQ(sharp_coll_progress(nullptr), SHARP_COLL_EINVAL);
}

}  // namespace
