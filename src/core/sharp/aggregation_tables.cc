// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/aggregation_tables.h"

#include <algorithm>
#include <iterator>

#include "core/wire/mad/class_port_info.h"
#include "core/wire/mad/mad.h"
#include "core/wire/sharp/sharp_am_key_info.h"

namespace softib::sharp {

namespace {

namespace status = wire::mad_status;
using wire::SharpGroupJoin;
using wire::SharpQpAllocation;
using wire::SharpQpcConfig;
using wire::SharpQuotaConfig;
using wire::SharpResourceCleanup;
using wire::SharpTreeConfig;

constexpr auto kQpAllocationId = static_cast<std::uint16_t>(wire::SharpAttribute::kQpAllocation);

/// Writes an answer; bytes that belong to no field of the attribute are zero.
template <wire::Attribute T>
void put_answer(const T& value, std::span<std::uint8_t> data) {
    std::ranges::fill(data, std::uint8_t{0});
    wire::emit(value, data);
}

/// Returns whether `request` repeats the request `before`. The upper half of TransactionID is not
/// compared: it belongs to the layer that sends for a program, which may number each try there.
bool is_repeated(wire::MadBytes before, const wire::MadBytes& request) {
    constexpr std::uint64_t kLower = 0xFFFFFFFF;
    const std::uint64_t number = wire::Mad<const std::uint8_t>(before).transaction_id();
    const std::uint64_t now = wire::Mad<const std::uint8_t>(request).transaction_id();
    wire::Mad<std::uint8_t>(before).set_transaction_id(now);
    return (number & kLower) == (now & kLower) && before == request;
}

}  // namespace

wire::SharpAnInfo default_an_info() {
    wire::SharpAnInfo info;
    info.streaming_supported = true;
    info.tree_table_size = 126;  // As in Quantum: 63 low-latency and 63 streaming trees.
    info.tree_radix = 255;
    info.versions_supported = 1;
    info.versions_active = 1;
    info.group_table_size = 1024;
    info.max_group_num = 0xFFFF;
    info.operation_table_size = 2048;
    info.max_aggregation_payload = 32;  // In lines of 32 bytes: 1 KiB.
    info.num_semaphores = 8;
    info.streaming_operations = 64;
    info.operation_buffer_size = 65536;
    info.num_of_jobs = 256;
    info.max_num_qps = 4096;
    info.max_llt_qps = 4096;
    info.line_size = 32;
    info.data_types = wire::sharp_data_types::kU16 | wire::sharp_data_types::kI16 |
                      wire::sharp_data_types::kF16 | wire::sharp_data_types::kU8 |
                      wire::sharp_data_types::kBf16 | wire::sharp_data_types::kI8;
    return info;
}

const SharpQpcConfig* AggregationTables::qp(Qpn qpn) const {
    const auto found = qps_.find(qpn);
    return found == qps_.end() ? nullptr : &found->second;
}

const AggregationTables::Tree* AggregationTables::tree(std::uint16_t id) const {
    const auto found = trees_.find(id);
    return found == trees_.end() ? nullptr : &found->second;
}

const AggregationTables::Group* AggregationTables::group(std::uint32_t id) const {
    const auto found = groups_.find(id);
    return found == groups_.end() ? nullptr : &found->second;
}

const AggregationTables::Quota* AggregationTables::quota(std::uint32_t job,
                                                         std::uint16_t tree) const {
    const auto found = quotas_.find({job, tree});
    return found == quotas_.end() ? nullptr : &found->second;
}

std::vector<Qpn> AggregationTables::children_of(const Group& group) const {
    std::vector<Qpn> children;
    if (const Tree* const at = tree(group.tree)) {
        std::ranges::copy_if(at->children, std::back_inserter(children),
                             [&](Qpn child) { return group.children.contains(child); });
    }
    return children;
}

std::uint16_t AggregationTables::am_key_info(bool set, Data data) {
    if (set) {
        am_key_ = wire::parse<wire::SharpAmKeyInfo>(data).am_key;
    }
    put_answer(wire::SharpAmKeyInfo{}, data);
    return status::kOk;
}

/// Returns the earlier answer to a repeated request for queue pairs; std::nullopt if the request is
/// new, or if its queue pairs have been written or released since.
std::optional<wire::MadBytes> AggregationTables::given_before(const wire::MadBytes& request) const {
    const auto found = std::ranges::find_if(
        given_, [&](const Given& each) { return is_repeated(each.request, request); });
    if (found == given_.end()) {
        return std::nullopt;
    }
    const auto got =
        wire::parse<SharpQpAllocation>(wire::Sharp<const std::uint8_t>(found->answer).data());
    const bool unused = std::ranges::all_of(std::span(got.qps).first(got.count), [&](Qpn qpn) {
        const SharpQpcConfig* const context = qp(qpn);
        return context != nullptr && context->state == SharpQpcConfig::State::kDisabled;
    });
    if (!unused) {
        return std::nullopt;
    }
    wire::MadBytes answer = found->answer;
    wire::Mad<std::uint8_t>(answer).set_transaction_id(
        wire::Mad<const std::uint8_t>(request).transaction_id());
    return answer;
}

/// Returns the QPN that has been out of use for the longest time. Packets of a connection that has
/// ended may still be on their way, and must find no queue pair that expects their PSN.
Qpn AggregationTables::next_qpn() {
    do {
        last_qpn_.value = last_qpn_.value == kQpnLast ? kQpnFirst : last_qpn_.value + 1;
    } while (qps_.contains(last_qpn_));
    return last_qpn_;
}

std::uint16_t AggregationTables::qp_allocation(bool set, Data data) {
    auto wanted = wire::parse<SharpQpAllocation>(data);
    if (!set) {
        return status::kUnsupportedMethod;
    }
    const auto listed = std::span(wanted.qps)
                            .first(std::min<std::size_t>(wanted.count, SharpQpAllocation::kQpsMax));
    if (wanted.count == 0 || wanted.count > SharpQpAllocation::kQpsMax) {
        return status::kInvalidField;
    }
    const auto is_known = [&](Qpn qpn) { return qps_.contains(qpn); };
    switch (wanted.op) {
        case SharpQpAllocation::Op::kAllocate: {
            if (qps_.size() + wanted.count > info_.max_num_qps) {
                return wire::sharp_status::kNoResource;
            }
            for (Qpn& qpn : listed) {
                qpn = next_qpn();
                qps_[qpn].qpn = qpn;
            }
            break;
        }
        case SharpQpAllocation::Op::kRelease:
            if (!std::ranges::all_of(listed, is_known) ||
                !std::ranges::all_of(listed, [&](Qpn qpn) { return is_free_child(qpn, 0xFFFF); })) {
                return status::kInvalidField;
            }
            for (const Qpn qpn : listed) {
                qps_.erase(qpn);
            }
            break;
        case SharpQpAllocation::Op::kConfirm:
            if (!std::ranges::all_of(listed, is_known)) {
                return status::kInvalidField;
            }
            break;
        default:
            return status::kInvalidField;
    }
    ++writes_;
    put_answer(wanted, data);
    return status::kOk;
}

std::uint16_t AggregationTables::qpc_config(bool set, Data data) {
    const auto wanted = wire::parse<SharpQpcConfig>(data);
    const auto found = qps_.find(wanted.qpn);
    if (found == qps_.end()) {
        return status::kInvalidField;
    }
    if (set) {
        const bool known_transport = wanted.transport == SharpQpcConfig::Transport::kRc ||
                                     wanted.transport == SharpQpcConfig::Transport::kUd;
        if (wanted.state > SharpQpcConfig::State::kError || !known_transport ||
            wanted.port > ports_) {
            return status::kInvalidField;
        }
        found->second = wanted;
        ++writes_;
    }
    put_answer(found->second, data);
    return status::kOk;
}

/// Returns whether a queue pair exists and is in no other tree, as parent or child.
bool AggregationTables::is_free_child(Qpn qpn, std::uint16_t tree) const {
    if (!qps_.contains(qpn)) {
        return false;
    }
    return std::ranges::none_of(trees_, [&](const auto& entry) {
        return entry.first != tree &&
               (entry.second.parent == qpn ||
                std::ranges::find(entry.second.children, qpn) != entry.second.children.end());
    });
}

std::uint16_t AggregationTables::write_tree(const SharpTreeConfig& wanted) {
    if (wanted.tree_id >= info_.tree_table_size ||
        wanted.num_of_children > SharpTreeConfig::kChildrenMax ||
        wanted.state > SharpTreeConfig::State::kError ||
        wanted.mode > SharpTreeConfig::Mode::kSat ||
        wanted.lock_mode > SharpTreeConfig::LockMode::kConstant ||
        (wanted.mode == SharpTreeConfig::Mode::kSat && !info_.streaming_supported)) {
        return status::kInvalidField;
    }
    const auto found = trees_.find(wanted.tree_id);
    if (found == trees_.end() && wanted.op != SharpTreeConfig::Op::kWriteTree) {
        return status::kInvalidField;
    }
    Tree next = found == trees_.end() ? Tree{} : found->second;
    const auto listed = std::span(wanted.children).first(wanted.num_of_children);
    switch (wanted.op) {
        case SharpTreeConfig::Op::kWriteTree:
            next = {wanted.state, wanted.mode, wanted.lock_mode, wanted.parent_qpn, {}};
            [[fallthrough]];
        case SharpTreeConfig::Op::kAddChildren: {
            const std::vector<Qpn> before = next.children;  // A repeated request adds nothing.
            std::ranges::copy_if(listed, std::back_inserter(next.children), [&](Qpn child) {
                return std::ranges::find(before, child) == before.end();
            });
            break;
        }
        case SharpTreeConfig::Op::kRemoveChildren:
            std::erase_if(next.children, [&](Qpn child) {
                return std::ranges::find(listed, child) != listed.end();
            });
            break;
        case SharpTreeConfig::Op::kSetParent:
            next.parent = wanted.parent_qpn;
            break;
        default:
            return status::kInvalidField;
    }
    if (next.children.size() > info_.tree_radix) {
        return wire::sharp_status::kNoResource;
    }
    std::set<Qpn> ends(next.children.begin(), next.children.end());
    const bool distinct = ends.size() == next.children.size();
    if (next.parent != Qpn{} && !ends.insert(next.parent).second) {
        return status::kInvalidField;
    }
    if (!distinct ||
        !std::ranges::all_of(ends, [&](Qpn qpn) { return is_free_child(qpn, wanted.tree_id); })) {
        return status::kInvalidField;
    }
    trees_[wanted.tree_id] = std::move(next);
    info_.tree_radix_used = 0;
    for (const auto& [id, tree] : trees_) {
        info_.tree_radix_used =
            std::max(info_.tree_radix_used, static_cast<std::uint8_t>(tree.children.size()));
    }
    ++writes_;
    return status::kOk;
}

std::uint16_t AggregationTables::tree_config(bool set, Data data) {
    const auto wanted = wire::parse<SharpTreeConfig>(data);
    if (set) {
        if (const std::uint16_t result = write_tree(wanted); result != status::kOk) {
            return result;
        }
    }
    const Tree* const found = tree(wanted.tree_id);
    if (found == nullptr) {
        return status::kInvalidField;
    }
    SharpTreeConfig told;
    told.tree_id = wanted.tree_id;
    told.state = found->state;
    told.mode = found->mode;
    told.lock_mode = found->lock_mode;
    told.parent_qpn = found->parent;
    told.record_locator = wanted.record_locator;
    for (std::size_t i = wanted.record_locator;
         i < found->children.size() && told.num_of_children < told.children.size(); ++i) {
        told.children[told.num_of_children++] = found->children[i];
    }
    put_answer(told, data);
    return status::kOk;
}

std::uint16_t AggregationTables::quota_config(bool set, Data data) {
    auto wanted = wire::parse<SharpQuotaConfig>(data);
    const std::pair key{wanted.job_id, wanted.tree_id};
    if (set) {
        if (wanted.job_id == 0 || !trees_.contains(wanted.tree_id) ||
            (wanted.op != SharpQuotaConfig::Op::kSet && wanted.op != SharpQuotaConfig::Op::kEdit)) {
            return status::kInvalidField;
        }
        std::uint64_t osts = wanted.max_osts;
        std::uint64_t buffers = wanted.max_buffers;
        std::uint64_t groups = wanted.max_groups;
        std::set<std::uint32_t> jobs{wanted.job_id};
        for (const auto& [other, quota] : quotas_) {
            jobs.insert(other.first);
            if (other != key) {
                osts += quota.max_osts;
                buffers += quota.max_buffers;
                groups += quota.max_groups;
            }
        }
        if (osts > info_.operation_table_size || buffers > info_.operation_buffer_size ||
            groups > info_.group_table_size || jobs.size() > info_.num_of_jobs) {
            return wire::sharp_status::kNoResource;
        }
        quotas_[key] = {wanted.max_osts, wanted.max_buffers, wanted.max_groups};
        ++writes_;
    }
    const Quota* const found = quota(wanted.job_id, wanted.tree_id);
    if (found == nullptr) {
        return status::kInvalidField;
    }
    wanted.max_osts = found->max_osts;
    wanted.max_buffers = found->max_buffers;
    wanted.max_groups = found->max_groups;
    put_answer(wanted, data);
    return status::kOk;
}

std::uint16_t AggregationTables::join(const SharpGroupJoin& wanted) {
    const Tree* const at = tree(wanted.tree_id);
    const Quota* const allowed = quota(wanted.job_id, wanted.tree_id);
    if (at == nullptr || at->state != SharpTreeConfig::State::kEnabled || allowed == nullptr ||
        std::ranges::find(at->children, wanted.qpn) == at->children.end()) {
        return status::kInvalidField;
    }
    const auto found = groups_.find(wanted.group_id);
    if (found == groups_.end()) {
        const auto mine = std::ranges::count_if(groups_, [&](const auto& entry) {
            return entry.second.job == wanted.job_id && entry.second.tree == wanted.tree_id;
        });
        if (static_cast<std::uint64_t>(mine) >= allowed->max_groups) {
            return wire::sharp_status::kNoResource;
        }
    } else if (found->second.job != wanted.job_id || found->second.tree != wanted.tree_id) {
        return status::kInvalidField;
    }
    Group& group = groups_[wanted.group_id];
    group.job = wanted.job_id;
    group.tree = wanted.tree_id;
    group.children.insert(wanted.qpn);
    ++writes_;
    return status::kOk;
}

/// Returns the node's ports through which a group's packets pass.
std::set<std::uint8_t> AggregationTables::ports_of(const Group& group) const {
    std::set<std::uint8_t> ports;
    for (const Qpn child : group.children) {
        if (const SharpQpcConfig* const context = qp(child)) {
            ports.insert(context->port);
        }
    }
    const Tree* const at = tree(group.tree);
    if (at != nullptr && at->parent != Qpn{}) {
        if (const SharpQpcConfig* const context = qp(at->parent)) {
            ports.insert(context->port);
        }
    }
    return ports;
}

std::uint16_t AggregationTables::lock(const SharpGroupJoin& wanted) {
    const auto found = groups_.find(wanted.group_id);
    if (found == groups_.end() || found->second.job != wanted.job_id ||
        found->second.tree != wanted.tree_id ||
        tree(wanted.tree_id)->mode != SharpTreeConfig::Mode::kSat) {
        return status::kInvalidField;
    }
    if (wanted.op == SharpGroupJoin::Op::kLock && !found->second.locked) {
        const std::set<std::uint8_t> mine = ports_of(found->second);
        std::size_t locked = 0;
        for (const auto& [id, other] : groups_) {
            if (!other.locked) {
                continue;
            }
            ++locked;
            const std::set<std::uint8_t> theirs = ports_of(other);
            if (std::ranges::any_of(mine, [&](std::uint8_t p) { return theirs.contains(p); })) {
                return wire::sharp_status::kLocked;
            }
        }
        if (locked >= info_.num_semaphores) {
            return wire::sharp_status::kLocked;
        }
    }
    found->second.locked = wanted.op == SharpGroupJoin::Op::kLock;
    ++writes_;
    return status::kOk;
}

std::uint16_t AggregationTables::group_join(bool set, Data data) {
    const auto wanted = wire::parse<SharpGroupJoin>(data);
    if (!set) {
        return status::kUnsupportedMethod;
    }
    switch (wanted.op) {
        case SharpGroupJoin::Op::kJoin:
            return join(wanted);
        case SharpGroupJoin::Op::kLeave: {
            const auto found = groups_.find(wanted.group_id);
            if (found == groups_.end() || found->second.job != wanted.job_id ||
                found->second.children.erase(wanted.qpn) == 0) {
                return status::kInvalidField;
            }
            if (found->second.children.empty()) {
                groups_.erase(found);
            }
            ++writes_;
            return status::kOk;
        }
        case SharpGroupJoin::Op::kLock:
        case SharpGroupJoin::Op::kUnlock:
            return lock(wanted);
        default:
            return status::kInvalidField;
    }
}

void AggregationTables::forget_job(std::uint32_t job, std::optional<std::uint16_t> tree) {
    std::erase_if(groups_, [&](const auto& entry) {
        return entry.second.job == job && (!tree || entry.second.tree == *tree);
    });
    std::erase_if(quotas_, [&](const auto& entry) {
        return entry.first.first == job && (!tree || entry.first.second == *tree);
    });
}

/// Removes a tree with its queue pairs, and the groups and quotas that jobs have in it.
void AggregationTables::forget_tree(std::uint16_t id) {
    const auto found = trees_.find(id);
    if (found == trees_.end()) {
        return;
    }
    for (const Qpn child : found->second.children) {
        qps_.erase(child);
    }
    qps_.erase(found->second.parent);
    trees_.erase(found);
    std::erase_if(groups_, [&](const auto& entry) { return entry.second.tree == id; });
    std::erase_if(quotas_, [&](const auto& entry) { return entry.first.second == id; });
}

std::uint16_t AggregationTables::cleanup(bool set, Data data) {
    const auto wanted = wire::parse<SharpResourceCleanup>(data);
    if (!set) {
        return status::kUnsupportedMethod;
    }
    switch (wanted.op) {
        case SharpResourceCleanup::Op::kJob:
            forget_job(wanted.job_id, std::nullopt);
            break;
        case SharpResourceCleanup::Op::kTree:
            forget_tree(wanted.tree_id);
            break;
        case SharpResourceCleanup::Op::kJobTree:
            forget_job(wanted.job_id, wanted.tree_id);
            break;
        case SharpResourceCleanup::Op::kAll:
            groups_.clear();
            quotas_.clear();
            trees_.clear();
            qps_.clear();
            given_.clear();
            break;
        default:
            return status::kInvalidField;
    }
    ++writes_;
    return status::kOk;
}

/// Answers with the counters since the last reset; a Set resets all of them.
std::uint16_t AggregationTables::performance_counters(bool set, Data data) {
    wire::SharpPerformanceCounters told;
    told.counter_select = UINT16_MAX;
    for (const auto counter : wire::SharpPerformanceCounters::counters()) {
        const std::uint64_t now = counters_.*counter + elsewhere_.*counter;
        if (set) {
            reset_at_.*counter = now;
        }
        told.*counter = now - reset_at_.*counter;
    }
    put_answer(told, data);
    return status::kOk;
}

std::uint16_t AggregationTables::dispatch(const wire::MadRepr& header, Data data) {
    const bool set = header.method == wire::Method::kSet;
    switch (static_cast<wire::SharpAttribute>(header.attribute_id)) {
        case wire::SharpAttribute::kClassPortInfo: {
            if (set) {
                manager_lid_ = wire::parse<wire::ClassPortInfo>(data).trap_lid;
            }
            wire::ClassPortInfo info;
            info.class_version = wire::kSharpClassVersion;
            info.trap_lid = manager_lid_;
            put_answer(info, data);
            return status::kOk;
        }
        case wire::SharpAttribute::kAnInfo:
            put_answer(info_, data);
            return set ? status::kUnsupportedMethod : status::kOk;
        case wire::SharpAttribute::kAmKeyInfo:
            return am_key_info(set, data);
        case wire::SharpAttribute::kQpAllocation:
            return qp_allocation(set, data);
        case wire::SharpAttribute::kQpcConfig:
            return qpc_config(set, data);
        case wire::SharpAttribute::kTreeConfig:
            return tree_config(set, data);
        case wire::SharpAttribute::kQuotaConfig:
            return quota_config(set, data);
        case wire::SharpAttribute::kGroupJoin:
            return group_join(set, data);
        case wire::SharpAttribute::kResourceCleanup:
            return cleanup(set, data);
        case wire::SharpAttribute::kPerformanceCounters:
            return performance_counters(set, data);
        default:
            return status::kUnsupportedAttribute;
    }
}

std::optional<wire::MadBytes> AggregationTables::answer(const wire::MadBytes& request) {
    const auto header = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(request));
    if (header.mgmt_class != wire::MgmtClass::kSharp ||
        (header.method != wire::Method::kGet && header.method != wire::Method::kSet)) {
        return std::nullopt;
    }
    if (header.base_version != wire::kMadBaseVersion ||
        header.class_version > wire::kSharpClassVersion) {
        return wire::respond_with_status(request, status::kUnsupportedClass);
    }
    const bool set = header.method == wire::Method::kSet;
    if (set && am_key_ != 0 && wire::Sharp<const std::uint8_t>(request).am_key() != am_key_) {
        return wire::respond_with_status(request, wire::sharp_status::kBadKey);
    }
    const bool gives =
        set && header.attribute_id == kQpAllocationId &&
        wire::parse<SharpQpAllocation>(wire::Sharp<const std::uint8_t>(request).data()).op ==
            SharpQpAllocation::Op::kAllocate;
    if (gives) {
        if (const auto before = given_before(request)) {
            return before;
        }
    }
    wire::MadBytes answer = request;
    const std::uint16_t result = dispatch(header, wire::Sharp<std::uint8_t>(answer).data());
    const wire::Mad<std::uint8_t> out(answer);
    out.set_method(wire::Method::kGetResp);
    out.set_status(result);
    if (gives && result == status::kOk) {
        std::erase_if(given_,
                      [&](const Given& each) { return is_repeated(each.request, request); });
        given_.push_back({request, answer});
        if (given_.size() > kGivenMax) {
            given_.erase(given_.begin());
        }
    }
    return answer;
}

}  // namespace softib::sharp
