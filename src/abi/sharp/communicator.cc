// SPDX-License-Identifier: BSD-2-Clause
#include "abi/sharp/communicator.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace softib::abi::sharp {

namespace {

using shm::SharpCommand;
using shm::SharpReply;
using softib::sharp::LockState;

LockState lock_state(const softib::sharp::GroupHeader& header) {
    return static_cast<LockState>(header.lock.load(std::memory_order_acquire));
}

std::uint32_t processors() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::uint32_t>(CPU_COUNT(&set))
                                                       : 1U;
}

int code(Error error) {
    return static_cast<int>(error);
}

/// Returns what sharp_coll_init() returns for an error: errors that are not listed here become
/// SHARP_COLL_EJOB_CREATE.
int job_code(Error error) {
    switch (error) {
        case Error::kQuota:
        case Error::kSession:
        case Error::kDevice:
        case Error::kInvalid:
        case Error::kNoTree:
        case Error::kNotSupported:
        case Error::kOutOfBand:
        case Error::kNoResource:
            return code(error);
        default:
            return SHARP_COLL_EJOB_CREATE;
    }
}

}  // namespace

Error OutOfBand::agree(Error mine) const {
    std::int32_t verdict = static_cast<std::int32_t>(mine);
    if (size == 1) {
        return mine;
    }
    std::vector<std::int32_t> all(static_cast<std::size_t>(rank == 0 ? size : 0));
    if (colls.gather(context, 0, &verdict, all.data(), sizeof verdict) != 0) {
        return Error::kOutOfBand;
    }
    for (const std::int32_t each : all) {
        verdict = verdict == 0 ? each : verdict;
    }
    if (colls.bcast(context, &verdict, sizeof verdict, 0) != 0) {
        return Error::kOutOfBand;
    }
    return static_cast<Error>(verdict);
}

Error OutOfBand::spread(void* data, std::size_t bytes) const {
    return size == 1 || colls.bcast(context, data, static_cast<int>(bytes), 0) == 0
               ? Error::kNone
               : Error::kOutOfBand;
}

namespace {

/// Makes the job and joins it. All members do the same steps, whatever goes wrong at one of them:
/// each step ends with an agreement, so that no member waits for one that has given up.
Error make_job(sharp_coll_context& context, const OutOfBand& oob) {
    const sharp_coll_init_spec& spec = context.spec;
    if (const Error error = oob.agree(context.session.open(spec.config.ib_dev_list));
        error != Error::kNone) {
        return error;
    }
    SharpReply reply;
    Error error = Error::kNone;
    if (spec.world_rank == 0) {
        error = context.session.command({.operation = SharpCommand::kCreateJob,
                                         .size = static_cast<std::uint32_t>(spec.world_size),
                                         .key = spec.job_id,
                                         .osts = context.settings.quota_osts,
                                         .payload_bytes = context.settings.quota_payload_bytes,
                                         .groups = context.settings.quota_groups,
                                         .datagrams_only = context.settings.enable_sat ? 0U : 1U},
                                        reply);
    }
    struct {
        std::int32_t error;
        std::uint32_t job;
    } created{static_cast<std::int32_t>(error), reply.job};
    if (const Error spread = oob.spread(&created, sizeof created); spread != Error::kNone) {
        return spread;
    }
    if (created.error != 0) {
        return static_cast<Error>(created.error);
    }
    context.job = created.job;
    error = oob.agree(context.session.command({.operation = SharpCommand::kJoinJob,
                                               .job = context.job,
                                               .rank = static_cast<std::uint32_t>(spec.world_rank),
                                               .hca = context.session.hca()},
                                              reply));
    if (error != Error::kNone) {
        return error;
    }
    if (spec.world_rank == 0) {
        error = context.session.command({.operation = SharpCommand::kStartJob, .job = context.job},
                                        context.granted);
        context.granted.error = code(error);
    }
    if (const Error spread = oob.spread(&context.granted, sizeof context.granted);
        spread != Error::kNone) {
        return spread;
    }
    return static_cast<Error>(context.granted.error);
}

/// Makes a group and joins it. Returns the same error at all members. `group` stays as it was if
/// there is no group to leave.
Error make_group(sharp_coll_context& context, const OutOfBand& oob, std::uint32_t& group) {
    SharpReply reply;
    SharpCommand command{.operation = SharpCommand::kCreateGroup,
                         .job = context.job,
                         .size = static_cast<std::uint32_t>(oob.size)};
    Error error = oob.rank == 0 ? context.session.command(command, reply) : Error::kNone;
    struct {
        std::int32_t error;
        std::uint32_t group;
    } created{code(error), reply.group};
    if (const Error spread = oob.spread(&created, sizeof created); spread != Error::kNone) {
        return spread;
    }
    if (created.error != 0) {
        return static_cast<Error>(created.error);
    }
    group = created.group;
    command = {.operation = SharpCommand::kJoinGroup,
               .job = context.job,
               .group = group,
               .rank = static_cast<std::uint32_t>(oob.rank)};
    error = oob.agree(context.session.command(command, reply));
    if (error != Error::kNone) {
        return error;
    }
    command.operation = SharpCommand::kStartGroup;
    return oob.agree(oob.rank == 0 ? context.session.command(command, reply) : Error::kNone);
}

/// Makes the communicator of a group. Returns nullptr, with `error` set, if the daemon gives no
/// memory of the group, or if it cannot be mapped.
std::unique_ptr<sharp_coll_comm> map_group(sharp_coll_context& context, std::uint32_t group,
                                           int rank, Error& error) {
    SharpReply reply;
    int file = -1;
    error = context.session.command(
        {.operation = SharpCommand::kMapGroup, .job = context.job, .group = group}, reply, &file);
    if (error != Error::kNone || file < 0) {
        error = error == Error::kNone ? Error::kNoMemory : error;
        return nullptr;
    }
    std::unique_ptr<sharp_coll_comm> comm;
    if (auto turns = softib::sharp::Turns::map(file, static_cast<std::uint32_t>(rank))) {
        comm.reset(new (std::nothrow) sharp_coll_comm(std::move(*turns)));
    }
    close(file);
    error = comm == nullptr ? Error::kNoMemory : Error::kNone;
    return comm;
}

}  // namespace

}  // namespace softib::abi::sharp

using namespace softib::abi::sharp;  // NOLINT: this file's entry points are C functions.

Error sharp_coll_comm::lock() {
    softib::sharp::GroupHeader& header = turns.header();
    while (true) {
        switch (lock_state(header)) {
            case LockState::kLocked:
                return Error::kNone;
            case LockState::kAsking:
                if (turns.error() != Error::kNone) {
                    return turns.error();
                }
                sched_yield();
                break;
            case LockState::kRefused: {
                // Every member must see a refusal, so that all do the same. Once all have seen it,
                // the next attempt asks again.
                const std::uint32_t epoch = header.lock_epoch.load();
                if (refusal_seen != epoch) {
                    refusal_seen = epoch;
                    if (header.lock_seen.fetch_add(1) + 1 == static_cast<std::uint32_t>(size)) {
                        header.lock_seen.store(0);
                        header.lock.store(static_cast<std::uint32_t>(LockState::kUnknown));
                    }
                }
                return Error::kLockFailed;
            }
            case LockState::kUnknown: {
                auto expected = static_cast<std::uint32_t>(LockState::kUnknown);
                if (!header.lock.compare_exchange_strong(
                        expected, static_cast<std::uint32_t>(LockState::kAsking))) {
                    break;
                }
                SharpReply reply;
                const Error error = context->session.command(
                    {.operation = SharpCommand::kLockGroup, .job = context->job, .group = group},
                    reply);
                if (error != Error::kNone) {
                    header.lock_epoch.fetch_add(1);
                }
                header.lock.store(static_cast<std::uint32_t>(
                    error == Error::kNone ? LockState::kLocked : LockState::kRefused));
                break;
            }
        }
    }
}

void sharp_coll_comm::begin(Request& request) {
    request.comm = this;
    request.first_turn = next_turn;
    request.turns = request.operation.turns();
    next_turn += request.turns;
    active.push_back(&request);
    advance();
}

void sharp_coll_comm::advance() {
    const auto my_rank = static_cast<std::uint32_t>(rank);
    bool may_enter = true;
    for (std::size_t i = 0; i < active.size();) {
        Request& request = *active[i];
        const auto turn = [&](std::uint64_t index) -> const softib::sharp::Turn& {
            if (std::exchange(request.turn_index, index) != index) {
                request.turn = request.operation.turn(index, my_rank, turns.header());
            }
            return request.turn;
        };
        if (turns.error() != Error::kNone) {
            request.error = turns.error();
        }
        while (request.error == Error::kNone && may_enter && request.entered < request.turns &&
               turns.enter(request.first_turn + request.entered, turn(request.entered),
                           request.operation.in)) {
            ++request.entered;
        }
        while (request.error == Error::kNone && request.left < request.entered &&
               turns.leave(request.first_turn + request.left, turn(request.left),
                           request.operation.out)) {
            ++request.left;
        }
        may_enter = may_enter && request.entered == request.turns;
        if (request.complete() && !request.gpu_out.deliver()) {
            request.error = Error::kFailed;
        }
        if (request.complete() || request.error != Error::kNone) {
            active.erase(active.begin() + static_cast<std::ptrdiff_t>(i));
            if (request.abandoned) {
                delete &request;
            }
            continue;
        }
        if (!may_enter && request.left == 0) {
            break;  // No later request can advance.
        }
        ++i;
    }
}

extern "C" {

int sharp_coll_init(struct sharp_coll_init_spec* sharp_coll_spec,
                    struct sharp_coll_context** sharp_coll_context_out) {
    if (sharp_coll_spec == nullptr || sharp_coll_context_out == nullptr ||
        sharp_coll_spec->world_size < 1 || sharp_coll_spec->world_rank < 0 ||
        sharp_coll_spec->world_rank >= sharp_coll_spec->world_size ||
        (sharp_coll_spec->world_size > 1 && (sharp_coll_spec->oob_colls.bcast == nullptr ||
                                             sharp_coll_spec->oob_colls.gather == nullptr))) {
        return SHARP_COLL_EINVAL;
    }
    *sharp_coll_context_out = nullptr;
    std::unique_ptr<sharp_coll_context> context(new (std::nothrow) sharp_coll_context);
    if (context == nullptr) {
        return SHARP_COLL_ENOMEM;
    }
    context->settings = Settings::read();
    context->spec = *sharp_coll_spec;
    context->crowded = static_cast<std::uint32_t>(sharp_coll_spec->world_size) > processors();
    const OutOfBand oob{sharp_coll_spec->oob_colls, sharp_coll_spec->oob_ctx,
                        sharp_coll_spec->world_rank, sharp_coll_spec->world_size};
    if (const Error error = make_job(*context, oob); error != Error::kNone) {
        const int result = job_code(error);
        const bool hide = (sharp_coll_spec->config.flags & SHARP_COLL_HIDE_ERRORS) != 0;
        tell(hide || oob.rank != 0 ? 0 : context->settings.log_level, 1, "no SHARP job: %s",
             sharp_coll_strerror(code(error)));
        return result;
    }
    tell(context->settings.log_level, 3, "rank %d: job %u, tree of %u levels",
         sharp_coll_spec->world_rank, context->job, context->granted.depth);
    *sharp_coll_context_out = context.release();
    return SHARP_COLL_SUCCESS;
}

int sharp_coll_finalize(struct sharp_coll_context* context) {
    if (context == nullptr) {
        return SHARP_COLL_EINVAL;
    }
    while (!context->comms.empty()) {
        sharp_coll_comm_destroy(context->comms.front());
    }
    SharpReply reply;
    context->session.command({.operation = SharpCommand::kLeaveJob, .job = context->job}, reply);
    delete context;
    return SHARP_COLL_SUCCESS;
}

int sharp_coll_caps_query(struct sharp_coll_context* context, struct sharp_coll_caps* sharp_caps) {
    if (context == nullptr || sharp_caps == nullptr) {
        return SHARP_COLL_EINVAL;
    }
    *sharp_caps = {};
    sharp_caps->sharp_pkt_version = 1;
    sharp_caps->support_mask.dtypes = (1U << SHARP_DTYPE_NULL) - 1;
    for (std::uint8_t type = 0; type < softib::sharp::kDataTypes; ++type) {
        const auto tag = static_cast<softib::sharp::DataType>(type);
        if (softib::sharp::is_supported({.op = softib::sharp::ReduceOp::kMaxLoc, .tag = tag})) {
            sharp_caps->support_mask.tag_dtypes |= std::uint64_t{1} << type;
        }
    }
    sharp_caps->support_mask.reduce_ops = (1U << SHARP_OP_NULL) - 1;
    sharp_caps->support_mask.feature_mask = SHARP_FEATURE_LLT | SHARP_FEATURE_REPRODUCIBLE;
    if (context->settings.enable_sat) {
        sharp_caps->support_mask.feature_mask |=
            SHARP_FEATURE_SAT | SHARP_FEATURE_SAT_EXCLUSIVE_LOCK;
    }
    sharp_caps->resources.max_osts = static_cast<int>(context->granted.osts);
    sharp_caps->resources.user_data_per_ost = static_cast<int>(context->granted.payload_bytes);
    sharp_caps->resources.max_groups = static_cast<int>(context->granted.groups);
    sharp_caps->resources.max_group_channels = 1;
    sharp_caps->resources.osts_per_group = static_cast<int>(softib::sharp::kSlots);
    return SHARP_COLL_SUCCESS;
}

int sharp_coll_comm_init(struct sharp_coll_context* context, struct sharp_coll_comm_init_spec* spec,
                         struct sharp_coll_comm** sharp_coll_comm_out) {
    if (context == nullptr || spec == nullptr || sharp_coll_comm_out == nullptr || spec->size < 1 ||
        spec->rank < 0 || spec->rank >= spec->size) {
        return SHARP_COLL_EINVAL;
    }
    *sharp_coll_comm_out = nullptr;
    const OutOfBand oob{context->spec.oob_colls, spec->oob_ctx, spec->rank, spec->size};
    std::uint32_t group = 0;
    std::unique_ptr<sharp_coll_comm> comm;
    Error error = make_group(*context, oob, group);
    if (error == Error::kNone) {
        comm = map_group(*context, group, spec->rank, error);
        error = oob.agree(error);
    }
    if (error != Error::kNone) {
        SharpReply reply;
        if (group != 0) {
            context->session.command(
                {.operation = SharpCommand::kLeaveGroup, .job = context->job, .group = group},
                reply);
        }
        tell(context->settings.log_level, 1, "rank %d: no SHARP group: %s", spec->rank,
             sharp_coll_strerror(code(error)));
        return code(error);
    }
    comm->context = context;
    comm->group = group;
    comm->rank = spec->rank;
    comm->size = spec->size;
    const std::lock_guard guard(context->mutex);
    if (context->settings.enable_sat && context->settings.lock_on_comm_init) {
        comm->lock();
    }
    context->comms.push_back(comm.get());
    *sharp_coll_comm_out = comm.release();
    return SHARP_COLL_SUCCESS;
}

int sharp_coll_comm_destroy(struct sharp_coll_comm* comm) {
    if (comm == nullptr) {
        return SHARP_COLL_EINVAL;
    }
    sharp_coll_context& context = *comm->context;
    {
        const std::lock_guard guard(context.mutex);
        context.comms.remove(comm);
        for (Request* const request : comm->active) {
            request->error = Error::kFailed;
            request->comm = nullptr;
            if (request->abandoned) {
                delete request;
            }
        }
    }
    SharpReply reply;
    context.session.command(
        {.operation = SharpCommand::kLeaveGroup, .job = context.job, .group = comm->group}, reply);
    delete comm;
    return SHARP_COLL_SUCCESS;
}

int sharp_coll_progress(struct sharp_coll_context* context) {
    if (context == nullptr) {
        return SHARP_COLL_EINVAL;
    }
    const std::lock_guard guard(context->mutex);
    Error error = Error::kNone;
    for (sharp_coll_comm* const comm : context->comms) {
        comm->advance();
        error = error == Error::kNone ? comm->turns.error() : error;
    }
    return code(error);
}

int sharp_coll_dump_stats(struct sharp_coll_context* context) {
    return context == nullptr ? SHARP_COLL_EINVAL : SHARP_COLL_SUCCESS;
}

}  // extern "C"
