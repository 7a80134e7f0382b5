// SPDX-License-Identifier: BSD-2-Clause
// Reads and writes GOAL (group operation assembly language), as LogGOPSim's txt2bin takes it.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>

#include "spec/trace/trace_file.h"

namespace softib::spec {

namespace {

using plan::trace::Kind;
using plan::trace::Operation;
using plan::trace::Program;
using plan::trace::Waits;

constexpr std::uint64_t kGoalBytesMost = 1ULL << 50;
constexpr std::uint64_t kGoalNsMost = 1'000'000'000'000'000;  ///< 11 days.
constexpr std::uint64_t kGoalCpuMost = 254;
constexpr std::uint64_t kGoalTagMost = UINT32_MAX - 1;

/// Splits a text into words: numbers, names, and each of ":{}" by itself.
class GoalWords {
  public:
    explicit GoalWords(std::string_view text) : text_(text) {}

    std::size_t line() const { return line_; }
    /// Returns the next word; an empty one at the end of the text.
    std::string_view next() {
        skip();
        const std::size_t begin = at_;
        if (at_ < text_.size() && symbol(text_[at_])) {
            ++at_;
        } else {
            while (at_ < text_.size() && !symbol(text_[at_]) && !blank(text_[at_]) && !comment()) {
                ++at_;
            }
        }
        return text_.substr(begin, at_ - begin);
    }
    std::string_view peek() {
        const GoalWords before = *this;
        const std::string_view word = next();
        *this = before;
        return word;
    }

  private:
    static bool symbol(char c) { return c == ':' || c == '{' || c == '}'; }
    static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
    bool comment() const { return text_.substr(at_, 2) == "//" || text_.substr(at_, 2) == "/*"; }
    void skip() {
        while (at_ < text_.size()) {
            if (blank(text_[at_])) {
                line_ += text_[at_] == '\n' ? 1U : 0U;
                ++at_;
            } else if (text_.substr(at_, 2) == "//") {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (text_.substr(at_, 2) == "/*") {
                const std::size_t end = std::min(text_.find("*/", at_ + 2), text_.size());
                for (; at_ < std::min(end + 2, text_.size()); ++at_) {
                    line_ += text_[at_] == '\n' ? 1U : 0U;
                }
            } else {
                return;
            }
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
};

class GoalReader {
  public:
    explicit GoalReader(const TraceText& file) : file_(file), words_(file.text) {}

    std::expected<plan::trace::Job, std::string> run() {
        const bool begins = expect("num_ranks");
        const auto ranks = static_cast<std::uint32_t>(
            begins ? number("the number of ranks", plan::trace::kRanksMax).value_or(0) : 0);
        if (ranks == 0) {
            wrong("num_ranks must be more than 0");
        }
        if (!error_.empty()) {
            return std::unexpected(error_);
        }
        job_.name = file_.file;
        job_.programs.resize(1);  // Ranks without a block do nothing.
        job_.program_of.assign(ranks, 0);
        seen_.resize(ranks);
        while (error_.empty() && !words_.peek().empty()) {
            rank_block();
        }
        if (!error_.empty()) {
            return std::unexpected(error_);
        }
        return std::move(job_);
    }

  private:
    struct Named {
        std::string_view first;
        std::string_view second;
        Waits waits = Waits::kForEnd;
        std::size_t line = 0;
    };

    void wrong(std::string_view message) { wrong_at(words_.line(), message); }
    void wrong_at(std::size_t line, std::string_view message) {
        if (error_.empty()) {
            error_ = fmt::format("{}:{}: {}", file_.file, line, message);
        }
    }
    bool expect(std::string_view word) {
        const std::string_view found = words_.next();
        if (found != word) {
            wrong(fmt::format("'{}' is expected, not '{}'", word, found.substr(0, 40)));
        }
        return found == word;
    }
    std::optional<std::uint64_t> value_of(std::string_view word, std::string_view what,
                                          std::uint64_t most) {
        std::uint64_t value = 0;
        const auto [end, bad] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (bad != std::errc() || end != word.data() + word.size() || value > most) {
            wrong(fmt::format("{} must be a whole number up to {}, not '{}'", what, most,
                              word.substr(0, 40)));
            return std::nullopt;
        }
        return value;
    }
    std::optional<std::uint64_t> number(std::string_view what, std::uint64_t most) {
        return value_of(words_.next(), what, most);
    }

    void rank_block() {
        if (!expect("rank")) {
            return;
        }
        const auto rank = number("a rank", job_.ranks() - 1);
        if (!rank || !expect("{")) {
            return;
        }
        if (seen_[*rank]) {
            return wrong(fmt::format("rank {} has a block already", *rank));
        }
        seen_[*rank] = true;
        labels_.clear();
        edges_.clear();
        job_.program_of[*rank] = static_cast<std::uint32_t>(job_.programs.size());
        Program& program = job_.programs.emplace_back();
        for (;;) {
            const std::string_view word = words_.next();
            if (word == "}") {
                break;
            }
            if (word.empty()) {
                return wrong(
                    fmt::format("the block of rank {} does not end: '}}' is missing", *rank));
            }
            statement(program, word);
            if (!error_.empty()) {
                return;
            }
        }
        for (const Named& edge : edges_) {
            const auto first = labels_.find(edge.first);
            const auto second = labels_.find(edge.second);
            if (first == labels_.end() || second == labels_.end()) {
                return wrong_at(edge.line,
                                fmt::format("rank {} has no label '{}'", *rank,
                                            first == labels_.end() ? edge.first : edge.second));
            }
            program.depend(first->second, second->second, edge.waits);
        }
    }

    void statement(Program& program, std::string_view word) {
        if (word == "send" || word == "recv" || word == "calc") {
            return operation(program, word);
        }
        const std::string_view next = words_.next();
        if (next == ":") {
            if (!labels_.try_emplace(word, program.next()).second) {
                return wrong(fmt::format("label '{}' stands for two operations", word));
            }
            return operation(program, words_.next());
        }
        if (next == "requires" || next == "irequires") {
            edges_.push_back({word, words_.next(),
                              next == "requires" ? Waits::kForEnd : Waits::kForStart,
                              words_.line()});
            return;
        }
        wrong(fmt::format(
            "'{}' must be send, recv, calc, or a label with ':', requires or irequires behind it",
            word.substr(0, 40)));
    }

    void operation(Program& program, std::string_view what) {
        Operation op;
        if (what == "calc") {
            const auto ns = number("the nanoseconds of calc", kGoalNsMost);
            op.compute_ps = ns.value_or(0) * 1000;
        } else if (what == "send" || what == "recv") {
            op.kind = what == "send" ? Kind::kSend : Kind::kRecv;
            std::string_view size = words_.next();
            if (!size.ends_with('b')) {
                return wrong(
                    fmt::format("{} needs its bytes as 8b, not '{}'", what, size.substr(0, 40)));
            }
            size.remove_suffix(1);
            op.bytes = value_of(size, "the bytes of a message", kGoalBytesMost).value_or(0);
            if (!expect(what == "send" ? "to" : "from")) {
                return;
            }
            const bool any = op.kind == Kind::kRecv && words_.peek() == "-1";
            op.peer =
                any ? (words_.next(), plan::trace::kAnyRank)
                    : static_cast<std::uint32_t>(number("a rank", job_.ranks() - 1).value_or(0));
        } else {
            return wrong(
                fmt::format("an operation is send, recv or calc, not '{}'", what.substr(0, 40)));
        }
        attributes(op);
        program.add(op);
    }

    void attributes(Operation& op) {
        for (;;) {
            const std::string_view word = words_.peek();
            if (word == "tag") {
                words_.next();
                const bool any = op.kind == Kind::kRecv && words_.peek() == "-1";
                op.tag =
                    any ? (words_.next(), plan::trace::kAnyTag)
                        : static_cast<std::uint32_t>(number("a tag", kGoalTagMost).value_or(0));
            } else if (word == "cpu") {
                words_.next();
                op.lane = static_cast<std::uint8_t>(number("a cpu", kGoalCpuMost).value_or(0));
            } else if (word == "nic") {
                words_.next();
                number("a nic", UINT32_MAX);
            } else {
                return;
            }
        }
    }

    const TraceText& file_;
    GoalWords words_;
    plan::trace::Job job_ = {};
    std::vector<bool> seen_ = {};
    std::map<std::string_view, std::uint32_t> labels_ = {};
    std::vector<Named> edges_ = {};
    std::string error_ = {};
};

std::string goal_operation(const Operation& op) {
    if (op.kind == Kind::kCompute) {
        return fmt::format("calc {}{}", (op.compute_ps + 500) / 1000,
                           op.lane == 0 ? "" : fmt::format(" cpu {}", op.lane));
    }
    const bool sends = op.kind == Kind::kSend;
    return fmt::format("{} {}b {} {} tag {}", sends ? "send" : "recv", op.bytes,
                       sends ? "to" : "from",
                       op.peer == plan::trace::kAnyRank ? "-1" : std::to_string(op.peer),
                       op.tag == plan::trace::kAnyTag ? "-1" : std::to_string(op.tag));
}

}  // namespace

std::expected<plan::trace::Job, std::string> parse_goal(const TraceText& file) {
    return GoalReader(file).run();
}

std::expected<std::string, std::string> write_goal(const plan::trace::Job& job) {
    std::string text = fmt::format("num_ranks {}\n", job.ranks());
    auto out = std::back_inserter(text);
    for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
        const Program& program = job.program(rank);
        fmt::format_to(out, "\nrank {} {{\n", rank);
        for (std::uint32_t i = 0; i < program.next(); ++i) {
            const Operation& op = program.operations()[i];
            if (op.kind == Kind::kCollective) {
                return std::unexpected(
                    "GOAL has no collective operations: say on which --cluster they become "
                    "messages");
            }
            fmt::format_to(out, "l{}: {}\n", i + 1, goal_operation(op));
        }
        for (const plan::trace::Edge& edge : program.edges()) {
            fmt::format_to(out, "l{} {}requires l{}\n", edge.operation + 1,
                           edge.dependency.waits == Waits::kForStart ? "i" : "",
                           edge.dependency.on + 1);
        }
        fmt::format_to(out, "}}\n");
    }
    return text;
}

}  // namespace softib::spec
