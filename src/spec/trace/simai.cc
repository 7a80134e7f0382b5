// SPDX-License-Identifier: BSD-2-Clause
// Reads workloads of SimAI and AICB: one line for each layer, with what its forward pass, its input
// gradients and its weight gradients compute and exchange. All ranks do the same; their groups
// follow from the degrees of parallelism in the first line. A file has the work of one pipeline
// stage in a step, with all micro-batches.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>

#include "core/base/nearest.h"
#include "spec/trace/trace_file.h"

namespace softib::spec {

namespace {

using plan::trace::Collective;
using plan::trace::Job;
using plan::trace::Kind;
using plan::trace::kNone;
using plan::trace::Program;

constexpr std::uint64_t kLayersMost = 1U << 20;
constexpr std::uint64_t kSimaiNsMost = 1'000'000'000'000'000;
constexpr std::uint64_t kSimaiBytesMost = 1ULL << 50;
constexpr std::size_t kColumns = 12;

/// The kind of parallelism whose ranks exchange.
enum class Axis : std::uint8_t { kTensor, kData, kExpert, kExpertData };

std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view kBlanks = " \t\r\v\f";
    std::vector<std::string_view> words;
    for (;;) {
        const std::size_t begin = line.find_first_not_of(kBlanks);
        if (begin == std::string_view::npos) {
            return words;
        }
        const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        line.remove_prefix(end);
    }
}

/// Returns groups of `count` ranks that are `stride` apart.
std::vector<std::vector<std::uint32_t>> strided(std::uint32_t ranks, std::uint32_t count,
                                                std::uint32_t stride) {
    std::vector<std::vector<std::uint32_t>> groups;
    for (std::uint32_t block = 0; block < ranks; block += count * stride) {
        for (std::uint32_t first = 0; first < stride; ++first) {
            std::vector<std::uint32_t>& group = groups.emplace_back();
            for (std::uint32_t i = 0; i < count; ++i) {
                group.push_back(block + first + i * stride);
            }
        }
    }
    return groups;
}

class SimaiReader {
  public:
    explicit SimaiReader(const TraceText& file) : file_(file), rest_(file.text) {}

    std::expected<Job, std::string> run() {
        header();
        std::uint64_t layers = 0;
        if (error_.empty()) {
            const auto words = line();
            if (words.size() != 1) {
                wrong("the second line must be the number of layers");
            } else {
                layers = number(words[0], "the number of layers", kLayersMost);
            }
        }
        std::vector<std::vector<std::string_view>> rows;
        while (error_.empty() && rows.size() < layers) {
            rows.push_back(line());
            if (rows.back().size() != kColumns) {
                wrong(fmt::format("a layer has {} columns, not {}", kColumns, rows.back().size()));
            }
            lines_.push_back(number_);
        }
        if (error_.empty()) {
            play(rows);
        }
        if (!error_.empty()) {
            return std::unexpected(error_);
        }
        job_.programs.push_back(std::move(program_));
        job_.name = file_.file;
        return std::move(job_);
    }

  private:
    void wrong(std::string_view message) {
        if (error_.empty()) {
            error_ = fmt::format("{}:{}: {}", file_.file, number_, message);
        }
    }
    /// Returns the words of the next line that is not blank.
    std::vector<std::string_view> line() {
        while (!rest_.empty()) {
            const std::size_t end = std::min(rest_.find('\n'), rest_.size());
            const auto words = words_of(rest_.substr(0, end));
            rest_.remove_prefix(std::min(end + 1, rest_.size()));
            ++number_;
            if (!words.empty()) {
                return words;
            }
        }
        wrong("the file ends before its layers do");
        return {};
    }
    std::uint64_t number(std::string_view word, std::string_view what, std::uint64_t most) {
        std::uint64_t value = 0;
        const auto [end, bad] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (bad != std::errc() || end != word.data() + word.size() || value > most) {
            wrong(fmt::format("{} must be a whole number up to {}, not '{}'", what, most,
                              word.substr(0, 40)));
            return 0;
        }
        return value;
    }

    void header() {
        const auto words = line();
        if (!error_.empty()) {
            return;
        }
        std::map<std::string_view, std::uint32_t> degrees{
            {"model_parallel_NPU_group:", 1}, {"ep:", 1}, {"pp:", 1}, {"all_gpus:", 0}};
        for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
            const auto known = degrees.find(words[i]);
            if (known != degrees.end()) {
                known->second = static_cast<std::uint32_t>(
                    number(words[i + 1], words[i], plan::trace::kRanksMax));
            }
        }
        const std::uint32_t tp = degrees["model_parallel_NPU_group:"];
        const std::uint32_t ep = degrees["ep:"];
        const std::uint32_t pp = degrees["pp:"];
        std::uint32_t ranks = degrees["all_gpus:"];
        if (words[0] == "MICRO" && ranks == 0) {
            ranks = tp;
        }
        if (ranks == 0 || tp == 0 || ep == 0 || pp == 0 ||
            std::uint64_t{ranks} % (std::uint64_t{tp} * pp) != 0 ||
            ranks / (tp * pp) % (std::max(ep / tp, 1U)) != 0) {
            return wrong(fmt::format(
                "all_gpus: {} must be a multiple of model_parallel_NPU_group: {} times pp: {}, and "
                "hold ep: {}",
                ranks, tp, pp, ep));
        }
        job_.program_of.assign(ranks, 0);
        // The ranks of a stage are neighbours, numbered by tensor and then by data parallelism.
        const std::uint32_t dp = ranks / (tp * pp);
        const std::uint32_t stage = tp * dp;
        axes_[axis(Axis::kTensor)] = job_.add_communicator("tensor", strided(ranks, tp, 1));
        axes_[axis(Axis::kData)] = job_.add_communicator("data", strided(ranks, dp, tp));
        const std::uint32_t experts = stage % ep == 0 ? ep : 1;
        axes_[axis(Axis::kExpert)] = job_.add_communicator("expert", strided(ranks, experts, 1));
        axes_[axis(Axis::kExpertData)] =
            job_.add_communicator("expert-data", strided(ranks, stage / experts, experts));
    }
    static std::size_t axis(Axis axis) { return static_cast<std::size_t>(axis); }

    void play(const std::vector<std::vector<std::string_view>>& rows) {
        // The columns are name, dependency, then compute time, kind and bytes of three passes, then
        // the update.
        constexpr std::size_t kForward = 2;
        constexpr std::size_t kInput = 5;
        constexpr std::size_t kWeight = 8;
        constexpr std::size_t kUpdate = 11;
        for (std::size_t i = 0; i < rows.size() && error_.empty(); ++i) {
            number_ = lines_[i];
            pass(rows[i], kForward, Axis::kTensor, true);
        }
        std::vector<std::uint32_t> gradients;
        for (std::size_t i = rows.size(); i-- > 0 && error_.empty();) {
            number_ = lines_[i];
            pass(rows[i], kInput, Axis::kTensor, true);
            // Gradients of weights are exchanged while earlier layers compute.
            const auto sent = pass(rows[i], kWeight, Axis::kData, false);
            gradients.insert(gradients.end(), sent.begin(), sent.end());
            if (const std::uint64_t ns = number(rows[i][kUpdate], "the update", kSimaiNsMost)) {
                updates_ += ns;
            }
        }
        const std::uint32_t update =
            program_.add({.name = job_.add_name("update"), .compute_ps = updates_ * 1000});
        for (const std::uint32_t each : gradients) {
            program_.depend(update, each);
        }
        if (last_ != kNone) {
            program_.depend(update, last_);
        }
    }

    /// Adds a pass of a layer. Returns its exchange if the next pass does not wait for it
    /// (`blocks`).
    std::vector<std::uint32_t> pass(const std::vector<std::string_view>& row, std::size_t column,
                                    Axis usual, bool blocks) {
        const std::uint32_t name = job_.add_name(row[0]);
        const std::uint64_t ns = number(row[column], "a compute time", kSimaiNsMost);
        const std::uint32_t computed = program_.add({.name = name, .compute_ps = ns * 1000});
        if (last_ != kNone) {
            program_.depend(computed, last_);
        }
        last_ = computed;
        const std::uint64_t bytes = number(row[column + 2], "the bytes", kSimaiBytesMost);
        const auto what = exchange(row[column + 1], usual);
        if (!what || bytes == 0) {
            return {};
        }
        const std::uint32_t sent = program_.add({.kind = Kind::kCollective,
                                                 .collective = what->first,
                                                 .name = name,
                                                 .communicator = axes_[axis(what->second)],
                                                 .bytes = bytes});
        program_.depend(sent, computed);
        if (blocks) {
            last_ = sent;
            return {};
        }
        return {sent};
    }

    std::optional<std::pair<Collective, Axis>> exchange(std::string_view word, Axis usual) {
        constexpr std::array<std::pair<std::string_view, Collective>, 6> kKinds{
            {{"ALLREDUCE", Collective::kAllReduce},
             {"ALLGATHER", Collective::kAllGather},
             {"REDUCESCATTER", Collective::kReduceScatter},
             {"ALLTOALL", Collective::kAllToAll},
             {"BROADCAST", Collective::kBroadcast},
             {"NONE", Collective::kBarrier}}};
        std::string_view kind = word;
        Axis axis = usual;
        for (const auto& [suffix, where] :
             {std::pair<std::string_view, Axis>{"_DP_EP", Axis::kExpertData},
              {"_EP", Axis::kExpert},
              {"_DP", Axis::kData},
              {"_TP", Axis::kTensor}}) {
            if (kind.ends_with(suffix)) {
                kind.remove_suffix(suffix.size());
                axis = where;
                break;
            }
        }
        std::vector<std::string_view> names;
        for (const auto& [name, collective] : kKinds) {
            if (name == kind) {
                return name == "NONE" ? std::nullopt : std::optional(std::pair(collective, axis));
            }
            names.push_back(name);
        }
        wrong(unknown_name("exchange", word.substr(0, 40), names));
        return std::nullopt;
    }

    const TraceText& file_;
    std::string_view rest_;
    std::size_t number_ = 0;
    std::vector<std::size_t> lines_ = {};
    Job job_ = {};
    Program program_ = {};
    std::array<std::uint32_t, 4> axes_ = {};
    std::uint32_t last_ = kNone;
    std::uint64_t updates_ = 0;
    std::string error_ = {};
};

}  // namespace

std::expected<Job, std::string> parse_simai(const TraceText& file) {
    return SimaiReader(file).run();
}

}  // namespace softib::spec
