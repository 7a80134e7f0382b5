// SPDX-License-Identifier: BSD-2-Clause
#include <nlohmann/json.hpp>

#include "answer/json_text.h"
#include "answer/train.h"

namespace softib::answer {

namespace {

using Json = nlohmann::ordered_json;

Json mapping_json(const plan::Mapping& mapping) {
    return {{"gpus", mapping.gpus},
            {"tp", mapping.tp},
            {"pp", mapping.pp},
            {"interleave", mapping.interleave},
            {"cp", mapping.cp},
            {"ep", mapping.ep},
            {"etp", mapping.etp},
            {"cp_comm", plan::to_string(mapping.cp_comm)},
            {"dp", mapping.dp()},
            {"zero", mapping.zero},
            {"hsdp", mapping.shards()},
            {"batch", mapping.batch},
            {"micro_batch", mapping.micro_batch},
            {"micro_batches", mapping.micro_batches()},
            {"sequence", mapping.sequence},
            {"sequence_parallel", mapping.sequence_parallel},
            {"recompute", plan::to_string(mapping.recompute)},
            {"recompute_layers", mapping.recompute_layers},
            {"offload_layers", mapping.offload_layers},
            {"offload_optimizer", mapping.offload_optimizer},
            {"fp8_activations", mapping.fp8_activations},
            {"attention", plan::to_string(mapping.attention)},
            {"precision", plan::to_string(mapping.recipe)},
            {"grad_bytes", mapping.grad_bytes},
            {"param_bytes", mapping.param_bytes},
            {"lora", mapping.lora},
            {"lora_targets", plan::to_string(mapping.lora_targets)},
            {"tp_overlap", plan::to_string(mapping.tp_overlap)},
            {"overlap_dp", mapping.overlap_dp},
            {"overlap_pp", mapping.overlap_pp},
            {"overlap_ep", mapping.overlap_ep},
            {"cuda_graphs", mapping.cuda_graphs},
            {"comm_sms", mapping.comm_sms},
            {"uneven", mapping.uneven},
            {"rank_order", mapping.pp_inside ? "tp-cp-pp-dp" : "tp-cp-dp-pp"}};
}

Json parts_json(const plan::StepParts& parts) {
    Json exposed = Json::object();
    for (const plan::Dimension dimension : plan::kDimensions) {
        exposed[plan::to_string(dimension)] = parts.exposed[static_cast<std::size_t>(dimension)];
    }
    return {{"matmul", parts.matmul},           {"attention", parts.attention},
            {"elementwise", parts.elementwise}, {"host", parts.host},
            {"recompute", parts.recompute},     {"exposed", exposed},
            {"bubble", parts.bubble},           {"optimizer", parts.optimizer}};
}

Json bytes_json(const plan::Step& step) {
    Json bytes = Json::object();
    for (const plan::Dimension dimension : plan::kDimensions) {
        const plan::LinkBytes& each = step.bytes[static_cast<std::size_t>(dimension)];
        bytes[plan::to_string(dimension)] = {{"nvlink", each.nvlink}, {"fabric", each.fabric}};
    }
    return bytes;
}

Json memory_json(const plan::MemoryUse& memory) {
    return {{"stage", memory.stage},
            {"weights", memory.weights},
            {"gradients", memory.gradients},
            {"optimizer", memory.optimizer},
            {"activations", memory.activations},
            {"working", memory.working},
            {"reserved", memory.reserved},
            {"total", memory.total()},
            {"capacity", memory.capacity}};
}

Json model_json(const plan::Model& model) {
    return {{"name", model.name},
            {"parameters", plan::total_parameters(model)},
            {"active_parameters", plan::active_parameters(model)},
            {"layers", model.layers},
            {"hidden", model.hidden},
            {"heads", model.heads},
            {"kv_heads", model.kv_heads},
            {"sequence", model.sequence},
            {"vocabulary", model.vocabulary},
            {"experts", model.experts},
            {"title", model.title},
            {"source", model.source}};
}

Json candidates_json(const std::vector<plan::Candidate>& all) {
    Json list = Json::array();
    for (const plan::Candidate& each : all) {
        list.push_back({{"step_s", each.seconds},
                        {"mfu", each.mfu},
                        {"bubble_share", each.bubble_share},
                        {"exposed_share", each.exposed_share},
                        {"memory_bytes", each.memory_bytes},
                        {"mapping", mapping_json(each.mapping)}});
    }
    return list;
}

Json choices_json(const std::vector<plan::Choice>& choices) {
    Json list = Json::array();
    for (const plan::Choice& each : choices) {
        list.push_back(
            {{"name", each.name}, {"what", each.what}, {"value", each.value}, {"by", each.by}});
    }
    return list;
}

}  // namespace

std::string to_json(const StepReport& report) {
    const plan::Step& step = report.step;
    Json json = {{"model", model_json(report.model)},
                 {"cluster", report.cluster.name},
                 {"gpu", report.cluster.gpu.name},
                 {"network", report.network},
                 {"mapping", mapping_json(report.mapping)},
                 {"framework", report.framework == nullptr ? Json() : Json(report.framework->name)},
                 {"choices", choices_json(report.choices)},
                 {"step_s", step.seconds},
                 {"interval",
                  {{"low_s", report.interval.low},
                   {"high_s", report.interval.high},
                   {"kind", report.interval.kind},
                   {"steps", report.interval.steps}}},
                 {"mfu", step.mfu},
                 {"hfu", step.hfu},
                 {"flops_per_gpu_s", step.flops_per_gpu_s},
                 {"tokens_per_s", step.tokens_per_s},
                 {"bubble_share", step.bubble_share},
                 {"parts_s", parts_json(step.parts)},
                 {"bytes_per_gpu", bytes_json(step)},
                 {"memory_bytes", memory_json(step.memory)},
                 {"notes", report.notes}};
    if (!report.chosen.best.empty()) {
        json["chosen"] = {{"fitting", report.chosen.fitting},
                          {"best", candidates_json(report.chosen.best)}};
    }
    if (report.tokens > 0) {
        const plan::TrainingRun run = plan::run_for(step, report.mapping, report.tokens);
        json["training"] = {
            {"tokens", report.tokens}, {"days", run.days}, {"gpu_hours", run.gpu_hours}};
    }
    return json_text(json);
}

std::string to_json(const SearchReport& report) {
    const plan::SearchResult& result = report.result;
    return json_text({{"model", report.model.name},
                      {"cluster", report.cluster.name},
                      {"gpus", report.gpus},
                      {"mappings", result.mappings},
                      {"fitting", result.fitting},
                      {"network", report.network},
                      {"refined", result.refined},
                      {"open", result.open},
                      {"open_rows", result.open_rows},
                      {"stopped", result.stopped},
                      {"best", candidates_json(result.best)},
                      {"notes", report.notes}});
}

std::string models_json() {
    Json models = Json::array();
    for (const plan::Model& model : plan::model_presets()) {
        models.push_back(model_json(model));
    }
    return json_text(models);
}

}  // namespace softib::answer
