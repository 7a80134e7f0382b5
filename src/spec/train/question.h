// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Questions about the training of a model on a cluster: what a step takes ("train"), and which
// mapping is the quickest ("search"). One table of keys has all that can be said; a flag of the
// command, a key of a text in TOML and a keyword argument of Python are the same key.
//
//   ask = "train"
//   model = "gpt3-175b"
//   cluster = "superpod-h100:4"
//   tp = 8
//
// A key that would change nothing is refused by name.

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/train/job.h"
#include "spec/value.h"

namespace softib::spec {

enum class TrainAsk : std::uint8_t { kTrain, kSearch };

/// A question as its keys say it. What was not said has its default.
struct TrainQuestion {
    std::string model = {};    ///< The name of a model, or a file.
    std::string cluster = {};  ///< The name of a preset, or a file.
    plan::JobWish wish = {};
    std::string rates =
        {};  ///< A file with rates of kernels; empty: those of the GPU's generation.
    std::string network = "flow";  ///< "analytic", "flow" or "packet".
    std::uint32_t planes = 0;      ///< Planes that share each NIC; 0: as the cluster says.
    bool placed_randomly = false;
    std::uint64_t seed = 1;
    bool rails_crossed = false;
    bool collnet = false;       ///< Whether NCCL lets switches add up all-reduces.
    double tokens = 0;          ///< Tokens of the whole training; 0: not said.
    std::uint32_t top = 10;     ///< Mappings that a search returns.
    std::uint32_t threads = 0;  ///< Threads of a search; 0: one for each core.
    std::string html = {};      ///< Files to write; empty: none.
    std::string trace = {};
    std::vector<std::string> exports = {};  ///< FORMAT=FILE
    /// Layers whose exchanges within a pass are exported as one; 0: those exchanges are not
    /// exported, and the time of a pass has their time in it.
    std::uint32_t export_layers = 1;
    std::vector<std::string_view> given = {};  ///< Names of the keys that were set.
};

struct TrainKey {
    std::string_view name;     ///< "micro_batch"; the flag is --micro-batch.
    std::string_view operand;  ///< "N", or all values as "flash|unfused"; empty: a switch.
    std::string_view group;    ///< Section of the command's help; empty: the first one.
    std::string_view help;
    /// Sets the key. An error is the rest of a sentence that begins with the key: "must be ...".
    Result (*set)(TrainQuestion&, const std::string&);
    char letter = 0;            ///< The flag's short form; 0: none.
    bool for_train = true;      ///< Whether `train` takes the key.
    bool for_search = true;     ///< Whether `search` takes it.
    std::string_view why = {};  ///< Why the other one does not take it.
    bool writes = false;        ///< Whether it names a file that the command writes.
    /// Returns why the key does nothing beside what else was said; empty if it acts.
    std::string_view (*idle)(const TrainQuestion&, TrainAsk) = nullptr;

    bool serves(TrainAsk ask) const { return ask == TrainAsk::kTrain ? for_train : for_search; }
};

/// Returns all keys, in the order in which help shows them.
std::span<const TrainKey> train_keys();

/// Sets a key from a value as text, and notes that it was given.
Result set_train_key(TrainQuestion& question, const TrainKey& key, const std::string& value);

/// Returns an error if a key was given that changes no answer to `ask`. `shown` turns the name of a
/// key into what the user wrote.
Result check_question(const TrainQuestion& question, TrainAsk ask,
                      std::string (*shown)(std::string_view key));

/// A key of a question as its text says it.
struct SaidKey {
    std::string name = {};
    std::optional<std::string> value = {};  ///< As a flag has it; unset: no text can stand for it.
    bool is_switch = false;                 ///< The value is true or false.
    std::string place = {};                 ///< FILE:LINE:COLUMN
};
/// Returns the keys of a text in TOML but `ask`.
std::expected<std::vector<SaidKey>, std::string> said_keys(std::string_view text,
                                                           const std::string& file);
/// Returns a name that is a file's, relative to the folder; a preset's name as it is.
std::string in_folder(std::string name, const std::string& folder);

/// Returns the value of the key `ask` of a text in TOML; std::nullopt if it has none, or is no
/// TOML.
std::optional<std::string> asked_for(std::string_view text, const std::string& file);

/// Reads a question from its keys. `others` are the keys that a caller has beside those of the
/// table, for errors.
std::expected<TrainQuestion, std::string> question_of(const std::vector<SaidKey>& said,
                                                      TrainAsk ask, const std::string& file,
                                                      const std::string& folder,
                                                      std::span<const std::string_view> others);

/// Reads a question from TOML, whose key `ask` has been read. Names of files are relative to
/// `folder`. Errors begin with FILE:LINE:COLUMN.
std::expected<TrainQuestion, std::string> parse_question(std::string_view text, TrainAsk ask,
                                                         const std::string& file,
                                                         const std::string& folder);

/// Makes the job that a question is about: reads its model and its cluster.
std::expected<plan::Job, std::string> job_of(const TrainQuestion& question, TrainAsk ask);
/// Does the same with a cluster that there is.
std::expected<plan::Job, std::string> job_of(const TrainQuestion& question, TrainAsk ask,
                                             plan::Cluster cluster);

}  // namespace softib::spec
