// SPDX-License-Identifier: BSD-2-Clause
#include "spec/trace/chakra.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "spec/trace/file_rank.h"
#include "spec/trace/protobuf.h"

namespace softib::spec {

namespace chakra {

namespace {

std::uint64_t zigzag(std::uint64_t value) {
    return (value >> 1) ^ (0 - (value & 1));
}

/// Reads an attribute of a node: integers of any width, booleans and texts. Lists and fractions are
/// left out.
bool read_attribute(std::string_view bytes, Node& node) {
    ProtoReader reader(bytes);
    std::string name;
    std::optional<ProtoField> value;
    while (const auto field = reader.field()) {
        if (field->number == 1) {
            name = field->bytes;
        } else if (field->number != 2) {
            value = field;
        }
    }
    if (!value) {
        return reader.ok();
    }
    constexpr std::uint32_t kSint32 = 15;
    constexpr std::uint32_t kSint64 = 17;
    constexpr std::uint32_t kString = 29;
    if (value->number == kString && value->wire == ProtoField::Wire::kBytes) {
        node.texts[name] = value->bytes;
    } else if (value->wire != ProtoField::Wire::kBytes && value->number >= 7) {
        node.numbers[name] = value->number == kSint32 || value->number == kSint64
                                 ? zigzag(value->value)
                                 : value->value;
    }
    return reader.ok();
}

bool read_dependencies(const ProtoField& field, std::vector<std::uint64_t>& deps) {
    if (field.wire != ProtoField::Wire::kBytes) {
        deps.push_back(field.value);
        return true;
    }
    ProtoReader packed(field.bytes);
    while (!packed.done()) {
        if (const auto value = packed.varint()) {
            deps.push_back(*value);
        }
    }
    return packed.ok();
}

bool read_node(std::string_view bytes, Node& node) {
    ProtoReader reader(bytes);
    while (const auto field = reader.field()) {
        bool sound = true;
        switch (field->number) {
            case 1:
                node.id = field->value;
                break;
            case 2:
                node.name = field->bytes;
                break;
            case 3:
                node.type = field->value;
                break;
            case 4:
                sound = read_dependencies(*field, node.ctrl_deps);
                break;
            case 5:
                sound = read_dependencies(*field, node.data_deps);
                break;
            case 7:
                node.duration_us = field->value;
                break;
            case 10:
                sound = read_attribute(field->bytes, node);
                break;
            default:
                break;
        }
        if (!sound) {
            return false;
        }
    }
    return reader.ok();
}

}  // namespace

std::expected<std::vector<Node>, std::string> parse_binary(const TraceText& file) {
    std::vector<Node> nodes;
    ProtoReader reader(file.text);
    bool first = true;
    while (!reader.done()) {
        const std::size_t offset = reader.offset();
        const auto message = reader.block();
        Node node;
        node.offset = offset;
        // The first message has the version.
        if (!message || (!first && !read_node(*message, node))) {
            return std::unexpected(
                fmt::format("{}: byte {}: no Chakra node can be read here", file.file, offset));
        }
        if (!first) {
            nodes.push_back(std::move(node));
        }
        first = false;
    }
    return nodes;
}

}  // namespace chakra

namespace {

using chakra::Node;
using plan::trace::Collective;
using plan::trace::Job;
using plan::trace::Kind;
using plan::trace::Operation;
using plan::trace::Program;

constexpr std::uint64_t kChakraBytesMost = 1ULL << 50;
constexpr std::uint64_t kChakraUsMost = 1'000'000'000'000;

class ChakraReader {
  public:
    ChakraReader(std::span<const TraceText> files, const TraceOptions& options)
        : files_(files), options_(options) {}

    std::expected<Job, std::string> run() {
        const auto ranks = file_ranks(files_);
        if (!ranks) {
            return std::unexpected(ranks.error());
        }
        job_.name = files_.front().file;
        job_.programs.resize(files_.size());
        job_.program_of = *ranks;
        // The program of a rank has the number of its file.
        for (std::uint32_t i = 0; i < files_.size(); ++i) {
            job_.program_of[(*ranks)[i]] = i;
        }
        if (!options_.groups.text.empty()) {
            auto groups = chakra::parse_groups(options_.groups);
            if (!groups) {
                return std::unexpected(groups.error());
            }
            given_ = *groups;
            groups_ = *std::move(groups);
        }
        std::vector<std::vector<Node>> all;
        for (const TraceText& file : files_) {
            const auto format = format_of(file);
            auto nodes = format && *format == TraceFormat::kChakraJson ? chakra::parse_json(file)
                                                                       : chakra::parse_binary(file);
            if (!nodes) {
                return std::unexpected(nodes.error());
            }
            chakra::collect_groups(*nodes, groups_);
            for (const Node& node : *nodes) {
                if (const auto group = node.texts.find("pg_name"); group != node.texts.end()) {
                    named_.insert(group->second);
                }
            }
            all.push_back(*std::move(nodes));
        }
        job_.add_world();
        for (std::size_t i = 0; i < all.size(); ++i) {
            read_rank(files_[i], all[i], job_.programs[i]);
            if (!error_.empty()) {
                return std::unexpected(error_);
            }
        }
        return std::move(job_);
    }

  private:
    void wrong(const TraceText& file, const Node& node, std::string_view message) {
        if (error_.empty()) {
            error_ = fmt::format("{}: node {} '{}': {}", file.file, node.id,
                                 std::string_view(node.name).substr(0, 60), message);
        }
    }
    static std::uint64_t attribute(const Node& node, std::string_view name, std::uint64_t without) {
        const auto found = node.numbers.find(name);
        return found == node.numbers.end() ? without : found->second;
    }

    void read_rank(const TraceText& file, const std::vector<Node>& nodes, Program& program) {
        std::unordered_map<std::uint64_t, std::uint32_t> index;
        for (const Node& node : nodes) {
            if (!index.try_emplace(node.id, program.next()).second) {
                return wrong(file, node, "its id stands for two nodes");
            }
            program.add(operation(file, node));
            if (!error_.empty()) {
                return;
            }
        }
        depend(nodes, index, program, &Node::data_deps);
        depend(nodes, index, program, &Node::ctrl_deps);
        if (!plan::trace::sorted(program)) {
            // In some traces a call and what it calls depend on each other. Then only dependencies
            // of data are taken.
            program.forget_dependencies();
            depend(nodes, index, program, &Node::data_deps);
            if (job_.notes.empty()) {
                job_.notes.emplace_back(
                    "control dependencies go in a circle: those of data are honoured alone");
            }
        }
    }

    static void depend(const std::vector<Node>& nodes,
                       const std::unordered_map<std::uint64_t, std::uint32_t>& index,
                       Program& program, std::vector<std::uint64_t> Node::* deps) {
        for (std::uint32_t i = 0; i < nodes.size(); ++i) {
            for (const std::uint64_t on : nodes[i].*deps) {
                const auto found = index.find(on);
                // A trace may lack nodes that others depend on, such as the root of a process.
                if (found != index.end() && found->second != i) {
                    program.depend(i, found->second);
                }
            }
        }
    }

    Operation operation(const TraceText& file, const Node& node) {
        Operation op;
        op.name = job_.add_name(std::string_view(node.name).substr(0, 200));
        op.lane = attribute(node, "is_cpu_op", 0) != 0 ? 1 : 0;
        const std::uint64_t bytes = attribute(node, "comm_size", 0);
        if (bytes > kChakraBytesMost || node.duration_us > kChakraUsMost) {
            wrong(file, node, "its size or its duration is impossible");
            return op;
        }
        switch (node.type) {
            case chakra::kCommSend:
            case chakra::kCommRecv:
                op.kind = node.type == chakra::kCommSend ? Kind::kSend : Kind::kRecv;
                op.peer = static_cast<std::uint32_t>(
                    attribute(node, op.kind == Kind::kSend ? "comm_dst" : "comm_src", 0));
                op.tag = static_cast<std::uint32_t>(attribute(node, "comm_tag", 0));
                op.bytes = bytes;
                return op;
            case chakra::kCommColl:
                collective(file, node, op);
                return op;
            case chakra::kComp:
                op.compute_ps = compute_ps(node);
                // Kernels of a stream run one after the other, in its lane; lane 1 is the host's.
                if (const std::uint64_t stream = attribute(node, "stream", 0);
                    op.lane == 0 && stream != 0) {
                    op.lane = static_cast<std::uint8_t>(std::min<std::uint64_t>(stream, 253) + 1);
                }
                return op;
            default:
                return op;
        }
    }

    plan::TimePs compute_ps(const Node& node) const {
        if (const auto ns = node.numbers.find("duration_ns");
            ns != node.numbers.end() && ns->second < kChakraUsMost * 1000) {
            return ns->second * 1000;
        }
        if (node.duration_us != 0 || options_.flops_per_s <= 0) {
            return node.duration_us * 1'000'000;
        }
        // The longer of the times for operations and for bytes, as in a roofline model.
        const double by_flops =
            static_cast<double>(attribute(node, "num_ops", 0)) / options_.flops_per_s;
        const double by_bytes = options_.memory_bytes_per_s <= 0
                                    ? 0
                                    : static_cast<double>(attribute(node, "tensor_size", 0)) /
                                          options_.memory_bytes_per_s;
        return static_cast<plan::TimePs>(std::min(std::max(by_flops, by_bytes), 1e6) * 1e12);
    }

    void collective(const TraceText& file, const Node& node, Operation& op) {
        // A framework's call has no type; the kernel that it starts has one.
        const auto type = node.numbers.find("comm_type");
        if (type == node.numbers.end()) {
            op.compute_ps = op.lane == 1 ? compute_ps(node) : 0;
            return;
        }
        if (type->second >= plan::trace::kCollectives.size()) {
            return wrong(file, node, fmt::format("comm_type {} is none of 0 to 9", type->second));
        }
        op.kind = Kind::kCollective;
        op.collective = plan::trace::kCollectives[type->second];
        op.bytes = attribute(node, "comm_size", 0);
        op.peer = static_cast<std::uint32_t>(attribute(node, "root", 0));
        const auto group = node.texts.find("pg_name");
        op.communicator = group == node.texts.end() ? 0 : communicator(file, node, group->second);
        const bool gathers =
            op.collective == Collective::kAllGather || op.collective == Collective::kGather;
        if (gathers && error_.empty()) {
            // Chakra counts the bytes of one rank's input, Operation::bytes those of the result.
            const auto& groups = job_.communicators[op.communicator].groups;
            op.bytes *= groups.empty() ? 1 : groups.front().size();
        }
    }

    std::uint32_t communicator(const TraceText& file, const Node& node, const std::string& name) {
        if (const auto known = known_.find(name); known != known_.end()) {
            return known->second;
        }
        if (options_.groups_named != nullptr && given_.contains(name)) {
            *options_.groups_named = true;
        }
        const auto group = groups_.find(name);
        if (group == groups_.end() && !name.empty() && named_.size() > 1) {
            wrong(file, node,
                  fmt::format("nothing says which ranks process group '{}' has: give them with "
                              "--groups FILE as {{\"{}\": [0, 1]}}",
                              name, name));
            return 0;
        }
        const std::uint32_t number =
            group == groups_.end() ? 0 : job_.add_communicator("group " + name, {group->second});
        known_[name] = number;
        return number;
    }

    std::span<const TraceText> files_;
    const TraceOptions& options_;
    Job job_ = {};
    chakra::Groups given_ = {};   ///< Those of the side file.
    chakra::Groups groups_ = {};  ///< All.
    std::set<std::string> named_ = {};
    std::map<std::string, std::uint32_t> known_ = {};
    std::string error_ = {};
};

}  // namespace

std::expected<Job, std::string> parse_chakra(std::span<const TraceText> files,
                                             const TraceOptions& options) {
    return ChakraReader(files, options).run();
}

}  // namespace softib::spec
