// SPDX-License-Identifier: BSD-2-Clause
//
// The entry points that need no device.
#include <gtest/gtest.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "abi/verbs/entry.h"
#include "abi/verbs/stubs.h"

namespace {

TEST(VerbsStrings, FirstLastAndBeyond) {
    EXPECT_STREQ(softib_ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
    EXPECT_STREQ(softib_ibv_node_type_str(IBV_NODE_UNSPECIFIED), "unspecified");
    EXPECT_STREQ(softib_ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
    EXPECT_STREQ(softib_ibv_port_state_str(IBV_PORT_ACTIVE), "active");
    EXPECT_STREQ(softib_ibv_port_state_str(static_cast<ibv_port_state>(6)), "unknown");
    EXPECT_STREQ(softib_ibv_event_type_str(IBV_EVENT_QP_LAST_WQE_REACHED), "last WQE reached");
    EXPECT_STREQ(softib_ibv_event_type_str(static_cast<ibv_event_type>(20)),
                 "Device link speed change");
    EXPECT_STREQ(softib_ibv_event_type_str(static_cast<ibv_event_type>(21)), "unknown");
    EXPECT_STREQ(softib_ibv_wc_status_str(IBV_WC_SUCCESS), "success");
    EXPECT_STREQ(softib_ibv_wc_status_str(IBV_WC_WR_FLUSH_ERR), "Work Request Flushed Error");
    EXPECT_STREQ(softib_ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR),
                 "transport retry counter exceeded");
    EXPECT_STREQ(softib_ibv_wc_status_str(IBV_WC_TM_RNDV_INCOMPLETE), "TM software rendezvous");
    EXPECT_STREQ(softib_ibv_wr_opcode_str(IBV_WR_ATOMIC_WRITE), "atomic-write");
    EXPECT_STREQ(softib_ibv_wr_opcode_str(static_cast<ibv_wr_opcode>(12)), "unknown");
}

TEST(VerbsRates, EveryRateSurvivesTheRoundTrip) {
    int rates = 0;
    for (int value = 1; value < 64; ++value) {
        const auto rate = static_cast<ibv_rate>(value);
        if (const int mbps = softib_ibv_rate_to_mbps(rate); mbps != -1) {
            EXPECT_EQ(softib_mbps_to_ibv_rate(mbps), rate);
            ++rates;
        }
        if (const int multiple = softib_ibv_rate_to_mult(rate); multiple != -1) {
            EXPECT_EQ(softib_mult_to_ibv_rate(multiple), rate);
        }
    }
    EXPECT_EQ(rates, 24);
}

TEST(VerbsRates, UnknownRates) {
    EXPECT_EQ(softib_ibv_rate_to_mbps(IBV_RATE_MAX), -1);
    EXPECT_EQ(softib_ibv_rate_to_mult(IBV_RATE_14_GBPS), -1);
    EXPECT_EQ(softib_mult_to_ibv_rate(-1), IBV_RATE_MAX);
    EXPECT_EQ(softib_mult_to_ibv_rate(7), IBV_RATE_MAX);
    EXPECT_EQ(softib_mbps_to_ibv_rate(1), IBV_RATE_MAX);
}

TEST(VerbsFork, NothingToProtect) {
    EXPECT_EQ(softib_ibv_fork_init(), 0);
    EXPECT_EQ(softib_ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
    EXPECT_EQ(softib_ibv_dontfork_range(nullptr, 1), 0);
    EXPECT_EQ(softib_ibv_dofork_range(nullptr, 1), 0);
}

class VerbsSysfs : public testing::Test {
  protected:
    VerbsSysfs() {
        std::string name = testing::TempDir() + "softib-sysfs-XXXXXX";
        folder_ = mkdtemp(name.data());
    }
    ~VerbsSysfs() override { std::filesystem::remove_all(folder_); }

    void write(const char* name, const char* content) {
        std::ofstream{folder_ + "/" + name} << content;
    }
    int read(const char* name, std::size_t size) {
        buf_.fill('x');
        return softib_ibv_read_sysfs_file(folder_.c_str(), name, buf_.data(), size);
    }

    std::string folder_;
    std::array<char, 16> buf_{};
};

TEST_F(VerbsSysfs, DropsOneTrailingNewline) {
    write("state", "4: ACTIVE\n");
    EXPECT_EQ(read("state", buf_.size()), 9);
    EXPECT_STREQ(buf_.data(), "4: ACTIVE");
}

TEST_F(VerbsSysfs, ContentThatLeavesNoRoomForTheZeroIsAnError) {
    write("full", "12345678");
    EXPECT_EQ(read("full", 8), -1);
    EXPECT_EQ(read("full", 9), 8);
    EXPECT_STREQ(buf_.data(), "12345678");
    write("newline", "1234567\n");
    EXPECT_EQ(read("newline", 8), 7);
    EXPECT_STREQ(buf_.data(), "1234567");
}

TEST_F(VerbsSysfs, MissingAndEmptyFiles) {
    errno = 0;
    EXPECT_EQ(read("missing", buf_.size()), -1);
    EXPECT_EQ(errno, ENOENT);
    write("empty", "");
    EXPECT_EQ(read("empty", buf_.size()), 0);
}

TEST(VerbsSysfsPath, EnvironmentWinsWithoutTrailingSlashes) {
    // The path is fixed at its first use in a process; each test case runs in its own.
    ASSERT_EQ(setenv("SYSFS_PATH", "/tmp/fake//", 1), 0);
    EXPECT_STREQ(softib_ibv_get_sysfs_path(), "/tmp/fake");
    ASSERT_EQ(unsetenv("SYSFS_PATH"), 0);
    EXPECT_STREQ(softib_ibv_get_sysfs_path(), "/tmp/fake");
}

TEST(VerbsKernAttr, QpAttrKeepsTheCallersState) {
    ib_uverbs_qp_attr kern{};
    kern.qp_state = IBV_QPS_RTS;
    kern.cur_qp_state = IBV_QPS_RTR;
    kern.path_mtu = IBV_MTU_4096;
    kern.dest_qp_num = 0x123456;
    kern.max_inline_data = 64;
    kern.ah_attr.dlid = 7;
    kern.ah_attr.grh.dgid[15] = 9;
    kern.alt_ah_attr.port_num = 2;
    kern.alt_timeout = 14;
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    softib_ibv_copy_qp_attr_from_kern(&attr, &kern);
    EXPECT_EQ(attr.qp_state, IBV_QPS_INIT);
    EXPECT_EQ(attr.cur_qp_state, IBV_QPS_RTR);
    EXPECT_EQ(attr.path_mtu, IBV_MTU_4096);
    EXPECT_EQ(attr.dest_qp_num, 0x123456U);
    EXPECT_EQ(attr.cap.max_inline_data, 64U);
    EXPECT_EQ(attr.ah_attr.dlid, 7);
    EXPECT_EQ(attr.ah_attr.grh.dgid.raw[15], 9);
    EXPECT_EQ(attr.alt_ah_attr.port_num, 2);
    EXPECT_EQ(attr.alt_timeout, 14);
}

TEST(VerbsKernAttr, PathRecordRoundTrip) {
    ib_user_path_rec kern;
    auto* bytes = reinterpret_cast<unsigned char*>(&kern);
    for (std::size_t i = 0; i < sizeof(kern); ++i) {
        bytes[i] = static_cast<unsigned char>(i + 1);
    }
    kern.mtu = IBV_MTU_2048;  // 8 bits in the verbs structure
    ibv_sa_path_rec path{};
    softib_ibv_copy_path_rec_from_kern(&path, &kern);
    ib_user_path_rec back{};
    softib_ibv_copy_path_rec_to_kern(&back, &path);
    EXPECT_EQ(std::memcmp(&kern, &back, sizeof(kern)), 0);
}

TEST(VerbsResolveEth, GidsThatNameTheirMac) {
    struct Case {
        std::array<std::uint8_t, 16> gid;
        std::array<std::uint8_t, 6> mac;
    };
    const std::array cases{
        Case{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55},
             {0x00, 0x11, 0x22, 0x33, 0x44, 0x55}},
        Case{{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, {0x33, 0x33, 1, 2, 3, 4}},
        Case{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 129, 2, 3},
             {0x01, 0x00, 0x5e, 1, 2, 3}},
    };
    for (const Case& c : cases) {
        ibv_ah_attr attr{};
        std::memcpy(attr.grh.dgid.raw, c.gid.data(), c.gid.size());
        std::array<std::uint8_t, 6> mac{};
        std::uint16_t vid = 0;
        EXPECT_EQ(softib_ibv_resolve_eth_l2_from_gid(nullptr, &attr, mac.data(), &vid), 0);
        EXPECT_EQ(mac, c.mac);
        EXPECT_EQ(vid, 0xffff);
    }
}

TEST(VerbsResolveEth, UnicastIpv4IsUnreachable) {
    ibv_ah_attr attr{};
    attr.grh.dgid.raw[10] = 0xff;
    attr.grh.dgid.raw[11] = 0xff;
    attr.grh.dgid.raw[12] = 10;
    std::array<std::uint8_t, 6> mac{};
    EXPECT_EQ(softib_ibv_resolve_eth_l2_from_gid(nullptr, &attr, mac.data(), nullptr),
              -EHOSTUNREACH);
}

TEST(VerbsStubs, FailByTheirReturnType) {
    errno = 0;
    EXPECT_EQ(softib_stub_errno(), ENOSYS);
    EXPECT_EQ(errno, ENOSYS);
    EXPECT_EQ(softib_stub_null(), nullptr);
    EXPECT_EQ(softib_stub_minus1(), -1);
    EXPECT_EQ(softib_stub_zero(), 0U);
    softib_stub_void();
    EXPECT_EQ(softib_stub_argument(5), 5U);
}

}  // namespace
