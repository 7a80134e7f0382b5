// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "entries_hold.h"

namespace softib::fuzz {

TEST(FuzzTraces, HoldOnRandomBytes) {
    expect_random_bytes_hold();
}

TEST(FuzzTraces, HoldOnBytesOfOneValue) {
    expect_bytes_of_one_value_hold();
}

}  // namespace softib::fuzz
