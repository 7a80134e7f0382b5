// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace softib::daemon {
namespace {

namespace fs = std::filesystem;

class LogTest : public ::testing::Test {
  protected:
    void SetUp() override {
        dir_ = fs::path(::testing::TempDir()) / ("softib_log_" + std::to_string(getpid()));
        fs::create_directory(dir_);
    }
    void TearDown() override {
        log_to_stderr();
        fs::remove_all(dir_);
    }
    std::string path() const { return dir_ / "softibd.log"; }
    std::string text(const char* name = "softibd.log") const {
        std::ifstream in(dir_ / name);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    static std::size_t count(const std::string& text, const std::string& part) {
        std::size_t found = 0;
        for (std::size_t at = text.find(part); at != std::string::npos;
             at = text.find(part, at + 1)) {
            ++found;
        }
        return found;
    }

    fs::path dir_;
};

TEST_F(LogTest, RepeatedLinesAreFolded) {
    ASSERT_TRUE(log_to_file(path()));
    for (int i = 0; i < 1000; ++i) {
        log_warning("refused pid {}", 7);
    }
    log_info("something else");
    EXPECT_EQ(count(text(), "warning refused pid 7\n"), 1U);
    EXPECT_EQ(count(text(), "warning repeated 999 times: refused pid 7\n"), 1U);
    EXPECT_EQ(count(text(), "info something else\n"), 1U);
}

TEST_F(LogTest, SameTextOfAnotherLevelIsAnotherLine) {
    ASSERT_TRUE(log_to_file(path()));
    log_info("level");
    log_error("level");
    EXPECT_EQ(count(text(), " level\n"), 2U);
    EXPECT_EQ(count(text(), "repeated"), 0U);
}

TEST_F(LogTest, SizeIsBoundedAndTheNewestLinesStay) {
    constexpr std::size_t kBytes = 10'000;
    ASSERT_TRUE(log_to_file(path(), kBytes));
    for (int i = 0; i < 10'000; ++i) {
        log_info("line {}", i);
    }
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(dir_)) {
        bytes += entry.file_size();
    }
    EXPECT_LE(bytes, 2 * kBytes);
    EXPECT_EQ(count(text("softibd.1.log") + text(), "line 9999\n"), 1U);
}

}  // namespace
}  // namespace softib::daemon
