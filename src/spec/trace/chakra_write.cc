// SPDX-License-Identifier: BSD-2-Clause
// Writes Chakra execution traces, as ASTRA-sim's feeder reads them.
#include <fmt/format.h>

#include "spec/trace/chakra.h"
#include "spec/trace/protobuf.h"

namespace softib::spec {

namespace {

using plan::trace::Collective;
using plan::trace::Job;
using plan::trace::Kind;
using plan::trace::Operation;

enum AttributeField : std::uint32_t {
    kInt32 = 7,
    kInt64 = 9,
    kUint64 = 13,
    kBool = 27,
    kText = 29
};

void put_attribute(std::string& node, std::string_view name, AttributeField field,
                   std::uint64_t value) {
    std::string attribute;
    put_bytes(attribute, 1, name);
    put_number(attribute, field, value);
    put_bytes(node, 10, attribute);
}

void put_message(std::string& out, std::string_view message) {
    put_varint(out, message.size());
    out += message;
}

std::uint64_t node_type(Kind kind) {
    switch (kind) {
        case Kind::kCompute:
            return chakra::kComp;
        case Kind::kSend:
            return chakra::kCommSend;
        case Kind::kRecv:
            return chakra::kCommRecv;
        case Kind::kCollective:
            break;
    }
    return chakra::kCommColl;
}

void put_communication(std::string& node, const Job& job, std::uint32_t rank, const Operation& op) {
    std::uint64_t bytes = op.bytes;
    if (op.kind == Kind::kCollective) {
        const plan::trace::Communicator& comm = job.communicators[op.communicator];
        const auto& group = comm.groups[comm.group_of[rank]];
        if (op.collective == Collective::kAllGather || op.collective == Collective::kGather) {
            bytes /= group.size();
        }
        put_attribute(node, "comm_type", kInt64, static_cast<std::uint64_t>(op.collective));
        put_attribute(node, "root", kInt32, op.peer);
        if (group.size() != job.ranks()) {
            std::string attribute;
            put_bytes(attribute, 1, "pg_name");
            put_bytes(attribute, kText, fmt::format("{}.{}", op.communicator, comm.group_of[rank]));
            put_bytes(node, 10, attribute);
        }
    } else {
        const bool sends = op.kind == Kind::kSend;
        put_attribute(node, "comm_src", kInt32, sends ? rank : op.peer);
        put_attribute(node, "comm_dst", kInt32, sends ? op.peer : rank);
        put_attribute(node, "comm_tag", kInt32, op.tag);
    }
    put_attribute(node, "comm_size", kInt64, bytes);
}

}  // namespace

std::string write_chakra(const Job& job, std::uint32_t rank) {
    const plan::trace::Program& program = job.program(rank);
    const plan::trace::Links before(program.next(), program.edges(), false);
    std::string out;
    std::string head;
    put_bytes(head, 1, "0.0.4");
    put_message(out, head);
    for (std::uint32_t i = 0; i < program.next(); ++i) {
        const Operation& op = program.operations()[i];
        std::string node;
        put_number(node, 1, i);
        put_bytes(node, 2, job.names[op.name]);
        put_number(node, 3, node_type(op.kind));
        std::string deps;
        for (const plan::trace::Dependency& each : before.of(i)) {
            put_varint(deps, each.on);
        }
        if (!deps.empty()) {
            put_bytes(node, 5, deps);
        }
        if (op.kind == Kind::kCompute) {
            put_number(node, 7, (op.compute_ps + 500'000) / 1'000'000);
            // Chakra's own field has microseconds, which are too coarse for MPI jobs.
            put_attribute(node, "duration_ns", kUint64, (op.compute_ps + 500) / 1000);
            put_attribute(node, "stream", kInt64, op.lane);
        } else {
            put_communication(node, job, rank, op);
        }
        put_attribute(node, "is_cpu_op", kBool, 0);
        put_message(out, node);
    }
    return out;
}

std::string write_chakra_groups(const Job& job) {
    std::string text;
    for (std::size_t c = 0; c < job.communicators.size(); ++c) {
        const auto& groups = job.communicators[c].groups;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            if (groups[g].size() != job.ranks()) {
                text += fmt::format("{}\"{}.{}\": [{}]", text.empty() ? "{" : ",\n ", c, g,
                                    fmt::join(groups[g], ", "));
            }
        }
    }
    return text.empty() ? text : text + "}\n";
}

}  // namespace softib::spec
