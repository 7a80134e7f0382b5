// SPDX-License-Identifier: BSD-2-Clause
// Published models.
#include <fmt/format.h>

#include <vector>

#include "plan/train/model.h"

namespace softib::plan {

namespace {

constexpr char kMegatronPaper[] = "Narayanan et al., SC'21 (arXiv 2104.04473), table 1";
constexpr char kSequencePaper[] = "Korthikanti et al., 2022 (arXiv 2205.05198), table 3";
constexpr char kLlamaPaper[] = "Llama team, 2024 (arXiv 2407.21783), table 3";

Model gpt(const char* name, const char* size, std::uint32_t heads, std::uint32_t hidden,
          std::uint32_t layers, const char* source) {
    Model model;
    model.name = name;
    model.title = fmt::format("GPT, {} parameters", size);
    model.source = source;
    model.layers = layers;
    model.hidden = hidden;
    model.heads = heads;
    model.kv_heads = heads;
    model.head_dim = hidden / heads;
    model.ffn = 4 * hidden;
    model.vocabulary = 51'200;  // 50,257 tokens, padded for tensor parallelism.
    model.sequence = 2048;
    model.biases = true;
    model.learned_positions = true;
    model.tied_embeddings = true;
    model.dropout = true;
    return model;
}

Model llama(const char* name, const char* size, std::uint32_t layers, std::uint32_t hidden,
            std::uint32_t heads, std::uint32_t ffn) {
    Model model;
    model.name = name;
    model.title = fmt::format("Llama 3.1, {} parameters", size);
    model.source = kLlamaPaper;
    model.layers = layers;
    model.hidden = hidden;
    model.heads = heads;
    model.kv_heads = 8;
    model.head_dim = 128;
    model.ffn = ffn;
    model.vocabulary = 128'256;
    model.sequence = 8192;
    model.gated = true;
    return model;
}

Model deepseek_v3() {
    Model model;
    model.name = "deepseek-v3";
    model.title = "DeepSeek-V3, 671 B parameters, 37 B of them active";
    model.source = "DeepSeek-AI, 2024 (arXiv 2412.19437), section 4.2";
    model.layers = 61;
    model.hidden = 7168;
    model.heads = 128;
    model.kv_heads = 128;
    model.head_dim = 128;
    model.ffn = 18'432;
    model.vocabulary = 129'280;
    model.sequence = 4096;
    model.gated = true;
    model.q_rank = 1536;
    model.kv_rank = 512;
    model.rope_dim = 64;
    model.value_dim = 128;
    model.experts = 256;
    model.top_k = 8;
    model.expert_ffn = 2048;
    model.shared_experts = 1;
    model.dense_layers = 3;
    model.nodes_per_token = 4;
    return model;
}

std::vector<Model> all_presets() {
    return {
        gpt("megatron-1.7b", "1.7 B", 24, 2304, 24, kMegatronPaper),
        gpt("megatron-3.6b", "3.6 B", 32, 3072, 30, kMegatronPaper),
        gpt("megatron-7.5b", "7.5 B", 32, 4096, 36, kMegatronPaper),
        gpt("megatron-18b", "18.4 B", 48, 6144, 40, kMegatronPaper),
        gpt("megatron-22b", "22 B", 64, 6144, 48, kSequencePaper),
        gpt("megatron-39b", "39.1 B", 64, 8192, 48, kMegatronPaper),
        gpt("megatron-76b", "76.1 B", 80, 10'240, 60, kMegatronPaper),
        gpt("megatron-145b", "145.6 B", 96, 12'288, 80, kMegatronPaper),
        gpt("gpt3-175b", "175 B", 96, 12'288, 96, "Brown et al., 2020 (arXiv 2005.14165)"),
        gpt("megatron-310b", "310.1 B", 128, 16'384, 96, kMegatronPaper),
        gpt("megatron-530b", "529.6 B", 128, 20'480, 105, kMegatronPaper),
        gpt("megatron-1t", "1008 B", 160, 25'600, 128, kMegatronPaper),
        llama("llama3.1-8b", "8.03 B", 32, 4096, 32, 14'336),
        llama("llama3.1-70b", "70.6 B", 80, 8192, 64, 28'672),
        llama("llama3.1-405b", "405.9 B", 126, 16'384, 128, 53'248),
        deepseek_v3(),
    };
}

}  // namespace

std::span<const Model> model_presets() {
    static const std::vector<Model> presets = all_presets();
    return presets;
}

}  // namespace softib::plan
