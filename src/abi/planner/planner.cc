// SPDX-License-Identifier: BSD-2-Clause
// libsoftib.so.0: simulations for programs in any language (softib/softib.h says what each
// function does).
#include <fmt/format.h>
#include <softib/softib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/ask.h"
#include "plan/ends.h"
#include "plan/player.h"
#include "plan/results.h"
#include "run/basis.h"
#include "run/execute.h"
#include "run/make.h"
#include "spec/scenario/model.h"
#include "spec/scenario/scenario.h"

using softib::plan::MessageRecord;

/// Everything of one simulation. The model must outlive the player, which uses it.
struct softib_simulation {
    softib::spec::Scenario scenario = {};
    softib::spec::Experiment experiment = {};
    std::unique_ptr<softib::net::Model> model = {};
    std::unique_ptr<softib::plan::Player> player = {};
    std::string text = {};  ///< What softib_text returned last.
};

namespace softib {

namespace {

std::expected<std::unique_ptr<softib_simulation>, std::string> open_scenario(
    std::string_view text, std::string_view folder) {
    auto run = run::make_run(
        {.text = std::string(text), .folder = std::string(folder), .one_simulation = true});
    if (!run) {
        return std::unexpected(run.error().text);
    }
    auto opened = std::make_unique<softib_simulation>();
    opened->scenario = std::move(run->scenario);
    auto experiment = spec::prepare(opened->scenario);
    if (!experiment) {
        return std::unexpected(experiment.error());
    }
    opened->experiment = *std::move(experiment);
    if (const run::Cost cost = run::cost_of(opened->scenario, opened->experiment);
        !run::fits_memory(cost)) {
        return std::unexpected(run::too_large(cost));
    }
    auto model = spec::make_model(opened->scenario, opened->experiment);
    if (!model) {
        return std::unexpected(model.error());
    }
    opened->model = *std::move(model);
    opened->player = std::make_unique<plan::Player>(*opened->model, opened->experiment.schedules);
    return opened;
}

/// Refuses runs for which there is not enough memory. How long a run takes is the caller's matter.
class MemoryWatch final : public run::Watch {
  public:
    std::expected<void, std::string> accept(const run::Cost& cost) override {
        return run::fits_memory(cost) ? std::expected<void, std::string>()
                                      : std::unexpected(run::too_large(cost));
    }
};

std::expected<std::string, std::string> ask(std::string_view text, const std::string& folder) {
    // Never destroyed, since threads may ask while the process ends.
    static answer::Networks& networks = *new answer::Networks;
    if (auto answer = answer::ask(text, folder, networks)) {
        return *std::move(answer);
    }
    const auto run = run::make_run({.text = std::string(text), .folder = folder});
    if (!run) {
        return std::unexpected(run.error().text);
    }
    MemoryWatch watch;
    const auto outcome = run::execute(*run, watch);
    return outcome ? std::expected<std::string, std::string>(run::to_json(**outcome))
                   : std::unexpected(outcome.error());
}

void write_error(std::string_view error, char* to, std::size_t bytes) {
    if (to == nullptr || bytes == 0) {
        return;
    }
    const std::size_t taken = std::min(error.size(), bytes - 1);
    std::memcpy(to, error.data(), taken);
    to[taken] = '\0';
}

struct Number {
    std::string_view name;
    std::uint64_t (*read)(const softib_simulation&);
};

constexpr Number kNumbers[] = {
    {"now_ps", [](const softib_simulation& of) { return of.model->now(); }},
    {"until_ps", [](const softib_simulation& of) { return of.scenario.until; }},
    {"ends", [](const softib_simulation& of) { return std::uint64_t{of.model->end_count()}; }},
    {"messages_planned", [](const softib_simulation& of) { return of.player->messages_planned(); }},
    {"messages_ended", [](const softib_simulation& of) { return of.player->ended(); }},
    {"messages_unfinished", [](const softib_simulation& of) { return of.model->unfinished(); }},
    {"events", [](const softib_simulation& of) { return of.model->events(); }},
    {"hops", [](const softib_simulation& of) { return of.model->stats().hops; }},
    {"packets_delivered", [](const softib_simulation& of) { return of.model->stats().delivered; }},
    {"packets_discarded", [](const softib_simulation& of) { return of.model->stats().discarded; }},
    {"packets_lost", [](const softib_simulation& of) { return of.model->stats().lost; }},
    {"packets_resent", [](const softib_simulation& of) { return of.model->stats().resent; }},
    {"packets_marked", [](const softib_simulation& of) { return of.model->stats().marked; }},
    {"log_hash", [](const softib_simulation& of) { return of.model->stats().log_hash; }},
};

template <typename Row>
struct Column {
    std::string_view name;
    std::uint64_t (*read)(const Row&);
};

constexpr Column<MessageRecord> kMessageColumns[] = {
    {"traffic", [](const MessageRecord& of) { return std::uint64_t{of.traffic}; }},
    {"from", [](const MessageRecord& of) { return std::uint64_t{of.from}; }},
    {"to", [](const MessageRecord& of) { return std::uint64_t{of.to}; }},
    {"bytes", [](const MessageRecord& of) { return of.bytes; }},
    {"started_ps", [](const MessageRecord& of) { return of.started_at; }},
    {"delivered_ps", [](const MessageRecord& of) { return of.delivered_at; }},
    {"ended_ps", [](const MessageRecord& of) { return of.ended_at; }},
    {"failed", [](const MessageRecord& of) { return std::uint64_t{of.failed}; }},
    {"arrived_bytes", [](const MessageRecord& of) { return of.arrived(); }},
};

constexpr double kMbpsPerGbps = 1000;
constexpr Column<net::LinkLoad> kLinkColumns[] = {
    {"bytes", [](const net::LinkLoad& of) { return of.bytes; }},
    {"packets", [](const net::LinkLoad& of) { return of.packets; }},
    {"busy_ps", [](const net::LinkLoad& of) { return of.busy_ps; }},
    {"wait_ps", [](const net::LinkLoad& of) { return of.wait_ps; }},
    {"rate_mbps",
     [](const net::LinkLoad& of) { return static_cast<std::uint64_t>(of.gbps * kMbpsPerGbps); }},
};

template <typename Row, std::size_t columns>
std::int64_t copy_column(const Column<Row> (&known)[columns], std::string_view name,
                         const std::vector<Row>& rows, std::uint64_t* values, std::size_t count) {
    const auto* const column = std::ranges::find(known, name, &Column<Row>::name);
    if (column == std::end(known)) {
        return -1;
    }
    const std::size_t copied = std::min(count, rows.size());
    std::transform(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(copied), values,
                   column->read);
    return static_cast<std::int64_t>(copied);
}

std::string list_ends(const softib_simulation& of) {
    const plan::Ends ends(of.experiment.fabric);
    std::string lines;
    for (std::uint32_t end = 0; end < ends.count(); ++end) {
        lines += ends.name(end) + "\n";
    }
    return lines;
}

std::string list_links(const softib_simulation& of) {
    std::string lines;
    for (const net::LinkLoad& link : of.model->links()) {
        lines += plan::name_of(of.experiment.fabric, link.at) + "\n";
    }
    return lines;
}

std::string list_notes(const softib_simulation& of) {
    return fmt::format("{}", fmt::join(of.model->notes(), "\n"));
}

std::string list_basis(const softib_simulation& of) {
    return fmt::format("{}", fmt::join(run::basis_of(of.scenario, of.experiment), "\n"));
}

std::string list_congestion(const softib_simulation& of) {
    const plan::Results results =
        plan::summarise(*of.player, of.experiment.fabric, plan::Ends(of.experiment.fabric),
                        {.adaptive = spec::ways_unknown(of.experiment.options)});
    std::string lines;
    for (const plan::CongestionTree& tree : results.trees) {
        lines += tree.text + "\n";
    }
    return lines;
}

struct Text {
    std::string_view name;
    std::string (*read)(const softib_simulation&);
};

constexpr Text kTexts[] = {
    {"engine", [](const softib_simulation& of) { return of.model->engine(); }},
    {"ends", list_ends},
    {"links", list_links},
    {"notes", list_notes},
    {"basis", list_basis},
    {"congestion", list_congestion},
};

}  // namespace

}  // namespace softib

const char* softib_version() {
    return SOFTIB_VERSION;
}

softib_simulation* softib_open(const char* scenario, const char* folder, char* error,
                               size_t error_bytes) {
    try {
        auto opened = softib::open_scenario(scenario, folder == nullptr ? "" : folder);
        if (opened) {
            return opened->release();
        }
        softib::write_error(opened.error(), error, error_bytes);
    } catch (const std::exception& thrown) {  // Memory is too small for the fabric.
        softib::write_error(fmt::format("cannot make the simulation: {}", thrown.what()), error,
                            error_bytes);
    }
    return nullptr;
}

char* softib_ask(const char* question, const char* folder, char* error, size_t error_bytes) {
    try {
        const auto answer = softib::ask(question, folder == nullptr ? "" : folder);
        if (answer) {
            return strdup(answer->c_str());
        }
        softib::write_error(answer.error(), error, error_bytes);
    } catch (const std::exception& thrown) {
        softib::write_error(fmt::format("cannot answer: {}", thrown.what()), error, error_bytes);
    }
    return nullptr;
}

void softib_free(char* answer) {
    std::free(answer);
}

void softib_close(softib_simulation* simulation) {
    delete simulation;
}

int softib_run(softib_simulation* simulation, uint64_t until_ps, uint32_t events_max) {
    const auto until = std::min<softib::plan::TimePs>(until_ps, simulation->scenario.until);
    if (events_max != 0) {
        return simulation->player->run_some(until, events_max) ? 1 : 0;
    }
    constexpr std::uint32_t kStep = 1U << 20;
    while (!simulation->player->run_some(until, kStep)) {
    }
    return 1;
}

int softib_number(const softib_simulation* simulation, const char* name, uint64_t* value) {
    const auto* const number =
        std::ranges::find(softib::kNumbers, std::string_view(name), &softib::Number::name);
    if (number == std::end(softib::kNumbers)) {
        return -1;
    }
    *value = number->read(*simulation);
    return 0;
}

const char* softib_text(softib_simulation* simulation, const char* name) {
    const auto* const text =
        std::ranges::find(softib::kTexts, std::string_view(name), &softib::Text::name);
    if (text == std::end(softib::kTexts)) {
        return nullptr;
    }
    simulation->text = text->read(*simulation);
    return simulation->text.c_str();
}

int64_t softib_rows(const softib_simulation* simulation, const char* table) {
    const std::string_view name(table);
    if (name == "messages") {
        return static_cast<int64_t>(simulation->player->messages().size());
    }
    return name == "links" ? static_cast<int64_t>(simulation->model->links().size()) : -1;
}

int64_t softib_column(const softib_simulation* simulation, const char* table, const char* column,
                      uint64_t* values, size_t count) {
    const std::string_view name(table);
    if (name == "messages") {
        simulation->player->note_partial();
        return softib::copy_column(softib::kMessageColumns, column, simulation->player->messages(),
                                   values, count);
    }
    return name == "links" ? softib::copy_column(softib::kLinkColumns, column,
                                                 simulation->model->links(), values, count)
                           : -1;
}
