// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/layer_cost.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "plan/train/memory.h"

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
    bool adapted = false;         ///< Whether its matrices have adapters.
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
      host_rate_(gpu.host_bytes_per_s),
      copying_(copying_share(mapping, gpu)),
      kernels_(gpu, mapping.recipe, mapping.comm_sms, mapping.gpus),
      communication_(communication),
      groups_(groups_of(mapping)),
      tokens_(static_cast<double>(mapping.micro_batch) * mapping.sequence / mapping.cp),
      hidden_bytes_(kHalf * tokens_ * model.hidden) {}

LayerCosts::Timed LayerCosts::time(Peers peers, Exchange exchange, double bytes) const {
    const std::array groups{&groups_.tensor, &groups_.context,     &groups_.expert,
                            &groups_.data,   &groups_.expert_data, &groups_.expert_tensor};
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
    // Gradients of weights are added to those of micro-batches before, unless ranks divide them.
    const double summed = mapping_.zero >= 2 ? Kernels::kHalfBytes : 2.0 * mapping_.grad_bytes;
    const auto pass = [&](const std::vector<Block::Matrix>& matrices, double& data,
                          double& weights) {
        for (const Block::Matrix& each : matrices) {
            const auto time = each.half ? &Kernels::matmul_half : &Kernels::matmul;
            const auto product = [&](double m, double n, double k,
                                     double bytes = Kernels::kHalfBytes) {
                return (kernels_.*time)(m, n, k, each.batch, bytes);
            };
            block.cost.forward.matmul += product(each.rows, each.columns, each.inner);
            data += product(each.rows, each.inner, each.columns);
            weights +=
                mapping_.lora != 0 ? 0 : product(each.inner, each.columns, each.rows, summed);
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
    if (block.adapted) {
        add_adapters(block);
    }
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

/// Adds the adapters of a block's matrices: two products with a narrow inner width beside each, and
/// the sum with its result; backward, gradients of data and of weights.
void LayerCosts::add_adapters(Block& block) const {
    const double rank = mapping_.lora;
    for (const auto* const matrices : {&block.entering, &block.leaving}) {
        for (const Block::Matrix& each : *matrices) {
            const double down = kernels_.matmul_half(each.rows, rank, each.inner);
            const double up = kernels_.matmul_half(each.rows, each.columns, rank);
            const double sum = kernels_.elementwise(3 * kHalf * each.rows * each.columns, 1);
            block.cost.forward.matmul += down + up;
            block.cost.forward.elementwise += sum;
            block.cost.backward.matmul += 2 * (down + up);
            block.cost.backward.elementwise +=
                kernels_.elementwise(3 * kHalf * each.rows * each.inner, 1);
        }
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
    if (mapping_.attention != AttentionKernel::kUnfused) {
        // Around a ring each kernel sees one rank's keys.
        const bool ring = mapping_.cp_comm == ContextExchange::kRing;
        const Kernels::Attention work{
            .flops = flops,
            .tokens = static_cast<double>(mapping_.sequence) / (ring ? mapping_.cp : 1),
            .width = model_.query_width() / model_.heads,
            .fp8 = mapping_.attention == AttentionKernel::kFlashFp8};
        forward.attention += kernels_.flash_attention(work);
        backward.attention += kernels_.flash_attention_backward(work);
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

/// Adds the exchanges of context parallelism. Around a ring, keys and values travel while scores
/// with those of the step before are computed, and results of steps are merged; in the backward
/// pass their gradients travel too. Gathered keys and values, or heads exchanged for tokens, wait.
void LayerCosts::add_context_exchanges(Block& block, double queries, double keys) const {
    PassCost& forward = block.cost.forward;
    PassCost& backward = block.cost.backward;
    const auto add = [this](PassCost& pass, Block::Order& order, Exchange kind, double bytes,
                            double hidden = 0) {
        add_exchange(pass, order.inner, Dimension::kContext, time(Peers::kContext, kind, bytes),
                     hidden);
    };
    const double pair = 2 * kHalf * tokens_ * keys;
    switch (mapping_.cp_comm) {
        case ContextExchange::kRing: {
            const double steps = mapping_.cp - 1;
            const double merged = 3 * kHalf * tokens_ * steps;
            forward.elementwise += kernels_.elementwise(merged * queries, steps);
            backward.elementwise += kernels_.elementwise(merged * (queries + 2 * keys), steps);
            const double behind = forward.attention;
            const double behind_backward = backward.attention;
            add(forward, block.forward, Exchange::kSend, pair * steps, behind);
            add(backward, block.backward, Exchange::kSend, 2 * pair * steps, behind_backward);
            return;
        }
        case ContextExchange::kGather:
            add(forward, block.forward, Exchange::kAllGather, pair * mapping_.cp);
            add(backward, block.backward, Exchange::kAllGather, pair * mapping_.cp);
            add(backward, block.backward, Exchange::kReduceScatter, pair * mapping_.cp);
            return;
        case ContextExchange::kAllToAll:
            break;
    }
    const double there = kHalf * tokens_ * (queries + 2 * keys);
    const double back = kHalf * tokens_ * queries;
    for (const double bytes : {there, back}) {
        add(forward, block.forward, Exchange::kAllToAll, bytes);
        add(backward, block.backward, Exchange::kAllToAll, bytes);
    }
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
    block.adapted = mapping_.lora != 0;
    if (mapping_.cp > 1) {
        add_context_exchanges(block, queries, keys);
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
    block.adapted = mapping_.lora != 0 && mapping_.lora_targets == AdapterTargets::kAll;
    finish(block);
    return block;
}

LayerCosts::Block LayerCosts::expert_mlp() const {
    Block block;
    const double hidden = model_.hidden;
    const double width = static_cast<double>(model_.expert_ffn) / mapping_.etp;
    const double gates = model_.gated ? 2 : 1;
    const double local = static_cast<double>(model_.experts) / mapping_.ep;
    const double divided = mapping_.sequence_parallel ? mapping_.tp : 1;
    const double routed = tokens_ / divided * model_.top_k;
    const double shared =
        static_cast<double>(model_.expert_ffn) / mapping_.tp * model_.shared_experts;
    // Ranks that divide an expert all have the tokens of each other.
    const double rows = routed * mapping_.etp / local;
    block.entering.push_back({.rows = tokens_,
                              .columns = static_cast<double>(model_.experts),
                              .inner = hidden,
                              .half = true});
    block.entering.push_back({rows, gates * width, hidden, local});
    block.leaving.push_back({rows, hidden, width, local});
    if (model_.shared_experts != 0) {
        block.entering.push_back({tokens_, gates * shared, hidden});
        block.leaving.push_back({tokens_, hidden, shared});
    }
    block.tensor = model_.shared_experts != 0;
    const double numbers_inside = rows * local * width + tokens_ * shared;
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
    add_expert_exchanges(block, routed);
    return block;
}

/// Adds the exchanges of tokens with the ranks of their experts, and with those that divide an
/// expert.
void LayerCosts::add_expert_exchanges(Block& block, double routed) const {
    const double divided = mapping_.sequence_parallel ? mapping_.tp : 1;
    const double numbers = tokens_ * copies_of_token() * model_.hidden / divided;
    const double whole = routed * mapping_.etp * model_.hidden;
    const double sent = precision_of(mapping_.recipe) == Precision::kFp8 ? 1 : kHalf;
    const auto exchange = [&](PassCost& pass, Block::Order& order) {
        const double hides = mapping_.overlap_ep ? pass.compute() : 0;
        const Timed there = expert_exchange(numbers * sent);
        const Timed back = expert_exchange(numbers * kHalf);
        Exchanges& exchanges = mapping_.overlap_ep ? order.beside : order.inner;
        add_exchange(pass, exchanges, Dimension::kExpert, there, hides);
        add_exchange(pass, exchanges, Dimension::kExpert, back,
                     std::max(0.0, hides - there.cost.seconds));
        if (mapping_.etp > 1) {
            add_exchange(pass, order.inner, Dimension::kExpert,
                         time(Peers::kExpertTensor, Exchange::kAllGather, whole * sent));
            add_exchange(pass, order.inner, Dimension::kExpert,
                         time(Peers::kExpertTensor, Exchange::kReduceScatter, whole * kHalf));
        }
    };
    exchange(block.cost.forward, block.forward);
    exchange(block.cost.backward, block.backward);
}

/// Adds the exchanges of ZeRO 2 and 3 for a layer. ZeRO 3 (FSDP) gathers its parameters before each
/// pass; both add up its gradients after the backward pass. With overlap, other layers compute
/// meanwhile.
void LayerCosts::add_sharded_parameters(LayerCost& cost, bool experts, LayerPasses* passes) const {
    if (mapping_.zero < 2 || mapping_.shards() == 1) {
        return;
    }
    const double shared = shared_layer_parameters(model_, mapping_, experts);
    const double own = experts ? expert_layer_parameters(model_, mapping_) : 0;
    const bool frozen = mapping_.lora != 0;
    const double adapters = adapter_parameters(model_, mapping_, experts);
    Exchanges forward;
    Exchanges backward;
    const auto exchange = [&](Exchange kind, double bytes, double shared_numbers,
                              double expert_numbers, Exchanges& order) {
        ExchangeCost sum;
        for (const Timed& each : {time(Peers::kData, kind, bytes * shared_numbers),
                                  time(Peers::kExpertData, kind, bytes * expert_numbers)}) {
            sum += each.cost;
            if (each.cost.seconds > 0) {
                order.push_back(each.exchange);
            }
        }
        return sum;
    };
    const auto gather = [&](Exchanges& order) {
        return exchange(Exchange::kAllGather, mapping_.param_bytes, shared, own, order);
    };
    // What other layers hide takes multiprocessors from them.
    const auto add = [this](PassCost& pass, const ExchangeCost& takes, double compute) {
        const double hides = mapping_.overlap_dp ? compute : 0;
        pass.add(Dimension::kData, takes, hides);
        pass.exposed[index_of(Dimension::kData)] += copying_ * std::min(takes.seconds, hides);
    };
    ExchangeCost back;
    if (mapping_.zero == 3) {
        // Whole parameters are there for one pass, and are converted for each.
        const double again = convert_share(mapping_) * kernels_.convert(shared + own);
        cost.forward.elementwise += again;
        cost.backward.elementwise += again;
        add(cost.forward, gather(forward), cost.forward.compute());
        back = gather(backward);
    }
    back += exchange(Exchange::kReduceScatter, mapping_.grad_bytes, frozen ? adapters : shared,
                     frozen ? 0 : own, backward);
    add(cost.backward, back, cost.backward.compute() + cost.recompute.compute());
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

/// Adds what passes over a layer of experts wait for the host, which launches the products and
/// conversions of each expert on their own: two products and their conversions forward; backward
/// twice as many products, and conversions of gradients.
void LayerCosts::add_host(LayerCost& cost) const {
    if (mapping_.cuda_graphs) {
        return;
    }
    const double local = static_cast<double>(model_.experts) / mapping_.ep;
    const double conversions = rates_.convert_kernels[static_cast<std::size_t>(mapping_.recipe)];
    const auto add = [&](PassCost& pass, double products) {
        const double kernels = 2 * local * (conversions + products);
        pass.host += std::max(0.0, kernels * rates_.host_us * 1e-6 - pass.seconds());
    };
    add(cost.forward, 1);
    add(cost.backward, 2);
}

/// Adds what passes wait for activations that travel to the host, and back while the backward pass
/// of the layer behind computes.
void LayerCosts::add_offload(LayerCost& cost, bool experts) const {
    const double seconds = kept_layer_bytes(model_, mapping_, experts) / host_rate_;
    for (PassCost* const pass : {&cost.forward, &cost.backward}) {
        pass->host += std::max(0.0, seconds - pass->seconds());
    }
}

LayerCost LayerCosts::layer(bool experts, const Keeping& keeping, LayerPasses* passes) const {
    const Block first = attention();
    const Block second = experts ? expert_mlp() : mlp();
    LayerCost cost = first.cost;
    cost += second.cost;
    if (experts) {
        add_host(cost);
    }
    if (keeping.offloaded) {
        add_offload(cost, experts);
    }
    if (keeping.recompute == Recompute::kFull) {
        cost.recompute = cost.forward;
    } else if (keeping.recompute == Recompute::kSelective) {
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
        if (keeping.recompute == Recompute::kFull) {
            passes->backward.blocks = passes->forward.blocks;
        } else if (keeping.recompute == Recompute::kSelective) {
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
    const double weights = mapping_.lora != 0 ? 0 : kernels_.matmul_half(hidden, words, tokens_);
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

}  // namespace softib::plan
