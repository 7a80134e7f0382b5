// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/manager_program.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace softib::app {
namespace {

TEST(SplitWords, CutsAtSpacesOutsideOfQuotes) {
    using Words = std::vector<std::string>;
    EXPECT_EQ(split_words("").value(), Words{});
    EXPECT_EQ(split_words(" -R  ftree\t-a\n'my roots' ").value(),
              (Words{"-R", "ftree", "-a", "my roots"}));
    EXPECT_EQ(split_words("a\"b 'c\"d '' e").value(), (Words{"ab 'cd", "", "e"}));
    EXPECT_FALSE(split_words("-f \"x"));
}

}  // namespace
}  // namespace softib::app
