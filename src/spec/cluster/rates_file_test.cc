// SPDX-License-Identifier: BSD-2-Clause
#include "spec/cluster/rates_file.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace softib::spec {
namespace {

std::string error_of(std::string_view text) {
    const auto rates = parse_rates(text, "r.toml");
    return rates ? "" : rates.error();
}

TEST(RatesFile, TheFilesOfTheRatesAreReadAsTheyAreBuiltIn) {
    for (const plan::Rates& built_in : plan::rates_presets()) {
        const auto read =
            load_rates(std::string(SOFTIB_CLUSTERS "/rates/") + built_in.name + ".toml");
        ASSERT_TRUE(read) << read.error();
        EXPECT_EQ(*read, built_in);
    }
}

TEST(RatesFile, KeysChangeWhatABaseHas) {
    const auto rates =
        parse_rates("base = \"hopper\"\nmemory = 0.5\n[matmul]\nfp8 = 0.4\n", "r.toml");
    ASSERT_TRUE(rates) << rates.error();
    EXPECT_EQ(rates->name, "r.toml");
    EXPECT_EQ(rates->source, "r.toml, from hopper");
    EXPECT_EQ(rates->memory, 0.5);
    EXPECT_EQ(rates->matmul[static_cast<std::size_t>(plan::Recipe::kFp8)], 0.4);
    EXPECT_EQ(rates->matmul[static_cast<std::size_t>(plan::Recipe::kBf16)], 0.687);
}

TEST(RatesFile, ErrorsNameTheLineAndWhatWouldDo) {
    EXPECT_EQ(error_of("base = \"hoper\"\n"),
              "r.toml:1:8: unknown base 'hoper'; did you mean 'hopper'?");
    EXPECT_EQ(error_of("base = \"hopper\"\nmemery = 1\n"),
              "r.toml:2:1: unknown key 'memery'; did you mean 'memory'?");
    EXPECT_EQ(error_of("base = \"hopper\"\nmemory = 1.5\n"),
              "r.toml:2:10: 'memory' must be a number from 0.001 to 1");
    EXPECT_EQ(error_of("base = \"hopper\"\nmemory = \"much\"\n"),
              "r.toml:2:10: 'memory' must be a number from 0.001 to 1");
    EXPECT_EQ(error_of("base = \"hopper\"\nmatmul = 1\n"),
              "r.toml:2:10: matmul must be a section with a number for each recipe, as [matmul]");
    EXPECT_EQ(error_of("base = \"hopper\"\n[matmul]\nint8 = 1\n"),
              "r.toml:3:1: 'int8' is no recipe; there are bf16, fp16, fp8, fp8-block, mxfp8 or "
              "nvfp4");
    EXPECT_EQ(error_of("memory = 0.8\n"),
              "r.toml: say watts_per_sm = NUMBER, or base = \"hopper\"");
}

}  // namespace
}  // namespace softib::spec
