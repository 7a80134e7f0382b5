// SPDX-License-Identifier: BSD-2-Clause
#include "answer/calibration.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

#include "answer/ask.h"
#include "plan/cluster/presets.h"
#include "spec/cluster/rates_file.h"
#include "spec/text_file.h"

namespace softib::answer {
namespace {

constexpr char kH200[] = SOFTIB_KERNELS "/h200.json";

/// A file with a text, which goes with the object.
class File {
  public:
    explicit File(const std::string& text)
        : path_(testing::TempDir() + "measurements." + std::to_string(getpid())) {
        std::ofstream(path_) << text;
    }
    ~File() { std::filesystem::remove(path_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

std::string error_of(const std::string& text, const std::string& cluster = "") {
    const File file(text);
    const auto report = calibrate({.measurements = file.path(), .cluster = cluster});
    return report ? "" : report.error().text.substr(file.path().size());
}

TEST(Calibrate, AnH200IsMetByFiguresThatWereMeasuredOnIt) {
    const auto report = calibrate({.measurements = kH200});
    ASSERT_TRUE(report) << report.error().text;
    EXPECT_EQ(report->gpu, "H200");
    EXPECT_EQ(report->base, "hopper");
    ASSERT_EQ(report->kinds.size(), 7U);
    for (const CalibratedKind& kind : report->kinds) {
        EXPECT_LT(kind.mean_error, 0.04) << kind.what;
    }
    // The rates of the planner were found on another day, on other shapes.
    EXPECT_NEAR(report->rates.matmul[0], 0.687, 0.03);
}

TEST(Calibrate, ProductsThatHadNoPartAreMet) {
    auto json = nlohmann::json::parse(spec::read_file(kH200).value());
    std::vector<plan::TimedKernel> left_out;
    auto& kernels = json["kernels"];
    auto kept = nlohmann::json::array();
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const auto& each = kernels[i];
        if (each["kind"] == "product" && i % 2 != 0) {
            left_out.push_back({.recipe = *plan::parse_recipe(each["recipe"].get<std::string>()),
                                .m = each["m"],
                                .n = each["n"],
                                .k = each["k"],
                                .batch = each["batch"],
                                .seconds = each["seconds"]});
        } else {
            kept.push_back(each);
        }
    }
    kernels = kept;
    const File file(json.dump());
    const auto report = calibrate({.measurements = file.path()});
    ASSERT_TRUE(report) << report.error().text;
    plan::Gpu gpu = *plan::find_gpu("H200");
    gpu.rates = report->rates;
    double sum = 0;
    for (const plan::TimedKernel& each : left_out) {
        sum += std::abs(seconds_of(gpu, each) / each.seconds - 1);
    }
    ASSERT_EQ(left_out.size(), 61U);
    EXPECT_LT(sum / static_cast<double>(left_out.size()), 0.04);
}

TEST(Calibrate, TheFileOfRatesIsReadAsItWasFound) {
    const auto report = calibrate({.measurements = kH200});
    ASSERT_TRUE(report) << report.error().text;
    const auto read = spec::parse_rates(to_toml(*report), "ours.toml");
    ASSERT_TRUE(read) << read.error();
    EXPECT_NEAR(read->matmul[0], report->rates.matmul[0], 1e-4);
    EXPECT_NEAR(read->start_us, report->rates.start_us, 1e-3);
    EXPECT_EQ(read->host_us, report->rates.host_us);
    EXPECT_TRUE(read->source.starts_with("kernels timed on NVIDIA H200 (PyTorch 2.11"));
    const std::string asked =
        "ask = \"calibrate\"\nmeasurements = \"" + std::string(kH200) + "\"\n";
    EXPECT_EQ(ask(asked, "").value().value(), to_json(*report));
}

TEST(Calibrate, ExchangesBoundThoseOfExperts) {
    auto json = nlohmann::json::parse(spec::read_file(kH200).value());
    const auto with = [&](double seconds) {
        auto more = json;
        more["kernels"].push_back(
            {{"kind", "all-to-all"}, {"ranks", 8}, {"bytes", 256 << 20}, {"seconds", seconds}});
        const File file(more.dump());
        const auto report = calibrate({.measurements = file.path()});
        EXPECT_TRUE(report);
        EXPECT_NEAR(report->exchanges.at(0).part, (256 << 20) * 7.0 / 8 / seconds / 450e9, 1e-9);
        return report->rates.expert_exchange;
    };
    EXPECT_EQ(with(1e-3), 0.278);
    EXPECT_NEAR(with(10e-3), (256 << 20) * 7.0 / 8 / 10e-3 / 450e9, 1e-9);
}

TEST(Calibrate, RefusesWhatIsNoMeasurement) {
    constexpr char kNone[] =
        ": no file of measurements: 'softib plan calibrate --program' prints the program that "
        "writes one";
    for (const char* const text : {"", "{", "[]", "{}", "{\"kernels\": 1}"}) {
        EXPECT_EQ(error_of(text), kNone) << text;
    }
    const auto kernel = [](const std::string& text) {
        return error_of("{\"device\": \"NVIDIA H200\", \"kernels\": [" + text + "]}");
    };
    EXPECT_EQ(kernel("1"), ": is no object");
    EXPECT_EQ(kernel("{\"kind\": \"pass\", \"bytes\": 1, \"seconds\": 1}, {\"kind\": \"p\"}"),
              ": kernel 1: 'p' is no kind of kernel");
    EXPECT_EQ(kernel("{\"kind\": \"pass\", \"bytes\": 1, \"seconds\": -1}"),
              ": 'seconds' must be a number above 0");
    EXPECT_EQ(kernel("{\"kind\": \"pass\", \"bytes\": 1e300, \"seconds\": 1}"),
              ": 'bytes' must be a number above 0");
    EXPECT_TRUE(kernel("{\"kind\": \"product\", \"recipe\": \"int8\", \"seconds\": 1}")
                    .starts_with(": 'int8' is no recipe; there are bf16"));
    EXPECT_EQ(kernel(""), ": the measurements have no passes over memory");
    EXPECT_TRUE(error_of("{\"device\": \"TPU\", \"kernels\": []}")
                    .starts_with(": the planner knows no GPU 'TPU': give its cluster"));
}

}  // namespace
}  // namespace softib::answer
