// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/sysfs/sysfs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "runtime/shm/test_arena.h"

namespace softib::daemon {
namespace {

namespace fs = std::filesystem;

struct ScratchDir {
    std::string path = (fs::temp_directory_path() / "softib-sysfs-XXXXXX").string();
    ScratchDir() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
    ~ScratchDir() { fs::remove_all(path); }
};

std::string slurp(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string read_or_errno(const shm::Arena& arena, const char* host, const std::string& path) {
    const auto content = sysfs_read(arena, host, path);
    return content ? *content : "errno " + std::to_string(content.error());
}

TEST(SysfsRead, SaysWhatLinuxSays) {
    const shm::TestArena fabric;
    const auto h1 = [&fabric](const std::string& path) {
        return read_or_errno(fabric.arena, "h1", "/sys/class/infiniband/mlx5_0/" + path);
    };
    EXPECT_EQ(h1("node_type"), "1: CA\n");
    EXPECT_EQ(h1("node_guid"), "0200:0000:0000:0012\n");
    EXPECT_EQ(h1("node_desc"), "h1 mlx5_0\n");
    EXPECT_EQ(h1("ports/1/state"), "4: ACTIVE\n");
    EXPECT_EQ(h1("ports/1/phys_state"), "5: LinkUp\n");
    EXPECT_EQ(h1("ports/1/rate"), "400 Gb/sec (4X NDR)\n");
    EXPECT_EQ(h1("ports/1/lid"), "0x3\n");
    EXPECT_EQ(h1("ports/1/gids/0"), "fe80:0000:0000:0000:0200:0000:0000:0012\n");
    EXPECT_EQ(h1("ports/1/gids/7"), "0000:0000:0000:0000:0000:0000:0000:0000\n");
    EXPECT_EQ(h1("ports/1/pkeys/0"), "0xffff\n");
    EXPECT_EQ(h1("ports/1/pkeys/31"), "0x0000\n");
    EXPECT_EQ(h1("ports/1/gid_attrs/types/0"), "IB/RoCE v1\n");
    EXPECT_EQ(h1("device/vendor"), "0xf1b0\n");
    EXPECT_EQ(h1("device/infiniband/mlx5_0/ports/1/link_layer"), "InfiniBand\n");
}

TEST(SysfsRead, AttributesOfGidsThatHaveNoneAreEINVAL) {
    const shm::TestArena fabric;
    const std::string refused = "errno " + std::to_string(EINVAL);
    const std::string attributes = "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/";
    EXPECT_EQ(read_or_errno(fabric.arena, "h1", attributes + "types/1"), refused);
    EXPECT_EQ(read_or_errno(fabric.arena, "h1", attributes + "ndevs/0"), refused);
    EXPECT_EQ(read_or_errno(fabric.arena, "h1", attributes + "ndevs/7"), refused);
    EXPECT_EQ(read_or_errno(fabric.arena, "h1", attributes + "ndevs/8"),
              "errno " + std::to_string(ENOENT));
    fabric.arena.header->link_layer = hca::LinkLayer::kEthernet;
    shm::HcaRecord& hca = fabric.arena.hcas[fabric.arena.hosts[1].hca_first];
    hca.ip_gid.bytes[15] = 1;
    std::strcpy(hca.net_name, "eth7");
    EXPECT_EQ(read_or_errno(fabric.arena, "h1", attributes + "types/0"), "RoCE v2\n");
    EXPECT_EQ(read_or_errno(fabric.arena, "h1", attributes + "ndevs/0"), "eth7\n");
    EXPECT_EQ(read_or_errno(fabric.arena, "h1", attributes + "ndevs/1"), refused);
}

TEST(SysfsRead, ContentIsLive) {
    const shm::TestArena fabric;
    const std::string port = "/sys/devices/pcif1b0:00/f1b0:02:00.0/infiniband/mlx5_1/ports/1/";
    EXPECT_EQ(read_or_errno(fabric.arena, "h0", port + "counters/port_xmit_data"), "0\n");
    fabric.arena.hcas[1].totals.xmit_words = 42;
    fabric.arena.hcas[1].state = PortState::kDown;
    EXPECT_EQ(read_or_errno(fabric.arena, "h0", port + "counters/port_xmit_data"), "42\n");
    EXPECT_EQ(read_or_errno(fabric.arena, "h0", port + "state"), "1: DOWN\n");
    EXPECT_EQ(read_or_errno(fabric.arena, "h0", port + "phys_state"), "2: Polling\n");
    EXPECT_EQ(read_or_errno(fabric.arena, "h0", port + "rate"), "10 Gb/sec (4X SDR)\n");
}

TEST(SysfsRead, SeveralHostsAreEnumeratedAcross) {
    const shm::TestArena fabric;
    EXPECT_EQ(read_or_errno(fabric.arena, "h1,h0", "/sys/class/infiniband/mlx5_2/ports/1/lid"),
              "0x1\n");
    EXPECT_EQ(read_or_errno(fabric.arena, "h1,h0", "/sys/class/infiniband_verbs/uverbs3/ibdev"),
              "mlx5_3\n");
}

TEST(SysfsRead, AnythingElseIsENOENT) {
    const shm::TestArena fabric;
    const std::string missing = "errno " + std::to_string(ENOENT);
    for (const char* path :
         {"", "/", "/sys", "/sys/class/infiniband", "/sys/class/infiniband/mlx5_0",
          "/sys/class/infiniband/mlx5_2/node_type", "/sys/class/infiniband/mlx5_0/ports/2/lid",
          "/sys/class/infiniband/mlx5_0/ports/1/gids/8", "/sys/class/infiniband/mlx5_0/device",
          "/sys/devices/pcif1b0:00/f1b0:09:00.0/vendor", "/sys/class/net/lo/address", "/etc/passwd",
          "/sys/class/infiniband/mlx5_0/../../../../etc/passwd"}) {
        EXPECT_EQ(read_or_errno(fabric.arena, "h0", path), missing) << path;
    }
    EXPECT_EQ(read_or_errno(fabric.arena, "nohost", "/sys/class/infiniband/mlx5_0/node_type"),
              missing);
}

TEST(SysfsMaterialize, EveryFileOnDiskIsReadableLive) {
    const shm::TestArena fabric;
    const ScratchDir dir;
    ASSERT_TRUE(sysfs_materialize(fabric.arena, "h0", dir.path));
    std::size_t files = 0;
    for (const auto& item : fs::recursive_directory_iterator(dir.path + "/sys")) {
        if (item.is_regular_file() && !item.is_symlink()) {
            ++files;
            const std::string path = item.path().string().substr(dir.path.size());
            const std::string content = slurp(item.path());
            EXPECT_EQ(read_or_errno(fabric.arena, "h0", path),
                      content.empty() ? "errno " + std::to_string(EINVAL) : content)
                << path;
        }
        EXPECT_TRUE(fs::exists(item.path())) << "dangling: " << item.path();
    }
    EXPECT_GT(files, 200U);
    EXPECT_EQ(fs::canonical(dir.path + "/sys/class/infiniband/mlx5_1/device").string(),
              fs::canonical(dir.path).string() + "/sys/devices/pcif1b0:00/f1b0:02:00.0");
    EXPECT_EQ(fs::read_symlink(dir.path + "/sys/class/infiniband/mlx5_1/device/driver").filename(),
              "mlx5_core");
}

TEST(SysfsMaterialize, DeviceNodesAreCharacterDevices) {
    const shm::TestArena fabric;
    const ScratchDir dir;
    ASSERT_TRUE(sysfs_materialize(fabric.arena, "h0", dir.path));
    struct stat st{};
    for (const char* node : {"uverbs0", "uverbs1", "umad0", "issm1"}) {
        const std::string path = dir.path + "/dev/infiniband/" + node;
        ASSERT_EQ(stat(path.c_str(), &st), 0) << node;
        EXPECT_TRUE(S_ISCHR(st.st_mode)) << node;
        EXPECT_EQ(access(path.c_str(), R_OK | W_OK), 0) << node;
    }
    EXPECT_FALSE(fs::exists(dir.path + "/dev/infiniband/rdma_cm"));
}

TEST(SysfsMaterialize, AgainRefreshesAndPrunes) {
    const shm::TestArena fabric;
    const ScratchDir dir;
    ASSERT_TRUE(sysfs_materialize(fabric.arena, "h0,h1", dir.path));
    ASSERT_TRUE(fs::exists(dir.path + "/sys/class/infiniband/mlx5_3/node_type"));
    fabric.arena.hcas[0].lid = 77;
    ASSERT_TRUE(sysfs_materialize(fabric.arena, "h0", dir.path));
    EXPECT_EQ(slurp(dir.path + "/sys/class/infiniband/mlx5_0/ports/1/lid"), "0x4d\n");
    EXPECT_FALSE(fs::exists(dir.path + "/sys/class/infiniband/mlx5_2"));
    EXPECT_FALSE(fs::exists(dir.path + "/sys/devices/pcif1b0:00/f1b0:03:00.0"));
    EXPECT_FALSE(fs::is_symlink(dir.path + "/dev/infiniband/uverbs2"));
}

TEST(SysfsMaterialize, ConcurrentWritersOfOneRootAllSucceed) {
    const shm::TestArena fabric;
    const ScratchDir dir;
    std::vector<std::thread> writers;
    for (int i = 0; i < 4; ++i) {
        writers.emplace_back([&fabric, &dir] {
            for (int round = 0; round < 5; ++round) {
                const auto done = sysfs_materialize(fabric.arena, "h0", dir.path);
                EXPECT_TRUE(done) << done.error();
                EXPECT_EQ(slurp(dir.path + "/sys/class/infiniband/mlx5_1/ports/1/lid"), "0x2\n");
            }
        });
    }
    for (std::thread& writer : writers) {
        writer.join();
    }
}

TEST(SysfsMaterialize, ErrorNamesTheFile) {
    const shm::TestArena fabric;
    const auto done = sysfs_materialize(fabric.arena, "h0", "/dev/null/x");
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().find("/dev/null/x"), std::string::npos);
    EXPECT_FALSE(sysfs_materialize(fabric.arena, "nohost", "/tmp"));
}

}  // namespace
}  // namespace softib::daemon
