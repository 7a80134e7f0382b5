// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Precompiled for the tests. Each still includes what it uses.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>
