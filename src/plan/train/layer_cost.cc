// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/layer_cost.h"

#include <algorithm>
#include <vector>

namespace softib::plan {

namespace {

constexpr double kHalf = 2;  ///< Bytes of an activation.

std::size_t index_of(Dimension dimension) {
    return static_cast<std::size_t>(dimension);
}

}  // namespace

const char* to_string(Dimension dimension) {
    constexpr std::array kNames{"tp", "cp", "ep", "pp", "dp"};
    return kNames[index_of(dimension)];
}

double PassCost::seconds() const {
    double sum = compute();
    for (const double each : exposed) {
        sum += each;
    }
    return sum;
}

PassCost& PassCost::operator+=(const PassCost& other) {
    matmul += other.matmul;
    attention += other.attention;
    elementwise += other.elementwise;
    for (std::size_t i = 0; i < exposed.size(); ++i) {
        exposed[i] += other.exposed[i];
        bytes[i].nvlink += other.bytes[i].nvlink;
        bytes[i].fabric += other.bytes[i].fabric;
    }
    return *this;
}

PassCost PassCost::times(double factor) const {
    PassCost scaled = *this;
    scaled.matmul *= factor;
    scaled.attention *= factor;
    scaled.elementwise *= factor;
    for (std::size_t i = 0; i < exposed.size(); ++i) {
        scaled.exposed[i] *= factor;
        scaled.bytes[i].nvlink *= factor;
        scaled.bytes[i].fabric *= factor;
    }
    return scaled;
}

void PassCost::add(Dimension dimension, const ExchangeCost& exchange, double hidden) {
    exposed[index_of(dimension)] += std::max(0.0, exchange.seconds - hidden);
    bytes[index_of(dimension)].nvlink += exchange.nvlink_bytes;
    bytes[index_of(dimension)].fabric += exchange.fabric_bytes;
}

LayerCost& LayerCost::operator+=(const LayerCost& other) {
    forward += other.forward;
    backward += other.backward;
    recompute += other.recompute;
    return *this;
}

struct LayerCosts::Block {
    struct Matrix {
        double rows, columns, inner;
        double batch = 1;
    };
    std::vector<Matrix>
        entering;  ///< Divided by columns: between them and the input lies an exchange.
    std::vector<Matrix> leaving;  ///< Divided by rows.
    double data_gradients = 0;    ///< Seconds of entering matrices in the backward pass.
    double weight_gradients = 0;
    LayerCost cost;
    PassCost scores = {};  ///< The part that selective recomputation repeats.
};

LayerCosts::LayerCosts(const Model& model, const Mapping& mapping, const Gpu& gpu,
                       const Communication& communication)
    : model_(model),
      mapping_(mapping),
      kernels_(gpu, mapping.precision, mapping.comm_sms),
      communication_(communication),
      groups_(groups_of(mapping)),
      tokens_(static_cast<double>(mapping.micro_batch) * mapping.sequence / mapping.cp),
      hidden_bytes_(kHalf * tokens_ * model.hidden) {}

ExchangeCost LayerCosts::tensor_exchange(Exchange exchange) const {
    return communication_.cost(exchange, hidden_bytes_, groups_.tensor);
}

/// Matrices and what tensor parallelism sends around them.
void LayerCosts::finish(Block& block) const {
    const auto pass = [&](const std::vector<Block::Matrix>& matrices, double& data,
                          double& weights) {
        for (const Block::Matrix& each : matrices) {
            block.cost.forward.matmul +=
                kernels_.matmul(each.rows, each.columns, each.inner, each.batch);
            data += kernels_.matmul(each.rows, each.inner, each.columns, each.batch);
            weights += kernels_.matmul(each.inner, each.columns, each.rows, each.batch);
        }
    };
    double leaving_data = 0;
    double leaving_weights = 0;
    pass(block.entering, block.data_gradients, block.weight_gradients);
    pass(block.leaving, leaving_data, leaving_weights);
    block.cost.backward.matmul +=
        block.data_gradients + block.weight_gradients + leaving_data + leaving_weights;
    // A norm in front, the residual sum behind it; dropout has a mask of one byte.
    const double divided = mapping_.sequence_parallel ? mapping_.tp : 1;
    const double dropped = model_.dropout ? 0.5 : 0;
    const double unit = hidden_bytes_ / divided;
    block.cost.forward.elementwise += kernels_.elementwise((2 + 3 + dropped) * unit, 2);
    block.cost.backward.elementwise +=
        kernels_.elementwise((3 + 3 + (model_.dropout ? 2.5 : 0)) * unit, 2);
    add_tensor_exchanges(block);
}

void LayerCosts::add_tensor_exchanges(Block& block) const {
    if (mapping_.tp == 1) {
        return;
    }
    // In pieces, all but the first can pass behind the block's matrices.
    const bool pieces = mapping_.tp_overlap == TensorOverlap::kAll;
    const bool bulk = mapping_.tp_overlap != TensorOverlap::kNone;
    const auto in_pieces = [&](const ExchangeCost& exchange, double compute) {
        const double most = exchange.seconds * (1 - 1.0 / mapping_.tp);
        return pieces ? std::min(most, compute) : 0;
    };
    PassCost& forward = block.cost.forward;
    PassCost& backward = block.cost.backward;
    if (!mapping_.sequence_parallel) {
        const ExchangeCost all = tensor_exchange(Exchange::kAllReduce);
        forward.add(Dimension::kTensor, all, in_pieces(all, forward.matmul / 2));
        backward.add(Dimension::kTensor, all, bulk ? block.weight_gradients : 0);
        return;
    }
    const ExchangeCost gather = tensor_exchange(Exchange::kAllGather);
    const ExchangeCost scatter = tensor_exchange(Exchange::kReduceScatter);
    forward.add(Dimension::kTensor, gather, in_pieces(gather, forward.matmul / 2));
    forward.add(Dimension::kTensor, scatter, in_pieces(scatter, forward.matmul / 2));
    // Gradients of the output are gathered, the input is gathered once more for the gradients of
    // weights, and the gradients of the input are added up.
    backward.add(Dimension::kTensor, gather, in_pieces(gather, backward.matmul / 4));
    backward.add(Dimension::kTensor, gather, bulk ? block.data_gradients : 0);
    backward.add(Dimension::kTensor, scatter, bulk ? block.weight_gradients : 0);
}

void LayerCosts::add_scores(Block& block) const {
    const double flops = tokens_ *
                         score_flops_per_token(model_, mapping_.sequence,
                                               mapping_.attention == AttentionKernel::kUnfused) /
                         mapping_.tp;
    PassCost& forward = block.cost.forward;
    PassCost& backward = block.cost.backward;
    if (mapping_.attention == AttentionKernel::kFlash) {
        forward.attention += kernels_.flash_attention(flops);
        backward.attention += kernels_.flash_attention_backward(flops);
        return;
    }
    const double sequence = mapping_.sequence;
    const double rows = sequence / mapping_.cp;
    const double heads = static_cast<double>(model_.heads) / mapping_.tp * mapping_.micro_batch;
    const double head = model_.query_width() / model_.heads;
    const double value = model_.value_width() / model_.heads;
    PassCost scores;
    scores.attention = kernels_.matmul(rows, sequence, head, heads) +
                       kernels_.matmul(rows, value, sequence, heads);
    backward.attention += kernels_.matmul(rows, head, sequence, heads) +
                          kernels_.matmul(sequence, head, rows, heads) +
                          kernels_.matmul(rows, sequence, value, heads) +
                          kernels_.matmul(sequence, value, rows, heads);
    // Softmax with its mask, and dropout.
    const double square = kHalf * heads * rows * sequence;
    const double dropped = model_.dropout ? 2.5 : 0;
    scores.elementwise = kernels_.elementwise((2 + dropped) * square, model_.dropout ? 2 : 1);
    backward.elementwise += kernels_.elementwise((3 + dropped) * square, model_.dropout ? 2 : 1);
    forward += scores;
    block.scores += scores;
}

LayerCosts::Block LayerCosts::attention() const {
    Block block;
    const double tp = mapping_.tp;
    const double hidden = model_.hidden;
    const double queries = model_.query_width() / tp;
    const double keys = std::max(static_cast<double>(model_.kv_heads) / tp, 1.0) * model_.head_dim;
    if (model_.latent()) {
        const double expanded =
            static_cast<double>(model_.heads) * (model_.head_dim + model_.value_dim) / tp;
        if (model_.q_rank == 0) {
            block.entering.push_back({tokens_, queries, hidden});
        } else {
            block.entering.push_back({tokens_, static_cast<double>(model_.q_rank), hidden});
            block.entering.push_back({tokens_, queries, static_cast<double>(model_.q_rank)});
        }
        block.entering.push_back(
            {tokens_, static_cast<double>(model_.kv_rank) + model_.rope_dim, hidden});
        block.entering.push_back({tokens_, expanded, static_cast<double>(model_.kv_rank)});
        block.scores.matmul = kernels_.matmul(tokens_, expanded, model_.kv_rank);
        if (model_.q_rank != 0) {
            block.scores.matmul += kernels_.matmul(tokens_, queries, model_.q_rank);
        }
    } else {
        block.entering.push_back({tokens_, queries + 2 * keys, hidden});
    }
    block.leaving.push_back({tokens_, hidden, model_.value_width() / tp});
    if (!model_.learned_positions) {  // Rotated queries and keys.
        const double bytes = 2 * kHalf * tokens_ * (queries + keys);
        block.cost.forward.elementwise += kernels_.elementwise(bytes, 1);
        block.cost.backward.elementwise += kernels_.elementwise(bytes, 1);
    }
    add_scores(block);
    if (mapping_.cp > 1) {
        // Keys and values go round the ranks while the scores of the last ones are computed; the
        // backward pass has their gradients too.
        const double steps = mapping_.cp - 1;
        const double bytes = 2 * kHalf * tokens_ * keys * steps;
        const double forward = block.cost.forward.attention;
        const double backward = block.cost.backward.attention;
        block.cost.forward.add(Dimension::kContext,
                               communication_.cost(Exchange::kSend, bytes, groups_.context),
                               forward);
        block.cost.backward.add(Dimension::kContext,
                                communication_.cost(Exchange::kSend, 2 * bytes, groups_.context),
                                backward);
    }
    finish(block);
    return block;
}

LayerCosts::Block LayerCosts::mlp() const {
    Block block;
    const double width = static_cast<double>(model_.ffn) / mapping_.tp;
    const double into = model_.gated ? 2 * width : width;
    block.entering.push_back({tokens_, into, static_cast<double>(model_.hidden)});
    block.leaving.push_back({tokens_, static_cast<double>(model_.hidden), width});
    const double unit = kHalf * tokens_;
    block.cost.forward.elementwise += kernels_.elementwise(unit * (into + width), 1);
    block.cost.backward.elementwise += kernels_.elementwise(unit * (2 * into + width), 1);
    finish(block);
    return block;
}

LayerCosts::Block LayerCosts::expert_mlp() const {
    Block block;
    const double hidden = model_.hidden;
    const double width = static_cast<double>(model_.expert_ffn) / mapping_.tp;
    const double gates = model_.gated ? 2 : 1;
    const double local = static_cast<double>(model_.experts) / mapping_.ep;
    const double routed = tokens_ * model_.top_k;
    block.entering.push_back({tokens_, static_cast<double>(model_.experts), hidden});
    block.entering.push_back({routed / local, gates * width, hidden, local});
    block.leaving.push_back({routed / local, hidden, width, local});
    if (model_.shared_experts != 0) {
        block.entering.push_back({tokens_, gates * width * model_.shared_experts, hidden});
        block.leaving.push_back({tokens_, hidden, width * model_.shared_experts});
    }
    const double all = routed + tokens_ * model_.shared_experts;
    // The activation, and tokens sorted by expert and back.
    const double sorted = 4 * kHalf * routed * hidden;
    block.cost.forward.elementwise +=
        kernels_.elementwise(kHalf * all * (gates + 1) * width + sorted, 3);
    block.cost.backward.elementwise +=
        kernels_.elementwise(kHalf * all * (2 * gates + 1) * width + sorted, 3);
    finish(block);
    const double divided = mapping_.sequence_parallel ? mapping_.tp : 1;
    const double copies =
        model_.nodes_per_token != 0 ? std::min(model_.nodes_per_token, model_.top_k) : model_.top_k;
    const double numbers = tokens_ * copies * hidden / divided;
    const double sent = mapping_.precision == Precision::kFp8 ? 1 : kHalf;
    const auto exchange = [&](PassCost& pass) {
        const double hides = mapping_.overlap_ep ? pass.compute() : 0;
        ExchangeCost there =
            communication_.cost(Exchange::kAllToAll, numbers * sent, groups_.expert);
        there += communication_.cost(Exchange::kAllToAll, numbers * kHalf, groups_.expert);
        pass.add(Dimension::kExpert, there, hides);
    };
    exchange(block.cost.forward);
    exchange(block.cost.backward);
    return block;
}

/// FSDP gathers a layer's parameters before each pass and adds up its gradients after the second,
/// while another layer computes; ZeRO 2 does the last.
void LayerCosts::add_sharded_parameters(LayerCost& cost, bool experts) const {
    if (mapping_.zero < 2 || mapping_.replicas() == 1) {
        return;
    }
    const double shared = shared_layer_parameters(model_, mapping_, experts);
    const double own = experts ? expert_layer_parameters(model_, mapping_) : 0;
    const auto exchange = [&](Exchange kind, double bytes) {
        ExchangeCost sum = communication_.cost(kind, bytes * shared, groups_.data);
        return sum += communication_.cost(kind, bytes * own, groups_.expert_data);
    };
    ExchangeCost back = exchange(Exchange::kReduceScatter, mapping_.grad_bytes);
    if (mapping_.zero == 3) {
        const ExchangeCost gather = exchange(Exchange::kAllGather, kHalf);
        cost.forward.add(Dimension::kData, gather,
                         mapping_.overlap_dp ? cost.forward.compute() : 0);
        back += gather;
    }
    const double hides = cost.backward.compute() + cost.recompute.compute();
    cost.backward.add(Dimension::kData, back, mapping_.overlap_dp ? hides : 0);
}

LayerCost LayerCosts::layer(bool experts) const {
    const Block first = attention();
    const Block second = experts ? expert_mlp() : mlp();
    LayerCost cost = first.cost;
    cost += second.cost;
    if (mapping_.recompute == Recompute::kFull) {
        cost.recompute = cost.forward;
    } else if (mapping_.recompute == Recompute::kSelective) {
        cost.recompute = first.scores;
    }
    add_sharded_parameters(cost, experts);
    return cost;
}

LayerCost LayerCosts::embedding() const {
    LayerCost cost;
    cost.forward.elementwise = kernels_.elementwise(2 * hidden_bytes_, 2);
    cost.backward.elementwise = kernels_.elementwise(3 * hidden_bytes_, 2);
    cost.forward.add(Dimension::kTensor,
                     tensor_exchange(mapping_.sequence_parallel ? Exchange::kReduceScatter
                                                                : Exchange::kAllReduce));
    if (mapping_.sequence_parallel) {
        cost.backward.add(Dimension::kTensor, tensor_exchange(Exchange::kAllGather));
    }
    return cost;
}

LayerCost LayerCosts::logits() const {
    LayerCost cost;
    const double hidden = model_.hidden;
    const double words = static_cast<double>(model_.vocabulary) / mapping_.tp;
    cost.forward.matmul = kernels_.matmul(tokens_, words, hidden);
    const double weights = kernels_.matmul(hidden, words, tokens_);
    cost.backward.matmul = kernels_.matmul(tokens_, hidden, words) + weights;
    // Logits become 32 bits wide, their maximum and the sum of their exponents are found; the
    // backward pass reads them and writes their gradients.
    cost.forward.elementwise = kernels_.elementwise(16 * tokens_ * words, 4);
    cost.backward.elementwise = kernels_.elementwise(10 * tokens_ * words, 2);
    if (mapping_.sequence_parallel) {
        cost.forward.add(Dimension::kTensor, tensor_exchange(Exchange::kAllGather));
        cost.backward.add(Dimension::kTensor, tensor_exchange(Exchange::kReduceScatter), weights);
    } else {
        cost.backward.add(Dimension::kTensor, tensor_exchange(Exchange::kAllReduce), weights);
    }
    return cost;
}

PassCost LayerCosts::send() const {
    PassCost cost;
    if (mapping_.pp == 1) {
        return cost;
    }
    // Each rank of tensor parallelism sends its part; without sequence parallelism the receivers
    // gather the whole (scatter/gather optimisation).
    cost.add(Dimension::kPipeline,
             communication_.cost(Exchange::kSend, hidden_bytes_ / mapping_.tp, groups_.pipeline));
    if (!mapping_.sequence_parallel) {
        cost.add(Dimension::kPipeline, tensor_exchange(Exchange::kAllGather));
    }
    return cost;
}

double shared_layer_parameters(const Model& model, const Mapping& mapping, bool experts) {
    const double mlp = experts ? shared_parameters(model) : mlp_parameters(model);
    return (attention_parameters(model) + mlp) / mapping.tp;
}

double expert_layer_parameters(const Model& model, const Mapping& mapping) {
    return static_cast<double>(model.experts) / mapping.ep * one_expert_parameters(model) /
           mapping.tp;
}

}  // namespace softib::plan
