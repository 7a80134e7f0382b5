// SPDX-License-Identifier: BSD-2-Clause
#include "answer/plan_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <variant>

#include "core/base/nearest.h"
#include "plan/units.h"

namespace softib::answer {

namespace {

template <typename Question>
struct Key {
    std::string_view name;
    std::variant<std::string Question::*, std::uint32_t Question::*, std::uint64_t Question::*,
                 bool Question::*, std::vector<std::string> Question::*>
        field;
    std::string_view choices = {};  ///< "flow|packet"; empty: any.
    std::uint32_t most = 0;         ///< The most that a number may be; the least is 1.
    bool is_file = false;           ///< Whether it names a file, or what may be one.
};

constexpr Key<ClusterQuestion> kClusterKeys[] = {
    {.name = "cluster", .field = &ClusterQuestion::cluster, .is_file = true},
    {.name = "nodes", .field = &ClusterQuestion::nodes, .most = kNodesMost},
    {.name = "planes", .field = &ClusterQuestion::planes, .most = kPlanesMost},
    {.name = "prices", .field = &ClusterQuestion::prices, .is_file = true}};

constexpr Key<DescribeQuestion> kDescribeKeys[] = {
    {.name = "cluster", .field = &DescribeQuestion::cluster, .is_file = true},
    {.name = "model", .field = &DescribeQuestion::model, .is_file = true}};

constexpr Key<CollectiveQuestion> kCollectiveKeys[] = {
    {.name = "cluster", .field = &CollectiveQuestion::cluster, .is_file = true},
    {.name = "nodes", .field = &CollectiveQuestion::nodes, .most = kNodesMost},
    {.name = "planes", .field = &CollectiveQuestion::planes, .most = kPlanesMost},
    {.name = "op", .field = &CollectiveQuestion::op, .choices = kOperations},
    {.name = "sizes", .field = &CollectiveQuestion::sizes},
    {.name = "algorithms", .field = &CollectiveQuestion::algorithms},
    {.name = "algorithm", .field = &CollectiveQuestion::algorithms},
    {.name = "protocol", .field = &CollectiveQuestion::protocol, .choices = kProtocolNames},
    {.name = "collnet", .field = &CollectiveQuestion::collnet},
    {.name = "channels", .field = &CollectiveQuestion::channels, .most = kChannelsMost},
    {.name = "order", .field = &CollectiveQuestion::order, .choices = kOrders},
    {.name = "rails_crossed", .field = &CollectiveQuestion::rails_crossed},
    {.name = "seed", .field = &CollectiveQuestion::seed},
    {.name = "model", .field = &CollectiveQuestion::model, .choices = kModels},
    {.name = "stack", .field = &CollectiveQuestion::stack, .choices = kStacks},
    {.name = "step_time", .field = &CollectiveQuestion::step_time}};

constexpr Key<CompareQuestion> kCompareKeys[] = {
    {.name = "what", .field = &CompareQuestion::what, .choices = kComparisons},
    {.name = "cluster", .field = &CompareQuestion::cluster, .is_file = true},
    {.name = "nodes", .field = &CompareQuestion::nodes, .most = kNodesMost},
    {.name = "model", .field = &CompareQuestion::model, .choices = kModels},
    {.name = "size", .field = &CompareQuestion::size},
    {.name = "prices", .field = &CompareQuestion::prices, .is_file = true},
    {.name = "train", .field = &CompareQuestion::train, .is_file = true},
    {.name = "vary", .field = &CompareQuestion::vary},
    {.name = "sort", .field = &CompareQuestion::sort, .choices = kStepOrders}};

constexpr Key<ServeQuestion> kServeKeys[] = {
    {.name = "model", .field = &ServeQuestion::model, .is_file = true},
    {.name = "cluster", .field = &ServeQuestion::cluster, .is_file = true},
    {.name = "prefill", .field = &ServeQuestion::prefill, .most = kNodesMost},
    {.name = "decode", .field = &ServeQuestion::decode, .most = kNodesMost},
    {.name = "prefill_tp", .field = &ServeQuestion::prefill_tp, .most = kRailsMost},
    {.name = "decode_tp", .field = &ServeQuestion::decode_tp, .most = kRailsMost},
    {.name = "rate", .field = &ServeQuestion::rate},
    {.name = "prompt", .field = &ServeQuestion::prompt},
    {.name = "answer", .field = &ServeQuestion::answer},
    {.name = "reuse", .field = &ServeQuestion::reuse},
    {.name = "decode_reuse", .field = &ServeQuestion::decode_reuse},
    {.name = "stream", .field = &ServeQuestion::stream},
    {.name = "precision", .field = &ServeQuestion::precision},
    {.name = "kv_precision", .field = &ServeQuestion::kv_precision, .choices = kKvPrecisions},
    {.name = "batch", .field = &ServeQuestion::batch, .most = kBatchMost},
    {.name = "rails", .field = &ServeQuestion::rails, .most = kRailsMost},
    {.name = "requests", .field = &ServeQuestion::requests, .most = kRequestsMost},
    {.name = "seed", .field = &ServeQuestion::seed},
    {.name = "seeds", .field = &ServeQuestion::seeds, .most = kSeedsMost},
    {.name = "network", .field = &ServeQuestion::network, .choices = kModels}};

constexpr Key<CalibrateQuestion> kCalibrateKeys[] = {
    {.name = "measurements", .field = &CalibrateQuestion::measurements, .is_file = true},
    {.name = "cluster", .field = &CalibrateQuestion::cluster, .is_file = true}};

constexpr Key<GoodputQuestion> kGoodputKeys[] = {
    {.name = "failures", .field = &GoodputQuestion::failures, .is_file = true},
    {.name = "detect", .field = &GoodputQuestion::detect},
    {.name = "timeout", .field = &GoodputQuestion::timeout},
    {.name = "restart", .field = &GoodputQuestion::restart},
    {.name = "checkpoint", .field = &GoodputQuestion::checkpoint, .choices = kCheckpointings},
    {.name = "checkpoint_every", .field = &GoodputQuestion::checkpoint_every},
    {.name = "checkpoint_size", .field = &GoodputQuestion::checkpoint_size},
    {.name = "storage", .field = &GoodputQuestion::storage},
    {.name = "stall", .field = &GoodputQuestion::stall},
    {.name = "failover", .field = &GoodputQuestion::failover, .choices = kFailovers},
    {.name = "spares", .field = &GoodputQuestion::spares},
    {.name = "weeks", .field = &GoodputQuestion::weeks, .most = kWeeksMost},
    {.name = "runs", .field = &GoodputQuestion::runs, .most = kRunsMost},
    {.name = "failure_seed", .field = &GoodputQuestion::failure_seed},
    {.name = "threads", .field = &GoodputQuestion::threads, .most = kChannelsMost},
    {.name = "prices", .field = &GoodputQuestion::prices, .is_file = true},
    {.name = "sort", .field = &GoodputQuestion::sort, .choices = kRemedyOrders}};

constexpr Key<ExpectQuestion> kExpectKeys[] = {
    {.name = "cluster", .field = &ExpectQuestion::cluster, .is_file = true},
    {.name = "logs", .field = &ExpectQuestion::logs, .is_file = true},
    {.name = "text", .field = &ExpectQuestion::text},
    {.name = "nodes", .field = &ExpectQuestion::nodes, .most = kNodesMost},
    {.name = "per_node", .field = &ExpectQuestion::per_node, .most = kChannelsMost},
    {.name = "benchmark", .field = &ExpectQuestion::benchmark},
    {.name = "sizes", .field = &ExpectQuestion::sizes},
    {.name = "algorithm", .field = &ExpectQuestion::algorithm},
    {.name = "protocol", .field = &ExpectQuestion::protocol},
    {.name = "collnet", .field = &ExpectQuestion::collnet},
    {.name = "channels", .field = &ExpectQuestion::channels, .most = kChannelsMost}};

/// Keys of files that the command writes.
constexpr std::string_view kWritten[] = {"html", "export", "csv"};

/// Returns what errors call a question that is a text.
std::string said_in(const std::string& folder) {
    return folder.empty() ? "a question given as text" : folder + "/a question given as text";
}

bool is_choice(std::string_view choices, std::string_view text) {
    while (!choices.empty()) {
        const std::size_t end = std::min(choices.find('|'), choices.size());
        if (choices.substr(0, end) == text) {
            return true;
        }
        choices.remove_prefix(std::min(end + 1, choices.size()));
    }
    return false;
}

/// Sets a field. The error is the rest of a sentence that begins with the key.
template <typename Question>
Read set_field(const Key<Question>& key, const spec::SaidKey& said, const std::string& folder,
               Question& question) {
    if (const auto* const on = std::get_if<bool Question::*>(&key.field)) {
        if (!said.is_switch) {
            return std::unexpected("must be true or false");
        }
        question.** on = said.value == "true";
        return {};
    }
    if (!said.value || said.is_switch) {
        return std::unexpected("must be a text or a number");
    }
    if (const auto* const text = std::get_if<std::string Question::*>(&key.field)) {
        if (!key.choices.empty() && !is_choice(key.choices, *said.value)) {
            return std::unexpected(
                fmt::format("must be one of {}, not '{}'", key.choices, *said.value));
        }
        question.** text = key.is_file ? spec::in_folder(*said.value, folder) : *said.value;
        return {};
    }
    if (const auto* const list = std::get_if<std::vector<std::string> Question::*>(&key.field)) {
        for (std::string_view left = *said.value; !left.empty();) {
            const std::size_t end = std::min(left.find(','), left.size());
            // A name without a slash is a file here, not a preset.
            const std::string name = "./" + std::string(left.substr(0, end));
            (question.**list)
                .push_back(left.starts_with('/') ? std::string(left.substr(0, end))
                                                 : spec::in_folder(name, folder));
            left.remove_prefix(std::min(end + 1, left.size()));
        }
        return {};
    }
    const auto number = plan::parse_count(*said.value);
    const auto* const small = std::get_if<std::uint32_t Question::*>(&key.field);
    if (!number || (small != nullptr && (*number == 0 || *number > key.most))) {
        return std::unexpected(small != nullptr
                                   ? fmt::format("must be 1 to {}", key.most)
                                   : std::string("must be a whole number, not negative"));
    }
    if (small != nullptr) {
        question.** small = static_cast<std::uint32_t>(*number);
    } else {
        question.*std::get<std::uint64_t Question::*>(key.field) = *number;
    }
    return {};
}

/// Reads one key. A switch that is false is as one that was not said.
template <typename Question>
Read read_key(std::span<const Key<Question>> keys, const spec::SaidKey& said,
              const std::string& folder, Question& question) {
    std::string name = said.name;
    std::ranges::replace(name, '-', '_');
    const auto key = std::ranges::find(keys, name, &Key<Question>::name);
    if (key == keys.end()) {
        if (std::ranges::find(kWritten, name) != std::end(kWritten)) {
            return std::unexpected(
                fmt::format("'{}' is for the command, which writes files", name));
        }
        std::vector<std::string_view> names{"ask"};
        std::ranges::transform(keys, std::back_inserter(names), &Key<Question>::name);
        return std::unexpected(unknown_name("key", said.name, names));
    }
    if (const Read set = set_field(*key, said, folder, question); !set) {
        return std::unexpected(fmt::format("'{}' {}", key->name, set.error()));
    }
    if constexpr (requires { question.given; }) {
        if (!said.is_switch || said.value == "true") {
            std::ranges::replace(name, '_', '-');
            question.given.push_back("--" + name);
        }
    }
    return {};
}

/// Returns whether a key is one of training, and not also one of comparisons.
bool is_training_alone(std::string name) {
    std::ranges::replace(name, '-', '_');
    const auto is = [&](const auto& key) { return key.name == name; };
    return std::ranges::any_of(spec::train_keys(),
                               [&](const spec::TrainKey& key) { return is(key) && !key.writes; }) &&
           std::ranges::none_of(kCompareKeys, is);
}

/// Sets a question about training from the keys that are not `own`, and takes these out of `said`.
template <typename Question>
Read read_training(std::span<const Key<Question>> own, std::vector<spec::SaidKey>& said,
                   const std::string& folder, spec::TrainQuestion& question,
                   std::vector<spec::SaidKey> job = {}) {
    const auto is_own = [&](const spec::SaidKey& key) {
        std::string name = key.name;
        std::ranges::replace(name, '-', '_');
        return std::ranges::find(own, name, &Key<Question>::name) != own.end() ||
               std::ranges::find(kWritten, name) != std::end(kWritten);
    };
    const auto middle = std::ranges::stable_partition(said, is_own).begin();
    std::vector<std::string_view> names;
    std::ranges::transform(own, std::back_inserter(names), &Key<Question>::name);
    job.insert(job.end(), middle, said.end());
    auto read = spec::question_of(job, spec::TrainAsk::kTrain, said_in(folder), folder, names);
    said.erase(middle, said.end());
    if (!read) {
        return std::unexpected(read.error());
    }
    question = *std::move(read);
    return {};
}

template <typename Question>
Read read_all(std::span<const Key<Question>> keys, const std::vector<spec::SaidKey>& said,
              const std::string& folder, Question& question) {
    for (const spec::SaidKey& each : said) {
        if (const Read read = read_key(keys, each, folder, question); !read) {
            return std::unexpected(fmt::format("{}: {}", each.place, read.error()));
        }
    }
    return {};
}

}  // namespace

Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               ClusterQuestion& question) {
    return read_all<ClusterQuestion>(kClusterKeys, said, folder, question);
}
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               DescribeQuestion& question) {
    return read_all<DescribeQuestion>(kDescribeKeys, said, folder, question);
}
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               CollectiveQuestion& question) {
    return read_all<CollectiveQuestion>(kCollectiveKeys, said, folder, question);
}
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               CompareQuestion& question) {
    const auto model = std::ranges::find(said, "train", &spec::SaidKey::name);
    if (model == said.end()) {
        for (const spec::SaidKey& each : said) {
            if (is_training_alone(each.name)) {
                return std::unexpected(
                    fmt::format("{}: '{}' changes nothing here: it needs train = \"MODEL\"",
                                each.place, each.name));
            }
        }
        return read_all<CompareQuestion>(kCompareKeys, said, folder, question);
    }
    std::vector<spec::SaidKey> own = said;
    const auto network = std::ranges::find(said, "model", &spec::SaidKey::name);
    if (network != said.end()) {
        return std::unexpected(fmt::format(
            "{}: 'model' changes nothing here: say how exchanges are timed by 'network'",
            network->place));
    }
    // The model and the cluster of the job are keys of the comparison.
    const std::vector<spec::SaidKey> job{{"model", model->value, false, model->place},
                                         {"cluster", "hgx-h200:2", false, model->place}};
    if (const Read read =
            read_training<CompareQuestion>(kCompareKeys, own, folder, question.job, job);
        !read) {
        return read;
    }
    return read_all<CompareQuestion>(kCompareKeys, own, folder, question);
}
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               ServeQuestion& question) {
    return read_all<ServeQuestion>(kServeKeys, said, folder, question);
}

Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               CalibrateQuestion& question) {
    return read_all<CalibrateQuestion>(kCalibrateKeys, said, folder, question);
}
Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               GoodputQuestion& question) {
    std::vector<spec::SaidKey> own = said;
    if (const Read read = read_training<GoodputQuestion>(kGoodputKeys, own, folder, question.train);
        !read) {
        return read;
    }
    return read_all<GoodputQuestion>(kGoodputKeys, own, folder, question);
}

Read read_keys(const std::vector<spec::SaidKey>& said, const std::string& folder,
               ExpectQuestion& question) {
    return read_all<ExpectQuestion>(kExpectKeys, said, folder, question);
}

}  // namespace softib::answer
