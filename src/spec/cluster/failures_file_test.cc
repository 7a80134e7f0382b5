// SPDX-License-Identifier: BSD-2-Clause
#include "spec/cluster/failures_file.h"

#include <gtest/gtest.h>

#include <string>

#include "spec/scenario/toml_file.h"

namespace softib::spec {
namespace {

std::expected<plan::Failures, std::string> parse(const std::string& text) {
    return parse_failures(text, "f.toml");
}

TEST(FailuresFile, ThatOfTheTreeIsWhatIsBuiltIn) {
    auto read = load_failures(SOFTIB_FAILURES);
    ASSERT_TRUE(read.has_value()) << read.error();
    EXPECT_EQ(*read, plan::default_failures());
    EXPECT_EQ(read->kinds.size(), 14U);
    for (const plan::FailureKind& kind : read->kinds) {
        EXPECT_FALSE(kind.source.empty()) << kind.name;
        EXPECT_GT(kind.per_million_hours, 0) << kind.name;
    }
}

TEST(FailuresFile, ASectionChangesWhatItNamesOrAddsAKind) {
    const auto read = parse(
        "replace_hours = 48\n[nic]\nper_million_hours = 0\n"
        "[cooling]\nof = \"node\"\nper_million_hours = 5\nloses = \"node\"\nhangs = true\n");
    ASSERT_TRUE(read.has_value()) << read.error();
    EXPECT_EQ(read->replace_hours, 48);
    const auto nic = std::ranges::find(read->kinds, "nic", &plan::FailureKind::name);
    EXPECT_EQ(nic->per_million_hours, 0);
    EXPECT_EQ(nic->loses, plan::Loses::kNic);
    EXPECT_EQ(nic->source, "f.toml");
    EXPECT_EQ(read->kinds.back().name, "cooling");
    EXPECT_TRUE(read->kinds.back().hangs);
}

TEST(FailuresFile, ErrorsNameTheKeyAndItsPlace) {
    const auto said = [](const std::string& text) { return parse(text).error(); };
    EXPECT_TRUE(said("[niic]\nreplaced = 1\n")
                    .starts_with("f.toml:1:2: unknown failure 'niic'; "
                                 "did you mean 'nic'?"));
    EXPECT_TRUE(said("[nic]\nper_milion_hours = 1\n").contains("did you mean 'per_million_hours'"));
    EXPECT_EQ(said("[nic]\nreplaced = 2\n"),
              "f.toml:2:12: 'replaced' must be a number from 0 to 1");
    EXPECT_TRUE(said("[nic]\nof = \"rack\"\n").contains("'of' must be gpu, nic, node or job"));
    EXPECT_TRUE(said("[nic]\nloses = 1\n").contains("'loses' must be nothing, node, nic or link"));
    EXPECT_TRUE(said("[nic]\nhangs = 1\n").contains("'hangs' must be true or false"));
    EXPECT_TRUE(said("[nic]\nsource = 1\n").contains("'source' must be a text"));
    EXPECT_TRUE(said("nic = 3\n").contains("unknown key 'nic'; above all sections"));
    EXPECT_TRUE(said("reset_hours = true\n").contains("'reset_hours' must be a number"));
}

}  // namespace
}  // namespace softib::spec
