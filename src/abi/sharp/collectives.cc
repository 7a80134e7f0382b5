// SPDX-License-Identifier: BSD-2-Clause
// The operations of libsharp_coll, their requests, and memory registration.
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>

#include "abi/sharp/communicator.h"

namespace softib::abi::sharp {

namespace {

/// Memory that a program has registered. Nothing is done for it, since the member itself copies it.
struct Registration {
    void* at;
    std::size_t bytes;
};

std::uint64_t now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
           static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

/// Returns the pieces of memory of a descriptor; std::nullopt if the descriptor is not valid.
std::optional<softib::sharp::PieceList> pieces_of(const sharp_coll_data_desc& desc) {
    if (desc.type == SHARP_DATA_BUFFER) {
        if (desc.buffer.ptr == nullptr && desc.buffer.length != 0) {
            return std::nullopt;
        }
        return softib::sharp::PieceList(desc.buffer.ptr, desc.buffer.length);
    }
    if (desc.type != SHARP_DATA_IOV || desc.iov.count > SHARP_COLL_DATA_MAX_IOV ||
        (desc.iov.vector == nullptr && desc.iov.count != 0)) {
        return std::nullopt;
    }
    softib::sharp::PieceList pieces;
    for (unsigned i = 0; i < desc.iov.count; ++i) {
        pieces.add(desc.iov.vector[i].ptr, desc.iov.vector[i].length);
    }
    return pieces;
}

/// Replaces a buffer on a GPU by host memory. pieces_of() has accepted the descriptor; `sure` says
/// that its memory type is not garbage.
Error replace_gpu_buffer(const sharp_coll_data_desc& desc, bool sure, std::uint64_t used_bytes,
                         GpuBuffer& gpu, softib::sharp::PieceList& pieces) {
    if (pieces.bytes() == 0 || (sure && desc.mem_type != SHARP_MEM_TYPE_CUDA)) {
        return Error::kNone;
    }
    if (!gpu.adopt(desc, used_bytes)) {
        return Error::kNoMemory;
    }
    if (gpu.adopted()) {
        pieces = softib::sharp::PieceList(gpu.host().data(), gpu.host().size());
    }
    return Error::kNone;
}

/// Replaces the buffers of an operation that are on GPUs, and copies its input to the host.
Error replace_gpu_buffers(const sharp_coll_data_desc& in, const sharp_coll_data_desc& out,
                          bool sure, Request& request) {
    Operation& operation = request.operation;
    // A member may give or take only a part of its slice; bytes behind that part must stay as they
    // are.
    const std::uint64_t own = operation.own_end - operation.own_begin;
    const std::uint64_t given = operation.kind == Operation::kAllGather ? own : operation.bytes;
    const std::uint64_t taken = operation.kind == Operation::kReduceScatter ? own : operation.bytes;
    Error error = replace_gpu_buffer(in, sure, given, request.gpu_in, operation.in);
    if (error == Error::kNone) {
        error = replace_gpu_buffer(out, sure, taken, request.gpu_out, operation.out);
    }
    if (error == Error::kNone && !request.gpu_in.fetch()) {
        error = Error::kFailed;
    }
    return error;
}

/// Fills in what the three reductions have in common. Fields that an operation does not use may be
/// garbage.
Error describe_reduction(const sharp_coll_reduce_spec& spec, Operation& operation) {
    const auto in = pieces_of(spec.sbuf_desc);
    if (!in) {
        return Error::kInvalid;
    }
    operation.reduction = {static_cast<softib::sharp::DataType>(spec.dtype),
                           static_cast<softib::sharp::ReduceOp>(spec.op),
                           softib::sharp::DataType::kU32};
    if (spec.op == SHARP_OP_MAXLOC || spec.op == SHARP_OP_MINLOC) {
        operation.reduction.tag = static_cast<softib::sharp::DataType>(spec.tag_dtype);
    }
    const bool known = spec.dtype >= SHARP_DTYPE_UNSIGNED && spec.dtype < SHARP_DTYPE_NULL &&
                       spec.op >= SHARP_OP_MAX && spec.op < SHARP_OP_NULL;
    if (!known || !softib::sharp::is_supported(operation.reduction)) {
        return Error::kNotSupported;
    }
    operation.in = *in;
    return Error::kNone;
}

Error take_output(const sharp_coll_data_desc& desc, Operation& operation) {
    const auto out = pieces_of(desc);
    if (!out) {
        return Error::kInvalid;
    }
    operation.out = *out;
    return Error::kNone;
}

/// Chooses between datagrams and streaming. Returns an error if the program demands streaming and
/// the ports cannot be locked; otherwise operations without locks use datagrams.
Error choose_mode(sharp_coll_comm& comm, int mode, Operation& operation) {
    const Settings& settings = comm.context->settings;
    if (mode == SHARP_AGGREGATION_STREAMING) {
        if (!settings.enable_sat) {
            return Error::kNotSupported;
        }
        operation.streaming = true;
        return comm.lock();
    }
    operation.streaming = mode == SHARP_AGGREGATION_NONE && settings.enable_sat &&
                          operation.bytes >= settings.sat_threshold_bytes &&
                          comm.lock() == Error::kNone;
    return Error::kNone;
}

Error describe_allreduce(sharp_coll_comm& comm, const sharp_coll_reduce_spec& spec,
                         Operation::Kind kind, Operation& operation) {
    operation.kind = kind;
    if (const Error error = describe_reduction(spec, operation); error != Error::kNone) {
        return error;
    }
    const std::uint64_t element = operation.reduction.element_bytes();
    if (spec.length > UINT64_MAX / 2 / element) {
        return Error::kInvalid;
    }
    operation.bytes = spec.length * element;
    const bool receives = kind == Operation::kAllReduce || spec.root == comm.rank;
    if (kind == Operation::kReduce) {
        if (spec.root < 0 || spec.root >= comm.size) {
            return Error::kInvalid;
        }
        operation.root = static_cast<std::uint32_t>(spec.root);
    }
    if (receives) {
        if (const Error error = take_output(spec.rbuf_desc, operation); error != Error::kNone) {
            return error;
        }
    }
    if (operation.in.bytes() < operation.bytes ||
        (receives && operation.out.bytes() < operation.bytes)) {
        return Error::kInvalid;
    }
    return choose_mode(comm, spec.aggr_mode, operation);
}

/// Sets the part of the window [offset, offset + bytes) that is in the slice of this rank. The
/// rank's buffer begins with that part, wherever the part begins in the slice: so NCCL passes it.
void place_slice(Operation& operation, std::uint64_t offset, std::uint64_t slice_bytes,
                 std::uint64_t rank) {
    const std::uint64_t begin = std::max(offset, rank * slice_bytes);
    const std::uint64_t end = std::min(offset + operation.bytes, (rank + 1) * slice_bytes);
    if (begin < end) {
        operation.own_begin = begin - offset;
        operation.own_end = end - offset;
    }
}

/// Fills in a reduce-scatter from the lengths of its buffers, because clients differ in what
/// `length` means. The whole vector is `size` slices as long as the receive buffer; the send buffer
/// is a window of it.
Error describe_reduce_scatter(sharp_coll_comm& comm, const sharp_coll_reduce_spec& spec,
                              Operation& operation) {
    operation.kind = Operation::kReduceScatter;
    if (const Error error = describe_reduction(spec, operation); error != Error::kNone) {
        return error;
    }
    if (const Error error = take_output(spec.rbuf_desc, operation); error != Error::kNone) {
        return error;
    }
    const std::uint64_t slice = operation.out.bytes();
    const auto size = static_cast<std::uint64_t>(comm.size);
    operation.bytes = operation.in.bytes();
    const bool whole = operation.bytes == size * slice;
    const std::uint64_t offset = whole ? 0 : spec.offset;
    if (operation.bytes % operation.reduction.element_bytes() != 0 || offset > size * slice ||
        operation.bytes > size * slice - offset) {
        return Error::kInvalid;
    }
    place_slice(operation, offset, slice, static_cast<std::uint64_t>(comm.rank));
    return choose_mode(comm, spec.aggr_mode, operation);
}

Error describe_allgather(sharp_coll_comm& comm, const sharp_coll_gather_spec& spec,
                         Operation& operation) {
    const auto in = pieces_of(spec.sbuf_desc);
    const auto out = pieces_of(spec.rbuf_desc);
    if (!in || !out) {
        return Error::kInvalid;
    }
    operation.kind = Operation::kAllGather;
    operation.in = *in;
    operation.out = *out;
    operation.bytes = out->bytes();
    const std::uint64_t slice = in->bytes();
    const auto size = static_cast<std::uint64_t>(comm.size);
    const std::uint64_t offset = operation.bytes == size * slice ? 0 : spec.offset;
    if (offset > size * slice || operation.bytes > size * slice - offset) {
        return Error::kInvalid;
    }
    place_slice(operation, offset, slice, static_cast<std::uint64_t>(comm.rank));
    return choose_mode(comm, SHARP_AGGREGATION_NONE, operation);
}

Error describe_broadcast(sharp_coll_comm& comm, const sharp_coll_bcast_spec& spec,
                         Operation& operation) {
    const auto pieces = pieces_of(spec.buf_desc);
    if (!pieces || spec.root < 0 || spec.root >= comm.size || pieces->bytes() < spec.size) {
        return Error::kInvalid;
    }
    operation.kind = Operation::kBroadcast;
    operation.root = static_cast<std::uint32_t>(spec.root);
    (spec.root == comm.rank ? operation.in : operation.out) = *pieces;
    operation.bytes = spec.size;
    return choose_mode(comm, SHARP_AGGREGATION_NONE, operation);
}

/// Pauses between the polls of a wait. Where members outnumber processors, the thread yields, so
/// that other members can run.
class Patience {
  public:
    explicit Patience(const sharp_coll_context& context)
        : context_(context), timeout_ms_(context.spec.config.coll_timeout) {}

    /// Returns false when the time is up.
    bool pause() {
        ++polls_;
        const auto interval =
            static_cast<std::uint64_t>(std::max(context_.spec.config.user_progress_num_polls, 1));
        if (context_.spec.progress_func != nullptr && polls_ % interval == 0) {
            context_.spec.progress_func();
        }
        if (context_.crowded || polls_ > kSpins) {
            sched_yield();
        } else {
            __builtin_ia32_pause();
        }
        if (polls_ % kLooks != 0) {
            return true;
        }
        const std::uint64_t now = now_ms();
        start_ms_ = start_ms_ == 0 ? now : start_ms_;
        if (now - start_ms_ > kBusyMs) {  // A long wait must not burn a processor.
            const timespec nap{0, 100'000};
            nanosleep(&nap, nullptr);
        }
        return timeout_ms_ < 0 || now - start_ms_ <= static_cast<std::uint64_t>(timeout_ms_);
    }

  private:
    static constexpr std::uint64_t kSpins = 2000;
    static constexpr std::uint64_t kLooks = 64;
    static constexpr std::uint64_t kBusyMs = 20;

    const sharp_coll_context& context_;
    int timeout_ms_;
    std::uint64_t polls_ = 0;
    std::uint64_t start_ms_ = 0;
};

Error wait_for(Request& request) {
    if (request.comm == nullptr) {
        return request.error;
    }
    sharp_coll_comm& comm = *request.comm;
    Patience patience(*comm.context);
    while (true) {
        {
            const std::lock_guard guard(comm.context->mutex);
            if (!request.complete() && request.error == Error::kNone) {
                comm.advance();
            }
            if (request.complete() || request.error != Error::kNone) {
                return request.error;
            }
        }
        if (!patience.pause()) {
            const std::lock_guard guard(comm.context->mutex);
            // Other members may still use what this one has contributed, so the whole group fails.
            comm.turns.header().error.store(static_cast<std::int32_t>(Error::kFailed));
            comm.advance();
            return Error::kFailed;
        }
    }
}

/// Runs an operation to its end if `blocking`; otherwise begins it and sets `*handle`.
template <typename Describe>
int run_operation(sharp_coll_comm* comm, void** handle, bool blocking,
                  Describe&& describe) noexcept {
    if (handle != nullptr) {
        *handle = nullptr;
    }
    if (comm == nullptr || (handle == nullptr && !blocking)) {
        return SHARP_COLL_EINVAL;
    }
    Request on_stack;
    Request* const request = blocking ? &on_stack : new (std::nothrow) Request;
    if (request == nullptr) {
        return SHARP_COLL_ENOMEM;
    }
    Error error = comm->turns.error();
    {
        const std::lock_guard guard(comm->context->mutex);
        if (error == Error::kNone) {
            error = describe(*request);
        }
        if (error == Error::kNone) {
            comm->begin(*request);
        }
    }
    if (error != Error::kNone) {
        if (!blocking) {
            delete request;
        }
        tell(comm->context->settings.log_level, 2, "rank %d: %s", comm->rank,
             sharp_coll_strerror(static_cast<int>(error)));
        return static_cast<int>(error);
    }
    if (blocking) {
        return static_cast<int>(wait_for(*request));
    }
    *handle = request;
    return SHARP_COLL_SUCCESS;
}

int barrier(sharp_coll_comm* comm, void** handle, bool blocking) noexcept {
    return run_operation(comm, handle, blocking, [](Request&) { return Error::kNone; });
}

int reduce(sharp_coll_comm* comm, const sharp_coll_reduce_spec* spec, Operation::Kind kind,
           void** handle, bool blocking) noexcept {
    return run_operation(comm, handle, blocking, [&](Request& request) {
        if (spec == nullptr) {
            return Error::kInvalid;
        }
        const Error error = kind == Operation::kReduceScatter
                                ? describe_reduce_scatter(*comm, *spec, request.operation)
                                : describe_allreduce(*comm, *spec, kind, request.operation);
        return error == Error::kNone
                   ? replace_gpu_buffers(spec->sbuf_desc, spec->rbuf_desc, true, request)
                   : error;
    });
}

int gather(sharp_coll_comm* comm, const sharp_coll_gather_spec* spec, void** handle,
           bool blocking) noexcept {
    return run_operation(comm, handle, blocking, [&](Request& request) {
        const Error error =
            spec == nullptr ? Error::kInvalid : describe_allgather(*comm, *spec, request.operation);
        // NCCL's SHARP plug-in leaves the memory type unset here.
        return error == Error::kNone
                   ? replace_gpu_buffers(spec->sbuf_desc, spec->rbuf_desc, false, request)
                   : error;
    });
}

int broadcast(sharp_coll_comm* comm, const sharp_coll_bcast_spec* spec, void** handle,
              bool blocking) noexcept {
    return run_operation(comm, handle, blocking, [&](Request& request) {
        const Error error =
            spec == nullptr ? Error::kInvalid : describe_broadcast(*comm, *spec, request.operation);
        return error == Error::kNone
                   ? replace_gpu_buffers(spec->buf_desc, spec->buf_desc, true, request)
                   : error;
    });
}

}  // namespace

}  // namespace softib::abi::sharp

namespace sharp_impl = softib::abi::sharp;
using sharp_impl::Operation;
using sharp_impl::Request;

extern "C" {

int sharp_coll_do_barrier(struct sharp_coll_comm* comm) {
    return sharp_impl::barrier(comm, nullptr, true);
}
int sharp_coll_do_barrier_nb(struct sharp_coll_comm* comm, void** handle) {
    return sharp_impl::barrier(comm, handle, false);
}

int sharp_coll_do_allreduce(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec) {
    return sharp_impl::reduce(comm, spec, Operation::kAllReduce, nullptr, true);
}
int sharp_coll_do_allreduce_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec,
                               void** handle) {
    return sharp_impl::reduce(comm, spec, Operation::kAllReduce, handle, false);
}

int sharp_coll_do_reduce(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec) {
    return sharp_impl::reduce(comm, spec, Operation::kReduce, nullptr, true);
}
int sharp_coll_do_reduce_nb(struct sharp_coll_comm* comm, struct sharp_coll_reduce_spec* spec,
                            void** handle) {
    return sharp_impl::reduce(comm, spec, Operation::kReduce, handle, false);
}

int sharp_coll_do_reduce_scatter(struct sharp_coll_comm* comm,
                                 struct sharp_coll_reduce_spec* spec) {
    return sharp_impl::reduce(comm, spec, Operation::kReduceScatter, nullptr, true);
}
int sharp_coll_do_reduce_scatter_nb(struct sharp_coll_comm* comm,
                                    struct sharp_coll_reduce_spec* spec, void** handle) {
    return sharp_impl::reduce(comm, spec, Operation::kReduceScatter, handle, false);
}

int sharp_coll_do_allgather(struct sharp_coll_comm* comm, struct sharp_coll_gather_spec* spec) {
    return sharp_impl::gather(comm, spec, nullptr, true);
}
int sharp_coll_do_allgather_nb(struct sharp_coll_comm* comm, struct sharp_coll_gather_spec* spec,
                               void** handle) {
    return sharp_impl::gather(comm, spec, handle, false);
}

int sharp_coll_do_bcast(struct sharp_coll_comm* comm, struct sharp_coll_bcast_spec* spec) {
    return sharp_impl::broadcast(comm, spec, nullptr, true);
}
int sharp_coll_do_bcast_nb(struct sharp_coll_comm* comm, struct sharp_coll_bcast_spec* spec,
                           void** handle) {
    return sharp_impl::broadcast(comm, spec, handle, false);
}

/// Returns 0 for a failed request too: clients would take what is in their buffers for the result.
int sharp_coll_req_test(void* handle) {
    auto* const request = static_cast<Request*>(handle);
    if (request == nullptr || request->comm == nullptr) {
        return 0;
    }
    sharp_coll_context& context = *request->comm->context;
    {
        const std::lock_guard guard(context.mutex);
        if (request->complete()) {
            return 1;
        }
        request->comm->advance();
        if (request->complete()) {
            return 1;
        }
        if (request->error != sharp_impl::Error::kNone && !request->told) {
            request->told = true;
            sharp_impl::tell(context.settings.log_level, 1, "rank %d: an operation failed: %s",
                             request->comm->rank,
                             sharp_coll_strerror(static_cast<int>(request->error)));
        }
    }
    if (context.crowded) {
        sched_yield();
    }
    return 0;
}

int sharp_coll_req_wait(void* handle) {
    auto* const request = static_cast<Request*>(handle);
    if (request == nullptr) {
        return SHARP_COLL_EINVAL;
    }
    const sharp_impl::Error error = sharp_impl::wait_for(*request);
    delete request;
    return static_cast<int>(error);
}

int sharp_coll_req_free(void* handle) {
    auto* const request = static_cast<Request*>(handle);
    if (request == nullptr) {
        return SHARP_COLL_EINVAL;
    }
    if (request->comm != nullptr) {
        const std::lock_guard guard(request->comm->context->mutex);
        if (!request->complete() && request->error == sharp_impl::Error::kNone) {
            request->abandoned = true;
            return SHARP_COLL_SUCCESS;
        }
    }
    delete request;
    return SHARP_COLL_SUCCESS;
}

int sharp_coll_reg_mr(struct sharp_coll_context* context, void* buf, size_t size, void** mr) {
    return sharp_coll_reg_mr_v2(context, buf, size, nullptr, mr);
}

int sharp_coll_reg_mr_v2(struct sharp_coll_context* context, void* buf, size_t size,
                         const struct sharp_coll_reg_params* params, void** mr) {
    if (context == nullptr || mr == nullptr || (buf == nullptr && size != 0)) {
        return SHARP_COLL_EINVAL;
    }
    *mr = nullptr;
    // GPU memory is reached by its address, without the dma-buf; other dma-bufs have no address.
    if (params != nullptr && (params->field_mask & SHARP_COLL_REG_FIELD_DMABUF_FD) != 0 &&
        !sharp_impl::is_on_gpu(buf)) {
        return SHARP_COLL_ENOT_SUPP;
    }
    *mr = new (std::nothrow) sharp_impl::Registration{buf, size};
    return *mr == nullptr ? SHARP_COLL_ENOMEM : SHARP_COLL_SUCCESS;
}

int sharp_coll_dereg_mr(struct sharp_coll_context* context, void* mr) {
    if (context == nullptr || mr == nullptr) {
        return SHARP_COLL_EINVAL;
    }
    delete static_cast<sharp_impl::Registration*>(mr);
    return SHARP_COLL_SUCCESS;
}

}  // extern "C"
