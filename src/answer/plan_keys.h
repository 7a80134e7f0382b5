// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads the questions of question.h from keys: a key is an option of `softib plan` with '_' for
// '-'.

#include <expected>
#include <string>
#include <vector>

#include "answer/goodput.h"
#include "answer/question.h"
#include "spec/train/question.h"

namespace softib::answer {

/// Sets the fields that the keys name. Names of files are relative to `folder`. The error, with its
/// place, is about the first key that is unknown or has a wrong value.
using Read = std::expected<void, std::string>;
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               ClusterQuestion& question);
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               DescribeQuestion& question);
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               CollectiveQuestion& question);
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               CompareQuestion& question);
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               ServeQuestion& question);
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               CalibrateQuestion& question);
/// What is no key of goodput's own is one of training's.
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               GoodputQuestion& question);
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               ExpectQuestion& question);

}  // namespace softib::answer
