// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/layer_cost.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace softib::plan {

namespace {

constexpr double kHalf = 2;  ///< Bytes of an activation.

std::size_t index_of(Dimension dimension) {
    return static_cast<std::size_t>(dimension);
}

using Exchanges = std::vector<PassExchange>;

/// Returns a block of a pass. Its inner exchanges come after the first exchange of tensor
/// parallelism if there is sequence parallelism, else before all.
PassBlock block_of(double compute_s, const Exchanges& tensor, const Exchanges& inner,
                   const Exchanges& beside, bool sequence_parallel) {
    PassBlock block{.compute_s = compute_s, .exchanges = tensor, .beside = beside};
    const bool behind = sequence_parallel && !tensor.empty();
    block.exchanges.insert(block.exchanges.begin() + (behind ? 1 : 0), inner.begin(), inner.end());
    return block;
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
    host += other.host;
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
    scaled.host *= factor;
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
        bool half = false;        ///< Whether it is of 16 bits in any recipe.
        bool same_input = false;  ///< Whether its input is that of the matrix before.
    };
    /// Matrices that tensor parallelism divides by columns; their input is exchanged before.
    std::vector<Matrix> entering;
    /// Matrices that tensor parallelism divides by rows; their output is exchanged after.
    std::vector<Matrix> leaving;
    double data_gradients = 0;    ///< Seconds of entering matrices for gradients of their input.
    double weight_gradients = 0;  ///< Seconds of entering matrices for gradients of weights.
    bool tensor = true;           ///< Whether tensor parallelism divides matrices of the block.
    LayerCost cost;
    PassCost scores = {};  ///< The part that selective recomputation repeats.
    struct Order {
        Exchanges tensor = {};
        Exchanges inner = {};   ///< Exchanges of context or expert parallelism.
        Exchanges beside = {};  ///< Exchanges that hide behind the whole block.
    };
    Order forward = {};
    Order backward = {};
};

namespace {

/// Adds an exchange, of which computing hides `hidden` seconds, to a cost and to an order.
template <typename Timed>
void add_exchange(PassCost& pass, Exchanges& order, Dimension dimension, Timed timed,
                  double hidden = 0) {
    pass.add(dimension, timed.cost, hidden);
    if (timed.cost.seconds > 0) {
        timed.exchange.hidden_s = hidden;
        order.push_back(timed.exchange);
    }
}

}  // namespace

LayerCosts::LayerCosts(const Model& model, const Mapping& mapping, const Gpu& gpu,
                       const Communication& communication)
    : model_(model),
      mapping_(mapping),
      rates_(gpu.rates),
      kernels_(gpu, mapping.recipe, mapping.comm_sms),
      communication_(communication),
      groups_(groups_of(mapping)),
      tokens_(static_cast<double>(mapping.micro_batch) * mapping.sequence / mapping.cp),
      hidden_bytes_(kHalf * tokens_ * model.hidden) {}

LayerCosts::Timed LayerCosts::time(Peers peers, Exchange exchange, double bytes) const {
    const std::array groups{&groups_.tensor, &groups_.context, &groups_.expert, &groups_.data,
                            &groups_.expert_data};
    const ExchangeCost cost =
        communication_.cost(exchange, bytes, *groups[static_cast<std::size_t>(peers)]);
    return {{.peers = peers,
             .exchange = exchange,
             .bytes = bytes,
             .seconds = cost.seconds,
             .latency_s = cost.seconds - cost.stream_s},
            cost};
}

/// Times an exchange of tokens with the ranks of their experts. Inside an NVLink domain frameworks
/// reach a part of the links' rate only, because all ranks wait for each other's counts and tokens.
LayerCosts::Timed LayerCosts::expert_exchange(double bytes) const {
    Timed timed = time(Peers::kExpert, Exchange::kAllToAll, bytes);
    if (timed.cost.fabric_bytes == 0) {
        const double more = timed.cost.stream_s * (1 / rates_.expert_exchange - 1);
        timed.cost.seconds += more;
        timed.cost.stream_s += more;
        timed.exchange.seconds += more;
    }
    return timed;
}

LayerCosts::Timed LayerCosts::tensor_exchange(Exchange exchange) const {
    return time(Peers::kTensor, exchange, hidden_bytes_);
}

/// Adds the matrix products of a block, its norm and residual, and the exchanges of tensor
/// parallelism around them.
void LayerCosts::finish(Block& block) const {
    const auto pass = [&](const std::vector<Block::Matrix>& matrices, double& data,
                          double& weights) {
        for (const Block::Matrix& each : matrices) {
            const auto time = each.half ? &Kernels::matmul_half : &Kernels::matmul;
            const auto product = [&](double m, double n, double k) {
                return (kernels_.*time)(m, n, k, each.batch);
            };
            block.cost.forward.matmul += product(each.rows, each.columns, each.inner);
            data += product(each.rows, each.inner, each.columns);
            weights += product(each.inner, each.columns, each.rows);
            if (!each.half) {
                const double rows = each.rows * each.batch;
                block.cost.forward.elementwise +=
                    each.same_input ? 0 : kernels_.convert(rows * each.inner);
                block.cost.backward.elementwise += kernels_.convert(rows * each.columns);
            }
        }
    };
    double leaving_data = 0;
    double leaving_weights = 0;
    pass(block.entering, block.data_gradients, block.weight_gradients);
    pass(block.leaving, leaving_data, leaving_weights);
    block.cost.backward.matmul +=
        block.data_gradients + block.weight_gradients + leaving_data + leaving_weights;
    // A norm before the block and the residual sum after it; dropout has a mask of one byte.
    const double divided = mapping_.sequence_parallel ? mapping_.tp : 1;
    const double dropped = model_.dropout ? 0.5 : 0;
    const double unit = hidden_bytes_ / divided;
    block.scores.elementwise += kernels_.elementwise(2 * unit, 1);
    block.cost.forward.elementwise += kernels_.elementwise((2 + 3 + dropped) * unit, 2);
    block.cost.backward.elementwise +=
        kernels_.elementwise((3 + 3 + (model_.dropout ? 2.5 : 0)) * unit, 2);
    if (block.tensor) {
        add_tensor_exchanges(block);
    }
}

void LayerCosts::add_tensor_exchanges(Block& block) const {
    if (mapping_.tp == 1) {
        return;
    }
    // If an exchange is cut into pieces, matrix products can hide all but the first.
    const bool pieces = mapping_.tp_overlap == TensorOverlap::kAll;
    const bool bulk = mapping_.tp_overlap != TensorOverlap::kNone;
    const auto in_pieces = [&](const Timed& exchange, double compute) {
        const double most = exchange.cost.seconds * (1 - 1.0 / mapping_.tp);
        return pieces ? std::min(most, compute) : 0;
    };
    const double forward_matmul = block.cost.forward.matmul;
    const double backward_matmul = block.cost.backward.matmul;
    const auto forward = [&block](const Timed& exchange, double hidden) {
        add_exchange(block.cost.forward, block.forward.tensor, Dimension::kTensor, exchange,
                     hidden);
    };
    const auto backward = [&block](const Timed& exchange, double hidden) {
        add_exchange(block.cost.backward, block.backward.tensor, Dimension::kTensor, exchange,
                     hidden);
    };
    if (!mapping_.sequence_parallel) {
        const Timed all = tensor_exchange(Exchange::kAllReduce);
        forward(all, in_pieces(all, forward_matmul / 2));
        backward(all, bulk ? block.weight_gradients : 0);
        return;
    }
    const Timed gather = tensor_exchange(Exchange::kAllGather);
    const Timed scatter = tensor_exchange(Exchange::kReduceScatter);
    forward(gather, in_pieces(gather, forward_matmul / 2));
    forward(scatter, in_pieces(scatter, forward_matmul / 2));
    // In the backward pass gradients of the output are gathered, the input is gathered once more
    // for the gradients of weights, and gradients of the input are added up.
    backward(gather, in_pieces(gather, backward_matmul / 4));
    backward(gather, bulk ? block.data_gradients : 0);
    backward(scatter, bulk ? block.weight_gradients : 0);
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
        block.entering.push_back({.rows = tokens_,
                                  .columns = static_cast<double>(model_.kv_rank) + model_.rope_dim,
                                  .inner = hidden,
                                  .same_input = true});
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
        // Keys and values go around the ranks while scores with those of the step before are
        // computed; in the backward pass their gradients go around too.
        const double steps = mapping_.cp - 1;
        const double bytes = 2 * kHalf * tokens_ * keys * steps;
        const double forward = block.cost.forward.attention;
        const double backward = block.cost.backward.attention;
        add_exchange(block.cost.forward, block.forward.inner, Dimension::kContext,
                     time(Peers::kContext, Exchange::kSend, bytes), forward);
        add_exchange(block.cost.backward, block.backward.inner, Dimension::kContext,
                     time(Peers::kContext, Exchange::kSend, 2 * bytes), backward);
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
    block.scores.elementwise += kernels_.elementwise(unit * (into + width), 1);
    block.cost.backward.elementwise += kernels_.elementwise(unit * (2 * into + width), 1);
    finish(block);
    return block;
}

/// Returns how often a token is sent on average: once to each rank that has experts of it, and
/// once to each node of those if the model limits them.
double LayerCosts::copies_of_token() const {
    const double ranks = mapping_.ep;
    const double reached = ranks * (1 - std::pow(1 - 1 / ranks, model_.top_k));
    return model_.nodes_per_token != 0 ? std::min<double>(model_.nodes_per_token, reached)
                                       : reached;
}

LayerCosts::Block LayerCosts::expert_mlp() const {
    Block block;
    const double hidden = model_.hidden;
    const double width = model_.expert_ffn;
    const double gates = model_.gated ? 2 : 1;
    const double local = static_cast<double>(model_.experts) / mapping_.ep;
    const double divided = mapping_.sequence_parallel ? mapping_.tp : 1;
    const double routed = tokens_ / divided * model_.top_k;
    const double shared = width / mapping_.tp * model_.shared_experts;
    block.entering.push_back({.rows = tokens_,
                              .columns = static_cast<double>(model_.experts),
                              .inner = hidden,
                              .half = true});
    block.entering.push_back({routed / local, gates * width, hidden, local});
    block.leaving.push_back({routed / local, hidden, width, local});
    if (model_.shared_experts != 0) {
        block.entering.push_back({tokens_, gates * shared, hidden});
        block.leaving.push_back({tokens_, hidden, shared});
    }
    block.tensor = model_.shared_experts != 0;
    const double numbers_inside = routed * width + tokens_ * shared;
    // The activation function, and tokens that are sorted by expert and back: before they are sent
    // and, where several experts are local, behind that once more.
    const double passes = mapping_.ep > 1 && local > 1 ? 7 : 3;
    const double sorted = passes * kHalf * routed * hidden;
    block.scores.elementwise += kernels_.elementwise(kHalf * numbers_inside * (gates + 1), 1);
    block.cost.forward.elementwise +=
        kernels_.elementwise(kHalf * numbers_inside * (gates + 1) + sorted, 3);
    block.cost.backward.elementwise +=
        kernels_.elementwise(kHalf * numbers_inside * (2 * gates + 1) + sorted, 3);
    finish(block);
    const double copies = copies_of_token();
    const double numbers = tokens_ * copies * hidden / divided;
    const double sent = precision_of(mapping_.recipe) == Precision::kFp8 ? 1 : kHalf;
    const auto exchange = [&](PassCost& pass, Block::Order& order) {
        const double hides = mapping_.overlap_ep ? pass.compute() : 0;
        const Timed there = expert_exchange(numbers * sent);
        const Timed back = expert_exchange(numbers * kHalf);
        Exchanges& exchanges = mapping_.overlap_ep ? order.beside : order.inner;
        add_exchange(pass, exchanges, Dimension::kExpert, there, hides);
        add_exchange(pass, exchanges, Dimension::kExpert, back,
                     std::max(0.0, hides - there.cost.seconds));
    };
    exchange(block.cost.forward, block.forward);
    exchange(block.cost.backward, block.backward);
    return block;
}

/// Adds the exchanges of ZeRO 2 and 3 for a layer. ZeRO 3 (FSDP) gathers its parameters before each
/// pass; both add up its gradients after the backward pass. With overlap, other layers compute
/// meanwhile.
void LayerCosts::add_sharded_parameters(LayerCost& cost, bool experts, LayerPasses* passes) const {
    if (mapping_.zero < 2 || mapping_.replicas() == 1) {
        return;
    }
    const double shared = shared_layer_parameters(model_, mapping_, experts);
    const double own = experts ? expert_layer_parameters(model_, mapping_) : 0;
    Exchanges forward;
    Exchanges backward;
    const auto exchange = [&](Exchange kind, double bytes, Exchanges& order) {
        ExchangeCost sum;
        for (const Timed& each : {time(Peers::kData, kind, bytes * shared),
                                  time(Peers::kExpertData, kind, bytes * own)}) {
            sum += each.cost;
            if (each.cost.seconds > 0) {
                order.push_back(each.exchange);
            }
        }
        return sum;
    };
    ExchangeCost back;
    if (mapping_.zero == 3) {
        cost.forward.add(Dimension::kData, exchange(Exchange::kAllGather, kHalf, forward),
                         mapping_.overlap_dp ? cost.forward.compute() : 0);
        back = exchange(Exchange::kAllGather, kHalf, backward);
    }
    back += exchange(Exchange::kReduceScatter, mapping_.grad_bytes, backward);
    const double hides = cost.backward.compute() + cost.recompute.compute();
    cost.backward.add(Dimension::kData, back, mapping_.overlap_dp ? hides : 0);
    if (passes == nullptr) {
        return;
    }
    if (mapping_.overlap_dp) {
        passes->forward.beside = std::move(forward);
        passes->backward.beside = std::move(backward);
    } else {
        passes->forward.blocks.insert(passes->forward.blocks.begin(),
                                      PassBlock{.exchanges = std::move(forward)});
        passes->backward.blocks.push_back(PassBlock{.exchanges = std::move(backward)});
    }
}

/// Adds what passes over a layer of experts wait for the host, which converts the numbers of each
/// expert on its own: once for each of two products forward, and once more for each backward.
void LayerCosts::add_host(LayerCost& cost) const {
    if (mapping_.cuda_graphs) {
        return;
    }
    const double local = static_cast<double>(model_.experts) / mapping_.ep;
    const double kernels = rates_.convert_kernels[static_cast<std::size_t>(mapping_.recipe)];
    const double each = kernels * rates_.host_us * 1e-6;
    for (PassCost* const pass : {&cost.forward, &cost.backward}) {
        pass->host += std::max(0.0, 2 * local * each - pass->seconds());
    }
}

LayerCost LayerCosts::layer(bool experts, LayerPasses* passes) const {
    const Block first = attention();
    const Block second = experts ? expert_mlp() : mlp();
    LayerCost cost = first.cost;
    cost += second.cost;
    if (experts) {
        add_host(cost);
    }
    if (mapping_.recompute == Recompute::kFull) {
        cost.recompute = cost.forward;
    } else if (mapping_.recompute == Recompute::kSelective) {
        cost.recompute = first.scores;
        cost.recompute += second.scores;
    }
    if (passes != nullptr) {
        const auto block = [this](const PassCost& pass, const Block::Order& order) {
            return block_of(pass.compute(), order.tensor, order.inner, order.beside,
                            mapping_.sequence_parallel);
        };
        passes->forward.blocks = {block(first.cost.forward, first.forward),
                                  block(second.cost.forward, second.forward)};
        if (mapping_.recompute == Recompute::kFull) {
            passes->backward.blocks = passes->forward.blocks;
        } else if (mapping_.recompute == Recompute::kSelective) {
            passes->backward.blocks = {
                {.compute_s = first.scores.compute() + second.scores.compute()}};
        }
        passes->backward.blocks.push_back(block(second.cost.backward, second.backward));
        passes->backward.blocks.push_back(block(first.cost.backward, first.backward));
    }
    add_sharded_parameters(cost, experts, passes);
    return cost;
}

LayerCost LayerCosts::embedding(LayerPasses* passes) const {
    LayerCost cost;
    Block::Order forward;
    Block::Order backward;
    cost.forward.elementwise = kernels_.elementwise(2 * hidden_bytes_, 2);
    cost.backward.elementwise = kernels_.elementwise(3 * hidden_bytes_, 2);
    add_exchange(cost.forward, forward.tensor, Dimension::kTensor,
                 tensor_exchange(mapping_.sequence_parallel ? Exchange::kReduceScatter
                                                            : Exchange::kAllReduce));
    if (mapping_.sequence_parallel) {
        add_exchange(cost.backward, backward.tensor, Dimension::kTensor,
                     tensor_exchange(Exchange::kAllGather));
    }
    if (passes != nullptr) {
        passes->forward.blocks = {{cost.forward.compute(), std::move(forward.tensor)}};
        passes->backward.blocks = {{cost.backward.compute(), std::move(backward.tensor)}};
    }
    return cost;
}

LayerCost LayerCosts::logits(LayerPasses* passes) const {
    LayerCost cost;
    Block::Order forward;
    Block::Order backward;
    const double hidden = model_.hidden;
    const double words = static_cast<double>(model_.vocabulary) / mapping_.tp;
    cost.forward.matmul = kernels_.matmul_half(tokens_, words, hidden);
    const double weights = kernels_.matmul_half(hidden, words, tokens_);
    cost.backward.matmul = kernels_.matmul_half(tokens_, hidden, words) + weights;
    // The forward pass converts logits to 32 bits and finds their maximum and the sum of their
    // exponentials; the backward pass reads them and writes their gradients.
    cost.forward.elementwise = kernels_.elementwise(16 * tokens_ * words, 4);
    cost.backward.elementwise = kernels_.elementwise(10 * tokens_ * words, 2);
    if (mapping_.sequence_parallel) {
        add_exchange(cost.forward, forward.tensor, Dimension::kTensor,
                     tensor_exchange(Exchange::kAllGather));
    }
    add_exchange(cost.backward, backward.tensor, Dimension::kTensor,
                 tensor_exchange(mapping_.sequence_parallel ? Exchange::kReduceScatter
                                                            : Exchange::kAllReduce),
                 weights);
    if (passes != nullptr) {
        passes->forward.blocks = {{cost.forward.compute(), std::move(forward.tensor)}};
        passes->backward.blocks = {{cost.backward.compute(), std::move(backward.tensor)}};
    }
    return cost;
}

PassCost LayerCosts::send() const {
    PassCost cost;
    if (mapping_.pp == 1) {
        return cost;
    }
    // Each rank of tensor parallelism sends its part; without sequence parallelism, the receivers
    // then gather the whole (Megatron-LM's scatter/gather optimisation).
    cost.add(Dimension::kPipeline,
             communication_.cost(Exchange::kSend, hidden_bytes_ / mapping_.tp, groups_.pipeline));
    if (!mapping_.sequence_parallel) {
        cost.add(Dimension::kPipeline, tensor_exchange(Exchange::kAllGather).cost);
    }
    return cost;
}

double shared_layer_parameters(const Model& model, const Mapping& mapping, bool experts) {
    const double mlp = experts ? shared_parameters(model) : mlp_parameters(model);
    return (attention_parameters(model) + mlp) / mapping.tp;
}

double expert_layer_parameters(const Model& model, const Mapping& mapping) {
    return static_cast<double>(model.experts) / mapping.ep * one_expert_parameters(model);
}

}  // namespace softib::plan
