// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/store/history.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>

#include "telemetry/test_fabric.h"

namespace softib::telemetry {
namespace {

TEST(Columns, NumbersKeepTheirFirstDigits) {
    for (const float value : {1.0F, 3.14159F, 4e9F, 123456.0F, 1e-3F}) {
        EXPECT_NEAR(unpack(pack(value)) / value, 1.0, 0.003) << value;
    }
    EXPECT_EQ(pack(0), 0);
    EXPECT_EQ(pack(-1), 0);
    EXPECT_EQ(pack(std::numeric_limits<float>::quiet_NaN()), 0);
}

TEST(Columns, ChunksOfFewAndOfManyPortsReadBack) {
    for (const std::uint32_t every : {1U, 7U, 500U}) {
        std::vector<Range> ports(kChunkPorts);
        for (std::uint32_t i = 0; i < ports.size(); i += every) {
            ports[i] = {2, 1, 4};
        }
        const std::string row = encode_chunk(ports, true);
        std::vector<Range> back(kChunkPorts);
        ASSERT_TRUE(decode_chunk(row, back));
        EXPECT_EQ(back, ports);
        EXPECT_EQ(decode_port(row, every), ports[every]);
    }
    EXPECT_TRUE(encode_chunk(std::vector<Range>(5), false).empty());
}

TEST(Columns, BytesThatAreNoRowAreRefused) {
    std::vector<Range> ports(4);
    for (const std::string_view row : {"\x02\x01", "\x01\x02", "\x01", "\x01\x01\x05"}) {
        EXPECT_FALSE(decode_chunk(row, ports));
        EXPECT_FALSE(decode_port(row, 0));
    }
}

class HistoryTest : public testing::Test {
  protected:
    HistoryTest()
        : path_(testing::TempDir() + "softib-history-" + std::to_string(getpid()) + ".db") {
        remove_files();
    }
    ~HistoryTest() override { remove_files(); }
    void remove_files() const {
        for (const char* const end : {"", "-wal", "-shm"}) {
            std::filesystem::remove(path_ + end);
        }
    }
    History open(std::uint64_t bytes = kHistoryBytesDefault) const {
        auto history = History::open(path_, bytes);
        EXPECT_TRUE(history) << history.error();
        return std::move(*history);
    }
    /// Adds a second in which each port sends `words`.
    bool add(History& history, std::uint64_t second, std::uint64_t words) {
        Snapshot now = test_snapshot(last_.number + 1, second, inventory_);
        now.sample.counts = last_.number == 0 ? now.sample.counts : last_.sample.counts;
        for (PortCounts& counts : now.sample.counts) {
            counts.xmit_words += words;
        }
        const bool written = history.add(last_, now);
        last_ = std::move(now);
        return written;
    }
    std::vector<HistoryReader::Point> points(std::size_t ring, std::uint32_t port = 0) const {
        auto reader = HistoryReader::open(path_);
        EXPECT_TRUE(reader);
        return reader->read(inventory_->node_of(port).guid, inventory_->ports[port].number,
                            *find_column("xmit_words"), ring, 0, kBegin + 100'000'000);
    }
    std::size_t seen(std::size_t ring) const {
        return HistoryReader::open(path_)->slots_seen(ring, 0, kBegin + 100'000'000).size();
    }

    static constexpr std::int64_t kBegin = 1'700'000'000;  // A multiple of ten.
    std::string path_;
    std::shared_ptr<const Inventory> inventory_ =
        std::make_shared<const Inventory>(test_inventory());
    Snapshot last_;
};

TEST_F(HistoryTest, ASecondIsReadBack) {
    History history = open();
    add(history, 0, 0);
    ASSERT_TRUE(add(history, 1, 1000));
    const auto found = points(0, 3);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].time_s, kBegin + 1);
    EXPECT_NEAR(found[0].value.mean, 1000, 3);
}

TEST_F(HistoryTest, TwoSamplesOfOneSecondLoseNothing) {
    History history = open();
    // A sampler whose second begins just before the clock's: 0.9995, 2.0005, 2.9995, 4.0005.
    std::uint64_t number = 0;
    for (const std::uint64_t time_us : {999'500U, 2'000'500U, 2'999'500U, 4'000'500U}) {
        auto now =
            std::make_shared<Snapshot>(test_snapshot(number, time_us / 1'000'000, inventory_));
        now->number = number + 1;
        now->sample.time_ns = (time_us + 1) * 1'000;
        now->sample.counts[0].xmit_words = 1000 * number;
        ASSERT_TRUE(history.follow(std::move(now)));
        ++number;
    }
    const auto found = points(0);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].time_s, kBegin + 2);
    EXPECT_EQ(found[1].time_s, kBegin + 4);
    EXPECT_NEAR(found[0].value.mean, 1000 / 1.001, 3);
    EXPECT_NEAR(found[1].value.mean, 2000 / 2.0, 3) << "words of both seconds";
}

TEST_F(HistoryTest, CoarseSlotsKeepMinimumAndMaximum) {
    History history = open();
    add(history, 9, 0);
    for (std::uint64_t second = 10; second < 20; ++second) {
        add(history, second, second == 15 ? 4096 : second == 16 ? 0 : 1024);
    }
    add(history, 20, 0);
    const auto found = points(1);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.back().time_s, kBegin + 10);
    EXPECT_NEAR(found.back().value.mean, (8 * 1024 + 4096) / 10.0, 5);
    EXPECT_FLOAT_EQ(found.back().value.min, 0);
    EXPECT_FLOAT_EQ(found.back().value.max, 4096);
}

TEST_F(HistoryTest, AProcessThatIsKilledLosesTheGapAlone) {
    {
        History history = open();
        add(history, 9, 0);
        for (std::uint64_t second = 10; second <= 14; ++second) {
            add(history, second, 1024);
        }
    }
    last_ = {};
    {
        History history = open();
        add(history, 16, 0);
        for (std::uint64_t second = 17; second <= 20; ++second) {
            add(history, second, 1024);
        }
    }
    EXPECT_EQ(points(0).size(), 9U);  // The points of 10 to 14 and of 17 to 20.
    const auto coarse = points(1);
    ASSERT_EQ(coarse.size(), 1U);
    EXPECT_NEAR(coarse[0].value.mean, 1024, 3);  // Both processes' seconds are in it.
    EXPECT_FLOAT_EQ(coarse[0].value.min, 1024);
}

TEST_F(HistoryTest, IdleSecondsWereSeen) {
    History history = open();
    for (std::uint64_t second = 0; second <= 5; ++second) {
        add(history, second, 0);
    }
    EXPECT_EQ(seen(0), 5U);
    for (const auto& point : points(0)) {
        EXPECT_FLOAT_EQ(point.value.mean, 0);
    }
}

TEST_F(HistoryTest, ARingForgetsItsOldestSlots) {
    History history = open();
    for (std::uint64_t second = 0; second < 700; ++second) {
        ASSERT_TRUE(add(history, second, 1));
    }
    EXPECT_LE(seen(0), kRings[0].slots + 12);
    EXPECT_GE(seen(0), kRings[0].slots - 12);
    EXPECT_GE(seen(1), 60U);
}

TEST_F(HistoryTest, TheFileStaysBelowItsBound) {
    Inventory many = test_inventory();
    while (many.ports.size() < 2000) {
        many.ports.push_back(many.ports.back());
        many.ports.back().number = static_cast<std::uint8_t>(many.ports.size() % 250 + 3);
        many.nodes.push_back(many.nodes.back());
        many.nodes.back().guid = Guid{0x1000 + many.ports.size()};
        many.ports.back().node = static_cast<std::uint32_t>(many.nodes.size() - 1);
    }
    inventory_ = std::make_shared<const Inventory>(many);
    History history = open(kHistoryBytesMin);
    for (std::uint64_t second = 0; second < 900; ++second) {
        ASSERT_TRUE(add(history, second, 1000 + second)) << history.error();
    }
    EXPECT_LT(history.bytes_used(), kHistoryBytesMin * 3 / 2);
    EXPECT_GT(seen(0), 10U);
}

TEST_F(HistoryTest, AClockThatIsSetBackOverwritesTheStretchThatComesAgain) {
    History history = open();
    for (std::uint64_t second = 100; second <= 110; ++second) {
        add(history, second, 10);
    }
    Snapshot back = test_snapshot(last_.number + 1, 111, inventory_);
    back.sample.counts = last_.sample.counts;
    back.sample.counts[0].xmit_words += 500;
    back.sample.wall_us -= 6'000'000;
    ASSERT_TRUE(history.add(last_, back));
    const auto found = points(0);
    EXPECT_EQ(found.size(), 10U);
    EXPECT_NEAR(found[4].value.mean, 500, 2);
}

TEST_F(HistoryTest, AFullDiskLosesWhatCouldNotBeWrittenAndGoesOn) {
    History history = open();
    add(history, 0, 0);
    ASSERT_TRUE(add(history, 1, 10));
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto old = signal(SIGXFSZ, SIG_IGN);
    const rlimit none{1, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);  // No file can grow now.
    const bool written = add(history, 2, 10);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, old);
    EXPECT_FALSE(written);
    EXPECT_FALSE(history.error().empty());
    EXPECT_TRUE(add(history, 3, 10));
    EXPECT_TRUE(history.error().empty());
    EXPECT_EQ(points(0).size(), 2U);
}

TEST_F(HistoryTest, EventsOutliveTheProcess) {
    EventBook book;
    book.raise({Severity::kMinor, "link_down", "link", "sw0:1", "gone", true}, 5);
    {
        History history = open();
        ASSERT_TRUE(history.save_events(book.changed_since(0)));
    }
    History history = open();
    const auto events = history.load_events();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, "link_down");
    EXPECT_EQ(events[0].severity, Severity::kMinor);
    EXPECT_TRUE(events[0].active);
}

TEST_F(HistoryTest, TheDatabaseOfAnotherProgramIsRefused) {
    {
        auto other = Database::open(path_, true);
        ASSERT_TRUE(other->execute("CREATE TABLE mine(x)"));
    }
    const auto history = History::open(path_, kHistoryBytesDefault);
    ASSERT_FALSE(history);
    EXPECT_NE(history.error().find("another program"), std::string::npos);
    EXPECT_FALSE(History::open("/proc/nowhere.db", kHistoryBytesDefault));
}

TEST_F(HistoryTest, AMomentHasAllPortsAsTheyWere) {
    History history = open();
    ASSERT_TRUE(add(history, 1, 0));
    ASSERT_TRUE(add(history, 2, 1000));
    Snapshot now = last_;
    ++now.number;
    now.sample.time_ns += 1'000'000'000;
    now.sample.wall_us += 1'000'000;
    now.sample.states[1] = PortState::kDown;
    ASSERT_TRUE(history.add(last_, now));
    auto reader = HistoryReader::open(path_);
    ASSERT_TRUE(reader);
    const std::int64_t second = last_.sample.wall_us / 1'000'000;
    const Snapshot busy = reader->moment(inventory_, second);
    EXPECT_NEAR(busy.rates[0].xmit_bytes, 4000, 20);
    EXPECT_EQ(busy.sample.states[1], PortState::kActive);
    const Snapshot down = reader->moment(inventory_, second + 1);
    EXPECT_EQ(down.rates[0].xmit_bytes, 0);
    EXPECT_EQ(down.sample.states[1], PortState::kDown);
    EXPECT_EQ(reader->moment(inventory_, second + 2).number, 0U) << "nobody looked";
}

}  // namespace
}  // namespace softib::telemetry
