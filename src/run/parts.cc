// SPDX-License-Identifier: BSD-2-Clause
#include "run/parts.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <thread>
#include <type_traits>

#include "net/sim/part_simulation.h"
#include "parallel/job.h"
#include "parallel/threads.h"

namespace softib::run {

namespace {

/// One part of a simulation, with its player.
struct PartRun {
    PartRun(const net::PartedFabric& whole, const spec::Experiment& experiment,
            std::uint32_t number, net::Exchange& exchange)
        : model(whole, number, exchange), player(model, experiment.schedules, number) {}

    /// Runs this part. `stopped` in the result says whether the user stopped this or another part.
    Ran run(const spec::Scenario& scenario, const spec::Experiment& experiment, Watch& watch) {
        Ran ran = play(player, scenario.until, experiment.options.hosts.mtu, watch, false);
        if (ran.stopped) {
            model.stop();
            while (!model.run_some(scenario.until, 1)) {
            }
        }
        ran.stopped = model.stopped();
        return ran;
    }

    net::PartSimulation model;
    plan::Player player;
};

std::expected<net::PartedFabric, std::string> part(const spec::Experiment& experiment,
                                                   std::uint32_t parts) {
    auto whole = net::PartedFabric::make(experiment.fabric, experiment.options, parts);
    if (!whole) {
        return std::unexpected(whole.error().message);
    }
    return *std::move(whole);
}

/// Passes on whether the user has stopped the run, and shows nothing.
class Quiet : public Watch {
  public:
    explicit Quiet(Watch& watch) : watch_(watch) {}
    bool stopped() override { return watch_.stopped(); }

  private:
    Watch& watch_;
};

/// Gives the results of all parts to the first one, and calls `use` with it.
void conclude(PartRun& first, std::vector<net::PartTotals> totals,
              std::vector<plan::PlayerRecords> records, const Ran& ran, const UsePlayer& use) {
    first.model.take_totals(std::move(totals));
    first.player.take_records(std::move(records));
    use(first.player, ran);
}

// The messages that the processes of an MPI job send to the first one: lists of plain records, each
// list after its length.

template <typename T>
void put(std::vector<std::uint8_t>& out, std::span<const T> list) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0);
    const std::uint64_t count = list.size();
    const std::size_t at = out.size();
    out.resize(at + sizeof count + list.size_bytes());
    std::memcpy(out.data() + at, &count, sizeof count);
    if (count != 0) {
        std::memcpy(out.data() + at + sizeof count, list.data(), list.size_bytes());
    }
}

template <typename T>
std::vector<T> get(std::span<const std::uint8_t>& in) {
    std::uint64_t count = 0;
    std::memcpy(&count, in.data(), sizeof count);
    std::vector<T> list(count);
    if (count != 0) {
        std::memcpy(list.data(), in.data() + sizeof count, count * sizeof(T));
    }
    in = in.subspan(sizeof count + count * sizeof(T));
    return list;
}

/// The fields of net::PartTotals that are numbers.
struct Numbers {
    net::ModelStats stats = {};
    net::TimePs now = 0;
    std::uint64_t unfinished = 0;
    double cpu_seconds = 0;
};

std::vector<std::uint8_t> pack(PartRun& run, const Ran& ran) {
    const net::PartTotals totals = run.model.totals();
    const plan::PlayerRecords records = run.player.records();
    const Numbers numbers{totals.stats, totals.now, totals.unfinished, ran.cpu_seconds};
    std::vector<std::uint8_t> out;
    put(out, std::span(&numbers, 1));
    put(out, std::span(totals.links));
    put(out, std::span(records.messages));
    put(out, std::span(records.deliveries));
    return out;
}

}  // namespace

std::expected<void, std::string> run_on_threads(const spec::Scenario& scenario,
                                                const spec::Experiment& experiment,
                                                std::uint32_t threads, Watch& watch,
                                                const UsePlayer& use) {
    const auto whole = part(experiment, threads);
    if (!whole) {
        return std::unexpected(whole.error());
    }
    parallel::Meeting meeting(threads);
    std::vector<std::unique_ptr<PartRun>> runs(threads);
    Ran ran;
    {
        std::vector<std::jthread> others;
        for (std::uint32_t i = 1; i < threads; ++i) {
            others.emplace_back([&, i] {
                runs[i] = std::make_unique<PartRun>(*whole, experiment, i, meeting.seat(i));
                while (!runs[i]->model.run_some(scenario.until, UINT32_MAX)) {
                }
            });
        }
        runs[0] = std::make_unique<PartRun>(*whole, experiment, 0, meeting.seat(0));
        ran = runs[0]->run(scenario, experiment, watch);
    }
    std::vector<net::PartTotals> totals;
    std::vector<plan::PlayerRecords> records;
    for (const auto& run : runs) {
        totals.push_back(run->model.totals());
        records.push_back(run->player.records());
    }
    conclude(*runs[0], std::move(totals), std::move(records), ran, use);
    return {};
}

std::expected<void, std::string> run_in_job(const spec::Scenario& scenario,
                                            const spec::Experiment& experiment,
                                            const std::string& libraries, Watch& watch,
                                            const UsePlayer& use) {
    auto job = parallel::Job::join(libraries);
    if (!job) {
        return std::unexpected(job.error());
    }
    const auto whole = part(experiment, (*job)->size());
    if (!whole) {
        return (*job)->rank() == 0
                   ? std::expected<void, std::string>(std::unexpected(whole.error()))
                   : std::expected<void, std::string>();
    }
    PartRun run(*whole, experiment, (*job)->rank(), **job);
    Quiet quiet(watch);
    Ran ran = run.run(scenario, experiment, (*job)->rank() == 0 ? watch : quiet);
    const auto packed = (*job)->gather(pack(run, ran));
    if ((*job)->rank() != 0) {
        return {};
    }
    std::vector<net::PartTotals> totals;
    std::vector<plan::PlayerRecords> records;
    ran.cpu_seconds = 0;
    for (const std::vector<std::uint8_t>& each : packed) {
        std::span<const std::uint8_t> in(each);
        const Numbers numbers = get<Numbers>(in).front();
        ran.cpu_seconds += numbers.cpu_seconds;
        totals.push_back(
            {.stats = numbers.stats, .now = numbers.now, .unfinished = numbers.unfinished});
        totals.back().links = get<net::LinkLoad>(in);
        records.emplace_back();
        records.back().messages = get<plan::MessageRecord>(in);
        records.back().deliveries = get<plan::Delivery>(in);
    }
    conclude(run, std::move(totals), std::move(records), ran, use);
    return {};
}

}  // namespace softib::run
