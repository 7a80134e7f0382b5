// SPDX-License-Identifier: BSD-2-Clause
#include "answer/calibration.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "answer/json_text.h"
#include "plan/cluster/presets.h"
#include "spec/cluster/cluster_file.h"
#include "spec/text_file.h"

namespace softib::answer {

namespace {

using Json = nlohmann::ordered_json;
using plan::KernelKind;
using plan::TimedKernel;

constexpr double kNumberMost = 1e18;  ///< No shape, rate or time of a kernel is greater.

constexpr std::pair<std::string_view, KernelKind> kKernelKinds[] = {
    {"product", KernelKind::kProduct},
    {"flash", KernelKind::kFlash},
    {"flash-backward", KernelKind::kFlashBackward},
    {"pass", KernelKind::kPass},
    {"start", KernelKind::kStart}};
constexpr std::string_view kExchanges[] = {"all-to-all", "all-reduce"};

/// What the file of measurements says.
struct Measurements {
    std::string device = {};
    std::string software = {};
    std::uint32_t capability = 0;  ///< 0: not said.
    double power_w = 0;            ///< 0: not said.
    std::vector<TimedKernel> kernels = {};
    std::vector<TimedExchange> exchanges = {};
};

/// Reads the file of measurements, which may be anything.
class MeasurementsReader {
  public:
    explicit MeasurementsReader(const std::string& file) : file_(file) {}

    std::expected<Measurements, std::string> read(const std::string& text) {
        const Json json = Json::parse(text, nullptr, false);
        const auto kernels = json.is_object() ? json.find("kernels") : json.end();
        if (!json.is_object() || kernels == json.end() || !kernels->is_array()) {
            return std::unexpected(
                file_ +
                ": no file of measurements: 'softib plan calibrate --program' prints the "
                "program that writes one");
        }
        Measurements read;
        read.device = text_of(json, "device");
        read.software = text_of(json, "software");
        const auto number = [&](const char* name) {
            return json.contains(name) ? number_of(json, name) : 0;
        };
        read.capability = static_cast<std::uint32_t>(std::min(number("capability"), 1e3));
        read.power_w = number("power_w");
        for (const Json& each : *kernels) {
            take(each, read);
            ++place_;
        }
        return fault_.empty() ? std::expected<Measurements, std::string>(std::move(read))
                              : std::unexpected(fault_);
    }

  private:
    static std::string text_of(const Json& json, const char* name) {
        const auto found = json.find(name);
        return found != json.end() && found->is_string() ? found->get<std::string>() : "";
    }

    double number_of(const Json& json, const char* name) {
        const auto found = json.find(name);
        const double value = found != json.end() && found->is_number() ? found->get<double>() : -1;
        if (!(value > 0 && value < kNumberMost)) {
            refuse(fmt::format("'{}' must be a number above 0", name));
            return 1;
        }
        return value;
    }

    void refuse(const std::string& what) {
        if (fault_.empty()) {
            fault_ = place_ == 0 ? fmt::format("{}: {}", file_, what)
                                 : fmt::format("{}: kernel {}: {}", file_, place_, what);
        }
    }

    void take(const Json& json, Measurements& read) {
        if (!json.is_object()) {
            refuse("is no object");
            return;
        }
        const std::string kind = text_of(json, "kind");
        if (std::ranges::find(kExchanges, kind) != std::end(kExchanges)) {
            read.exchanges.push_back({.op = kind,
                                      .ranks = number_of(json, "ranks"),
                                      .bytes = number_of(json, "bytes"),
                                      .seconds = number_of(json, "seconds")});
            return;
        }
        const auto known =
            std::ranges::find(kKernelKinds, kind, &std::pair<std::string_view, KernelKind>::first);
        if (known == std::end(kKernelKinds)) {
            refuse(fmt::format("'{}' is no kind of kernel", kind));
            return;
        }
        TimedKernel kernel{.kind = known->second, .seconds = number_of(json, "seconds")};
        if (kernel.kind == KernelKind::kProduct) {
            const auto recipe = plan::parse_recipe(text_of(json, "recipe"));
            if (!recipe) {
                refuse(fmt::format("'{}' is no recipe; there are {}", text_of(json, "recipe"),
                                   plan::recipe_names()));
                return;
            }
            kernel.recipe = *recipe;
            kernel.m = number_of(json, "m");
            kernel.n = number_of(json, "n");
            kernel.k = number_of(json, "k");
            kernel.batch = number_of(json, "batch");
        } else if (kernel.kind == KernelKind::kPass) {
            kernel.bytes = number_of(json, "bytes");
        } else if (kernel.kind != KernelKind::kStart) {
            kernel.flops = number_of(json, "flops");
        }
        read.kernels.push_back(kernel);
    }

    const std::string& file_;
    std::size_t place_ = 0;
    std::string fault_;
};

/// Returns the known GPU whose name a device's name has: the longest such name, since "GB200" has
/// "B200" in it.
const plan::SoldGpu* named_in(const std::string& device) {
    const plan::SoldGpu* best = nullptr;
    for (const plan::SoldGpu& each : plan::sold_gpus()) {
        if (device.find(each.gpu.name) != std::string::npos &&
            (best == nullptr || best->gpu.name.size() < each.gpu.name.size())) {
            best = &each;
        }
    }
    return best;
}

/// Tells how far the rates are from the kernels that `of` selects.
template <typename Of>
void add_kind(const plan::Gpu& gpu, const std::vector<TimedKernel>& kernels, std::string what,
              double reached, Of of, std::vector<CalibratedKind>& kinds) {
    CalibratedKind kind{.what = std::move(what), .reached = reached};
    for (const TimedKernel& kernel : kernels) {
        if (of(kernel)) {
            const double error = std::abs(seconds_of(gpu, kernel) / kernel.seconds - 1);
            ++kind.kernels;
            kind.mean_error += error;
            kind.most_error = std::max(kind.most_error, error);
        }
    }
    if (kind.kernels != 0) {
        kind.mean_error /= static_cast<double>(kind.kernels);
        kinds.push_back(std::move(kind));
    }
}

std::vector<CalibratedKind> kinds_of(plan::Gpu gpu, double power_w, const plan::Rates& rates,
                                     const std::vector<TimedKernel>& kernels) {
    gpu.rates = rates;
    gpu.rates.in_steps = 1;  // Alone, kernels do not share the GPU with the rest of a step.
    gpu.power_w = power_w;
    std::vector<CalibratedKind> kinds;
    for (const plan::Recipe recipe : plan::kRecipes) {
        add_kind(
            gpu, kernels, fmt::format("products, {}", to_string(recipe)),
            rates.matmul[static_cast<std::size_t>(recipe)],
            [recipe](const TimedKernel& each) {
                return each.kind == KernelKind::kProduct && each.recipe == recipe;
            },
            kinds);
    }
    const auto of = [](KernelKind kind) {
        return [kind](const TimedKernel& each) { return each.kind == kind; };
    };
    add_kind(gpu, kernels, "attention", rates.flash, of(KernelKind::kFlash), kinds);
    add_kind(gpu, kernels, "attention, backward", rates.flash_backward,
             of(KernelKind::kFlashBackward), kinds);
    add_kind(gpu, kernels, "memory", rates.memory, of(KernelKind::kPass), kinds);
    return kinds;
}

/// Compares exchanges with NVLink. Experts' exchanges never go quicker than they do.
void take_exchanges(std::vector<TimedExchange>& exchanges, const plan::NvLink& nvlink,
                    plan::Rates& rates) {
    double best = 0;
    for (TimedExchange& each : exchanges) {
        const bool sums = each.op == "all-reduce";
        const double sent = (sums ? 2 : 1) * each.bytes * (each.ranks - 1) / each.ranks;
        each.part = nvlink.bytes_per_s == 0 ? 0 : sent / each.seconds / nvlink.bytes_per_s;
        best = sums ? best : std::max(best, each.part);
    }
    constexpr double kLeast = 0.001;
    if (best > kLeast) {
        rates.expert_exchange = std::min(rates.expert_exchange, best);
    }
}

}  // namespace

std::expected<CalibrationReport, Refusal> calibrate(const CalibrateQuestion& question) {
    const auto refuse = [](std::string text) { return std::unexpected(Refusal{std::move(text)}); };
    plan::SoldGpu of;
    if (!question.cluster.empty()) {
        const auto cluster = spec::find_cluster(question.cluster);
        if (!cluster) {
            return refuse(cluster.error());
        }
        of = {.gpu = cluster->gpu, .nvlink = cluster->nvlink};
    }
    if (question.measurements.empty()) {
        return refuse("say where the measurements are: measurements = \"FILE\"");
    }
    const auto text = spec::read_file(question.measurements);
    if (!text) {
        return refuse(text.error());
    }
    auto read = MeasurementsReader(question.measurements).read(*text);
    if (!read) {
        return refuse(read.error());
    }
    if (question.cluster.empty()) {
        const plan::SoldGpu* const named = named_in(read->device);
        if (named == nullptr) {
            return refuse(fmt::format(
                "{}: the planner knows no GPU '{}': give its cluster by --cluster, or a "
                "file that describes one",
                question.measurements, read->device));
        }
        of = *named;
    }
    const plan::Rates& base =
        read->capability == 0 ? of.gpu.rates
                              : plan::rates_of(std::max(
                                    read->capability, plan::rates_presets()[0].compute_capability));
    const double power_w = read->power_w == 0 ? of.gpu.power_w : read->power_w;
    auto rates = plan::calibrate(of.gpu, power_w, base, read->kernels);
    if (!rates) {
        return refuse(fmt::format("{}: {}", question.measurements, rates.error()));
    }
    CalibrationReport report{.device = read->device,
                             .software = read->software,
                             .gpu = of.gpu.name,
                             .base = base.name,
                             .rates = *std::move(rates),
                             .kinds = {},
                             .exchanges = std::move(read->exchanges)};
    for (const plan::Recipe recipe : plan::kRecipes) {
        if (std::ranges::any_of(read->kernels, [recipe](const TimedKernel& each) {
                return each.kind == KernelKind::kProduct && each.recipe == recipe;
            })) {
            report.measured.emplace_back(to_string(recipe));
        }
    }
    report.kinds = kinds_of(of.gpu, power_w, report.rates, read->kernels);
    take_exchanges(report.exchanges, of.nvlink, report.rates);
    return report;
}

std::string to_toml(const CalibrationReport& report) {
    const plan::Rates& rates = report.rates;
    std::string text = fmt::format(
        "# What kernels reach on {}, timed one by one by 'softib plan calibrate'. What stands\n"
        "# here not is that of {}: it was not measured.\n"
        "base = \"{}\"\nsource = {}\n",
        report.device, report.base, report.base,
        Json(fmt::format("kernels timed on {} ({})", report.device, report.software))
            .dump(-1, ' ', true, Json::error_handler_t::replace));
    const std::pair<const char*, double> numbers[] = {{"watts_per_sm", rates.watts_per_sm},
                                                      {"result", rates.result},
                                                      {"small_tile", rates.small_tile},
                                                      {"start_us", rates.start_us},
                                                      {"flash", rates.flash},
                                                      {"flash_backward", rates.flash_backward},
                                                      {"memory", rates.memory}};
    for (const auto& [name, value] : numbers) {
        text += fmt::format("{} = {:.4g}\n", name, value);
    }
    if (!report.exchanges.empty()) {
        text += fmt::format("expert_exchange = {:.4g}\n", rates.expert_exchange);
    }
    text += "[matmul]\n";
    for (const std::string& name : report.measured) {
        text += fmt::format("{} = {:.4g}\n", name,
                            rates.matmul[static_cast<std::size_t>(*plan::parse_recipe(name))]);
    }
    return text;
}

std::string to_json(const CalibrationReport& report) {
    Json kinds = Json::array();
    for (const CalibratedKind& each : report.kinds) {
        kinds.push_back({{"kernels", each.what},
                         {"count", each.kernels},
                         {"of_peak", each.reached},
                         {"mean_error", each.mean_error},
                         {"greatest_error", each.most_error}});
    }
    Json exchanges = Json::array();
    for (const TimedExchange& each : report.exchanges) {
        exchanges.push_back({{"op", each.op},
                             {"ranks", each.ranks},
                             {"bytes", each.bytes},
                             {"seconds", each.seconds},
                             {"of_nvlink", each.part}});
    }
    return json_text(Json{{"device", report.device},
                          {"software", report.software},
                          {"gpu", report.gpu},
                          {"base", report.base},
                          {"kinds", std::move(kinds)},
                          {"exchanges", std::move(exchanges)},
                          {"rates", to_toml(report)}});
}

}  // namespace softib::answer
