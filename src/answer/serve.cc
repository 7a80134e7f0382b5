// SPDX-License-Identifier: BSD-2-Clause
#include "answer/serve.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "answer/json_text.h"
#include "plan/units.h"
#include "spec/cluster/cluster_file.h"
#include "spec/model/model_file.h"

namespace softib::answer {

namespace {

using Json = nlohmann::ordered_json;

std::optional<double> rate_of(const std::string& text) {
    double rate = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), rate);
    return read.ec == std::errc{} && read.ptr == text.data() + text.size() && rate > 0 &&
                   rate <= 1e9
               ? std::optional(rate)
               : std::nullopt;
}

/// Sets what the question says in texts. The error names its key.
std::expected<void, Refusal> read_texts(const ServeQuestion& question,
                                        plan::ServeRequest& request) {
    for (const auto& [name, text, lengths] :
         {std::tuple("--prompt", &question.prompt, &request.prompt),
          std::tuple("--answer", &question.answer, &request.answer)}) {
        const auto read = plan::parse_lengths(*text);
        if (!read) {
            return std::unexpected(
                misuse(fmt::format("{} {}, not '{}'", name, read.error(), *text)));
        }
        *lengths = *read;
    }
    for (const auto& [name, text, part] :
         {std::tuple("--reuse", &question.reuse, &request.reuse),
          std::tuple("--decode-reuse", &question.decode_reuse, &request.decode_reuse)}) {
        const auto read = plan::parse_part(*text);
        if (!read || *read >= 1) {
            return std::unexpected(misuse(fmt::format(
                "{} must be a part of the prompt below 1, as 0.5 or 50%, not '{}'", name, *text)));
        }
        *part = *read;
    }
    const auto rate = rate_of(question.rate);
    if (!rate) {
        return std::unexpected(misuse(
            fmt::format("--rate must be requests a second, as 12.5, not '{}'", question.rate)));
    }
    request.requests_per_s = *rate;
    const auto recipe = plan::parse_recipe(question.precision);
    if (!recipe) {
        return std::unexpected(misuse(fmt::format("--precision must be {}, not '{}'",
                                                  plan::recipe_names(), question.precision)));
    }
    request.prefill.recipe = request.decode.recipe = *recipe;
    request.prefill.kv_bytes_of_number = request.decode.kv_bytes_of_number =
        question.kv_precision == "fp8" ? 1 : 2;
    return {};
}

Json spread_json(const plan::Spread& spread) {
    return {{"median", spread.middle}, {"low", spread.low}, {"high", spread.high}};
}

Json percents_json(const std::array<plan::Spread, plan::kServePercents.size()>& all) {
    Json json;
    for (std::size_t i = 0; i < all.size(); ++i) {
        json[fmt::format("p{:.0f}", plan::kServePercents[i])] = spread_json(all[i]);
    }
    return json;
}

Json parts_json(const plan::FirstTokenParts& parts) {
    return {{"waiting_for_prefill", parts.waited},
            {"prefill", parts.prefill},
            {"waiting_for_room", parts.room},
            {"transfer_alone", parts.alone},
            {"queueing_at_decode_nics", parts.crowded_in},
            {"queueing_at_prefill_nics", parts.crowded_out},
            {"queueing_between_switches", parts.crowded_within},
            {"first_step", parts.joining}};
}

Json row_json(const plan::ServeRow& row) {
    if (!row.why.empty()) {
        return {{"rails", row.rails}, {"why", row.why}};
    }
    return {{"rails", row.rails},
            {"first_token_s", percents_json(row.first_token)},
            {"token_s", percents_json(row.token)},
            {"transfer_s", percents_json(row.transfer)},
            {"fabric_share", spread_json(row.fabric_share)},
            {"fabric_share_of_slowest", spread_json(row.fabric_share_tail)},
            {"first_token_parts_s", parts_json(row.parts)},
            {"slowest_parts_s", parts_json(row.tail)},
            {"transfers_at_once_most", row.senders_most},
            {"requests_by_transfers_at_once", row.senders},
            {"decode_nic_load", row.nic_load}};
}

}  // namespace

std::expected<plan::ServeAnswer, Refusal> serve(const ServeQuestion& question, const Watch& watch) {
    if (question.model.empty() || question.cluster.empty()) {
        return std::unexpected(misuse(question.model.empty()
                                          ? "say which model: --model NAME (softib plan models)"
                                          : "say which cluster: --cluster NAME (softib plan "
                                            "presets)"));
    }
    plan::ServeRequest request;
    if (auto read = read_texts(question, request); !read) {
        return std::unexpected(read.error());
    }
    auto model = spec::named_model(question.model);
    if (!model) {
        return std::unexpected(Refusal{model.error()});
    }
    auto cluster = spec::find_cluster(question.cluster, 0);
    if (!cluster) {
        return std::unexpected(Refusal{cluster.error()});
    }
    request.model = *std::move(model);
    request.cluster = *std::move(cluster);
    const std::uint32_t gpus = request.cluster.gpus_per_node;
    request.prefill_nodes = question.prefill;
    request.decode_nodes = question.decode;
    request.prefill.tp = question.prefill_tp != 0 ? question.prefill_tp : gpus;
    request.decode.tp = question.decode_tp != 0 ? question.decode_tp : gpus;
    request.stream = question.stream;
    request.batch_most = question.batch;
    request.rails = question.rails;
    request.requests = question.requests;
    request.seed = question.seed;
    request.seeds = question.seeds;
    request.network =
        question.network == "packet" ? net::ModelKind::kPacket : net::ModelKind::kFlow;
    request.progress = watch;
    auto answer = plan::plan_service(request);
    if (!answer) {
        return std::unexpected(Refusal{answer.error()});
    }
    for (std::string& note : plan::notes_of(request.cluster)) {
        answer->notes.push_back(std::move(note));
    }
    return *std::move(answer);
}

std::string to_json(const plan::ServeAnswer& answer) {
    const plan::ServeRequest& request = answer.request;
    Json rows = Json::array();
    for (const plan::ServeRow& row : answer.rows) {
        rows.push_back(row_json(row));
    }
    return json_text({{"model", request.model.name},
                      {"cluster", request.cluster.name},
                      {"gpu", request.cluster.gpu.name},
                      {"prefill_nodes", request.prefill_nodes},
                      {"decode_nodes", request.decode_nodes},
                      {"prefill_tp", request.prefill.tp},
                      {"decode_tp", request.decode.tp},
                      {"requests_per_s", request.requests_per_s},
                      {"stream", request.stream},
                      {"requests", request.requests},
                      {"runs", request.seeds},
                      {"kv_bytes_per_token", answer.kv_bytes},
                      {"kv_bytes_per_prompt", answer.prompt_kv_bytes},
                      {"kv_tokens_of_a_decode_instance", answer.kv_tokens_most},
                      {"prefill_busy", answer.prefill_busy},
                      {"decode_batch", answer.decode_batch},
                      {"rows", std::move(rows)},
                      {"notes", answer.notes}});
}

}  // namespace softib::answer
