// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/recording.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/prng.h"
#include "telemetry/collector.h"
#include "telemetry/test_fabric.h"

namespace softib::telemetry {
namespace {

constexpr std::uint64_t kStepNs = 1000;

class RecordingTest : public testing::Test {
  protected:
    RecordingTest() : path_(testing::TempDir() + "softib-recording-" + std::to_string(getpid())) {
        inventory_.virtual_step_ns = kStepNs;
        auto created = RecordingWriter::create(path_, inventory_);
        EXPECT_TRUE(created) << created.error();
        writer_.emplace(*std::move(created));
    }
    ~RecordingTest() override { std::filesystem::remove(path_); }
    void add(std::uint64_t step, std::uint64_t words, PortState state = PortState::kActive) {
        counts_[3].xmit_words = words;
        states_[2] = state;
        ASSERT_TRUE(writer_->add(step * kStepNs, counts_, states_));
    }

    std::string path_;
    Inventory inventory_ = test_inventory();
    std::vector<PortCounts> counts_ = std::vector<PortCounts>(4);
    std::vector<PortState> states_ = std::vector<PortState>(4, PortState::kActive);
    std::optional<RecordingWriter> writer_;
};

TEST_F(RecordingTest, ReadingsComeBackOneAfterTheOther) {
    add(1, 10);
    add(2, 30, PortState::kDown);
    RecordingSource source(path_);
    auto first = source.read();
    ASSERT_TRUE(first) << first.error();
    EXPECT_EQ(first->inventory->nodes, inventory_.nodes);
    EXPECT_EQ(first->inventory->ports, inventory_.ports);
    EXPECT_EQ(first->sample.counts[3].xmit_words, 10U);
    EXPECT_TRUE(source.has_more());
    auto second = source.read();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->sample.time_ns, 2 * kStepNs);
    EXPECT_EQ(second->sample.wall_us, first->sample.wall_us + 1'000'000);
    EXPECT_EQ(second->sample.states[2], PortState::kDown);
    EXPECT_EQ(source.read()->sample.time_ns, 2 * kStepNs);
    EXPECT_FALSE(source.has_more());
    add(3, 31);  // The simulation goes on.
    EXPECT_EQ(source.read()->sample.counts[3].xmit_words, 31U);
    ASSERT_TRUE(writer_->finish());
    EXPECT_EQ(source.read()->sample.counts[3].xmit_words, 31U);
}

TEST_F(RecordingTest, RatesAreThoseOfVirtualTime) {
    add(1, 0);
    add(2, 250);
    Collector collector(std::make_unique<RecordingSource>(path_), built_in_rules());
    collector.step();
    const auto snapshot = collector.step();
    EXPECT_FLOAT_EQ(snapshot->rates[3].xmit_bytes, 1e9F);  // 1,000 bytes in 1,000 ns.
    EXPECT_EQ(collector.step(), snapshot) << "nothing new is no second of silence";
}

TEST_F(RecordingTest, AFileThatEndsAnywhereIsReadSoFarAndNoFurther) {
    for (std::uint64_t i = 1; i <= 5; ++i) {
        add(i, i);
    }
    const auto size = std::filesystem::file_size(path_);
    std::uint64_t last = 0;
    for (std::uintmax_t cut = 0; cut <= size; ++cut) {
        const std::string copy = path_ + "-cut";
        std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(copy, cut);
        RecordingSource source(copy);
        std::uint64_t words = 0;
        do {
            const auto reading = source.read();
            words = reading ? reading->sample.counts[3].xmit_words : words;
        } while (source.has_more());
        EXPECT_GE(words, last);
        last = words;
        std::filesystem::remove(copy);
    }
    EXPECT_EQ(last, 5U);
}

TEST_F(RecordingTest, DamagedBytesAreRefusedOrReadButNeverTrusted) {
    for (std::uint64_t i = 1; i <= 3; ++i) {
        add(i, i * 1000);
    }
    std::ifstream in(path_, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    Prng prng(1);
    const std::string copy = path_ + "-damaged";
    for (int i = 0; i < 300; ++i) {
        std::string bytes = whole;
        bytes[prng.below(bytes.size())] = static_cast<char>(prng.next());
        std::ofstream(copy, std::ios::binary | std::ios::trunc) << bytes;
        RecordingSource source(copy);
        for (int n = 0; n < 10; ++n) {
            const auto reading = source.read();
            if (!reading) {
                break;
            }
            ASSERT_EQ(reading->sample.counts.size(), reading->inventory->ports.size());
        }
    }
    std::filesystem::remove(copy);
}

TEST_F(RecordingTest, AFileThatWillNeverBeARecordingIsRefusedBeforeItIsRead) {
    EXPECT_TRUE(RecordingSource(path_).check());
    std::filesystem::resize_file(path_, 5);
    EXPECT_TRUE(RecordingSource(path_).check()) << "a simulation that begins";
    std::ofstream(path_) << "another file";
    EXPECT_EQ(RecordingSource(path_).check().error(), path_ + " is no recording, or is damaged");
    EXPECT_EQ(RecordingSource(path_ + "x").check().error(),
              "cannot read " + path_ + "x: No such file or directory");
}

}  // namespace
}  // namespace softib::telemetry
