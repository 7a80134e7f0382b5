// SPDX-License-Identifier: BSD-2-Clause
#include "plan/serve/serving.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "plan/cluster/presets.h"
#include "plan/collective/cluster_network.h"
#include "plan/serve/kv.h"

namespace softib::plan {
namespace {

constexpr std::uint32_t kNodes = 17;

std::unique_ptr<net::Model> network() {
    const Cluster cluster = with_nodes(*find_preset("hgx-h200"), kNodes);
    return make_network(cluster, net::ModelKind::kFlow, {}).value();
}

/// Returns a service whose decode pool, one instance at the last node, takes no time.
ServeSetup quick_decode(std::uint32_t prefills, std::uint32_t requests, double rate) {
    ServeSetup setup;
    for (std::uint32_t i = 0; i < prefills; ++i) {
        setup.prefill.push_back({{i * 8}});
    }
    setup.decode = {{{(kNodes - 1) * 8}}};
    setup.requests = requests;
    setup.requests_per_s = rate;
    setup.prompt = {.mean = 1000};
    setup.answer = {.mean = 1};
    setup.batch_most = 1'000'000;
    setup.prefill_s = [](double tokens, double) { return tokens * 1e-6; };
    setup.step_s = [](std::uint32_t, double) { return 1e-9; };
    return setup;
}

double no_time(std::uint32_t, std::uint32_t, double) {
    return 0;
}

double mean(const ServeRun& run, double Served::* what) {
    double sum = 0;
    for (const Served& each : run.requests) {
        sum += each.*what;
    }
    return sum / static_cast<double>(run.requests.size());
}

TEST(Serving, PromptsOfOneLengthWaitAsInMD1) {
    for (const double load : {0.3, 0.6, 0.8}) {
        const double service = 1e-3;
        const ServeSetup setup = quick_decode(1, 200'000, load / service);
        const auto run = serve(setup, *network(), no_time);
        ASSERT_TRUE(run) << run.error();
        const double expected = load * service / (2 * (1 - load));
        EXPECT_NEAR(mean(*run, &Served::waited) / expected, 1, 0.04) << load;
        EXPECT_NEAR(run->prefill_busy, load, 0.01);
    }
}

TEST(Serving, PromptsOfAnyLengthWaitAsInMG1) {
    const double load = 0.6;
    ServeSetup setup = quick_decode(1, 200'000, load / 1e-3);
    setup.prompt = {.kind = Lengths::Kind::kUniform, .mean = 1000, .low = 1, .high = 1999};
    const auto run = serve(setup, *network(), no_time);
    ASSERT_TRUE(run) << run.error();
    // Pollaczek and Khinchin: the mean square of the service time counts.
    double square = 0;
    for (const Served& each : run->requests) {
        square += each.prefill * each.prefill / 200'000;
    }
    EXPECT_NEAR(square, 1e-6 * 4 / 3, 1e-8);
    const double expected = setup.requests_per_s * square / (2 * (1 - load));
    EXPECT_NEAR(mean(*run, &Served::waited) / expected, 1, 0.04);
}

TEST(Serving, TransfersToOneDecodeNodeShareItsNic) {
    // A link shared evenly: the mean time of a transfer is that alone by the part that is free,
    // whatever their lengths are (M/G/1, processor sharing).
    ServeSetup setup = quick_decode(16, 30'000, 1);
    setup.prefill_s = [](double, double) { return 1e-9; };
    setup.kv_bytes = 1e5;
    auto probe = network();
    ServeSetup one = setup;
    one.requests = 1;
    const double alone = serve(one, *probe, no_time)->requests[0].crowded;  // All of it.
    for (const double load : {0.3, 0.7}) {
        setup.requests_per_s = load / alone;
        const auto run =
            serve(setup, *network(), [&](std::uint32_t, std::uint32_t, double) { return alone; });
        ASSERT_TRUE(run) << run.error();
        double took = 0;
        for (const Served& each : run->requests) {
            took += each.transfer() / 30'000;
        }
        EXPECT_NEAR(took / (alone / (1 - load)), 1, 0.05) << load;
        EXPECT_GT(mean(*run, &Served::crowded_in), 20 * mean(*run, &Served::crowded_out));
        EXPECT_GT(mean(*run, &Served::crowded_in), 20 * mean(*run, &Served::crowded_within));
    }
}

TEST(Serving, TransfersThatShareCablesBetweenSwitchesQueueThere) {
    // Four NICs of one leaf send to four of another, with one cable up from each leaf.
    Cluster cluster = *find_preset("hgx-h200");
    cluster.fabric.spec = {.shape = topo::Shape::kFatTree,
                           .hosts = 8,
                           .radix = 8,
                           .levels = 2,
                           .oversubscription = {4, 1}};
    auto tree = make_network(cluster, net::ModelKind::kFlow, {});
    ASSERT_TRUE(tree) << tree.error();
    ServeSetup setup = quick_decode(1, 4, 1e6);
    setup.prefill = {{{0}}, {{1}}, {{2}}, {{3}}};
    setup.decode = {{{4}}, {{5}}, {{6}}, {{7}}};
    setup.prefill_s = [](double, double) { return 1e-9; };
    setup.kv_bytes = 1e5;
    const double alone = setup.kv_bytes * 1000 / cluster.nic_bytes_per_s();
    const auto run =
        serve(setup, **tree, [alone](std::uint32_t, std::uint32_t, double) { return alone; });
    ASSERT_TRUE(run) << run.error();
    EXPECT_GT(mean(*run, &Served::crowded), 2 * alone);
    EXPECT_GT(mean(*run, &Served::crowded_within), 0.95 * mean(*run, &Served::crowded));
}

TEST(Serving, TheBytesThatAreSentAreThoseOfTheKvCaches) {
    ServeSetup setup = quick_decode(4, 500, 100);
    setup.prompt = {.kind = Lengths::Kind::kExponential, .mean = 2000};
    setup.decode_reuse = 0.25;
    setup.kv_bytes = kv_bytes_per_token(*find_model("llama3.1-70b"));
    auto fabric = network();
    const auto run = serve(setup, *fabric, no_time);
    ASSERT_TRUE(run) << run.error();
    double tokens = 0;
    for (const Served& each : run->requests) {
        tokens += each.prompt - std::floor(0.25 * each.prompt);
    }
    EXPECT_DOUBLE_EQ(run->sent_bytes, tokens * 327'680);
    double arrived = 0;
    for (const net::LinkLoad& link : fabric->links()) {
        // What comes to an HCA; with the headers of packets it is a little more.
        arrived += link.peer.node < kNodes * 8 && link.peer.port == 1 && link.at.port != 1
                       ? static_cast<double>(link.bytes)
                       : 0;
    }
    EXPECT_GT(arrived, run->sent_bytes);
    EXPECT_LT(arrived, run->sent_bytes * 1.03);
}

TEST(Serving, EveryRequestHasItsTimesInOrder) {
    ServeSetup setup = quick_decode(3, 400, 900);
    setup.kv_bytes = 1e5;
    setup.answer = {.mean = 20};
    setup.kv_tokens_most = 5000;
    setup.batch_most = 3;
    setup.step_s = [](std::uint32_t batch, double context) {
        return 1e-6 * batch + 1e-9 * context;
    };
    const auto run = serve(setup, *network(), no_time);
    ASSERT_TRUE(run) << run.error();
    double room = 0;
    for (const Served& each : run->requests) {
        EXPECT_GE(each.waited, 0);
        EXPECT_GE(each.room, 0);
        EXPECT_GT(each.joining, 0);
        EXPECT_GT(each.token, 0);
        EXPECT_NEAR(each.crowded_in + each.crowded_out + each.crowded_within, each.crowded, 1e-12);
        EXPECT_LE(each.arrived + each.first_token(), run->seconds);
        room += each.room;
    }
    EXPECT_GT(room, 0);  // A decode instance holds four of them at once.
    EXPECT_LE(run->decode_batch, 3);
}

TEST(Serving, PartsThatTravelWhileAPromptIsComputedCostNoTime) {
    ServeSetup setup = quick_decode(16, 300, 20);
    setup.prefill_s = [](double, double) { return 0.2; };
    setup.kv_bytes = 1e6;
    const auto whole = serve(setup, *network(), no_time);
    setup.parts = 8;
    const auto parts = serve(setup, *network(), no_time);
    ASSERT_TRUE(whole && parts);
    EXPECT_NEAR(parts->sent_bytes, whole->sent_bytes, 1);
    // An eighth is left when the prefill has ended, and others are seldom in its way.
    const double ratio = mean(*parts, &Served::crowded) / mean(*whole, &Served::crowded);
    EXPECT_GT(ratio, 1.0 / 8);
    EXPECT_LT(ratio, 1.0 / 3);
    // Nothing begins without room, which a prefill waits for then.
    setup.kv_tokens_most = 1500;
    const auto tight = serve(setup, *network(), no_time);
    ASSERT_TRUE(tight);
    EXPECT_EQ(mean(*tight, &Served::room), 0);
    EXPECT_GT(mean(*tight, &Served::waited), 10 * mean(*parts, &Served::waited));
}

TEST(Serving, ASeedIsARun) {
    ServeSetup setup = quick_decode(2, 300, 1500);
    setup.prompt = {.kind = Lengths::Kind::kLognormal, .mean = 1000, .sigma = 1};
    setup.kv_bytes = 1e4;
    const auto one = serve(setup, *network(), no_time);
    const auto same = serve(setup, *network(), no_time);
    setup.seed = 2;
    const auto other = serve(setup, *network(), no_time);
    EXPECT_EQ(one->seconds, same->seconds);
    EXPECT_NE(one->seconds, other->seconds);
}

TEST(Serving, EndsThatNoRouteJoinsAreAnError) {
    Cluster cluster = with_nodes(*find_preset("hgx-h200"), 2);
    cluster.fabric.spec.shape = topo::Shape::kRailOnly;
    auto rails = make_network(cluster, net::ModelKind::kFlow, {});
    ASSERT_TRUE(rails) << rails.error();
    ServeSetup setup = quick_decode(1, 3, 10);
    setup.decode = {{{8 + 1}}};  // Another rail.
    setup.kv_bytes = 1e4;
    const auto run = serve(setup, **rails, no_time);
    ASSERT_FALSE(run);
    EXPECT_TRUE(run.error().contains("do not join")) << run.error();
}

TEST(KvCache, ItsBytesAreThoseOfTheFormulae) {
    EXPECT_EQ(kv_bytes_per_token(*find_model("llama3.1-70b")), 2 * 80 * 8 * 128 * 2);
    EXPECT_EQ(kv_bytes_per_token(*find_model("gpt3-175b")), 2.0 * 96 * 12288 * 2);
    EXPECT_EQ(kv_bytes_per_token(*find_model("deepseek-v3"), 1), 61 * (512 + 64));
    EXPECT_EQ(kv_bytes_per_token_and_gpu(*find_model("llama3.1-70b"), 4), 327'680 / 4);
    EXPECT_EQ(kv_bytes_per_token_and_gpu(*find_model("llama3.1-70b"), 16), 327'680 / 8);
    EXPECT_EQ(kv_bytes_per_token_and_gpu(*find_model("deepseek-v3"), 8), 61 * 576 * 2);
}

TEST(Lengths, DistributionsHaveTheirMeans) {
    for (const char* text : {"700", "uniform:200:1200", "exp:700", "lognormal:700:0.8"}) {
        const auto lengths = parse_lengths(text);
        ASSERT_TRUE(lengths) << text;
        EXPECT_EQ(lengths->mean, 700);
        Prng random(7);
        double sum = 0;
        constexpr int kDraws = 100'000;
        for (int i = 0; i < kDraws; ++i) {
            sum += lengths->draw(random);
        }
        EXPECT_NEAR(sum / kDraws / 700, 1, 0.02) << text;
    }
    for (const char* text : {"", "0", "1.5", "uniform:5", "uniform:9:3", "exp:", "lognormal:7",
                             "lognormal:7:9", "gamma:3:4", "5000000"}) {
        EXPECT_FALSE(parse_lengths(text)) << text;
    }
}

}  // namespace
}  // namespace softib::plan
