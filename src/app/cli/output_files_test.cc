// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/output_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace softib::app {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
  protected:
    OutputFiles()
        : folder_(fs::path(testing::TempDir()) / ("outputs-" + std::to_string(getpid()))) {
        fs::create_directories(folder_);
    }
    ~OutputFiles() override { fs::remove_all(folder_); }

    std::string path(const std::string& name) const { return folder_ / name; }
    void write(const std::string& name) const { std::ofstream(path(name)) << "text"; }
    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}));
    }

    fs::path folder_;
};

std::string fault(const std::vector<OutputFile>& written,
                  const std::vector<std::string>& read = {}) {
    const auto found = find_output_fault(written, read);
    return found ? (found->misuse ? "misuse: " : "") + found->text : "";
}

TEST_F(OutputFiles, AreTriedWithoutATrace) {
    write("old");
    EXPECT_EQ(fault({{"--csv", path("new")}, {"--html", path("old")}, {"--trace", "-"}}), "");
    EXPECT_EQ(files(), 1U);
    EXPECT_EQ(fs::file_size(path("old")), 4U);
    EXPECT_EQ(fault({{"--csv", path("no/file")}}),
              "cannot write " + path("no/file") + ": No such file or directory");
    EXPECT_EQ(fault({{"--csv", folder_}}), "cannot write " + folder_.string() + ": Is a directory");
}

TEST_F(OutputFiles, ALinkToAFileThatIsNotThereStays) {
    fs::create_symlink(path("target"), path("link"));
    EXPECT_EQ(fault({{"--csv", path("link")}}), "");
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_FALSE(fs::exists(path("target")));
}

TEST_F(OutputFiles, TwoOfOneFileAreRefused) {
    write("old");
    fs::create_hard_link(path("old"), path("other"));
    for (const auto& [one, other] :
         {std::pair(path("a"), path("a")), std::pair(path("a"), path("./a")),
          std::pair(path("old"), path("other"))}) {
        EXPECT_EQ(fault({{"--csv", one}, {"--html", other}}),
                  "misuse: --html: " + other + " would be written twice: name another file");
    }
    EXPECT_EQ(fault({{"--json", "-"}, {"--html", "-"}}),
              "misuse: --html: standard output would be written twice: name another file");
    EXPECT_EQ(fault({{"--csv", "/dev/null"}, {"--html", "/dev/null"}}), "");
    EXPECT_EQ(fault({{"--csv", ""}, {"--html", ""}}), "");
}

TEST_F(OutputFiles, WhatIsReadIsNotOverwritten) {
    write("in");
    EXPECT_EQ(fault({{"--csv", path("./in")}}, {path("in")}),
              "misuse: --csv: " + path("./in") +
                  " is read too, and would be lost: name another "
                  "file");
    EXPECT_EQ(fault({{"--csv", path("out")}}, {path("in"), ""}), "");
}

}  // namespace
}  // namespace softib::app
