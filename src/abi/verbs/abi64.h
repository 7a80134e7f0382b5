// SPDX-License-Identifier: BSD-2-Clause
//
// The parts of rdma-core v64's verbs ABI that an older <infiniband/verbs.h> lacks.
//
// The library is compiled against the distribution's header (v44 or newer) and serves programs
// built against any release up to v64. The ABI grows only at the ends of structures (verbs_context
// at its start), so an object allocated at its v64 size suits every program; fields that the
// header does not know are reached by offset. Where the header does know them, the assertions at
// the end compare. LP64 only.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace softib::abi {

// --- Sizes to allocate, and sizes that a caller's buffer may have -----------------------------

inline constexpr std::size_t kContextBytes = 328;
inline constexpr std::size_t kQpExBytes = 360;
inline constexpr std::size_t kCqExBytes = 288;
inline constexpr std::size_t kSrqBytes = 128;

// Providers' is_<vendor>_dev() reads an operations pointer right behind the public ibv_device;
// that byte range must exist and hold zero.
inline constexpr std::size_t kDeviceBytes = 664;
inline constexpr std::size_t kVerbsDeviceBytes = 712;

// ibv_query_port@IBVERBS_1.1 writes kPortAttrCompatBytes bytes, whatever the program was built
// against.
inline constexpr std::size_t kPortAttrCompatBytes = 48;
inline constexpr std::size_t kPortAttrBytes = 56;

// --- verbs_context: lies in front of ibv_context and grows downwards ---------------------------

inline constexpr std::size_t kVerbsContextPrefixBytes = 368;
inline constexpr std::size_t kVerbsContextBytes = kVerbsContextPrefixBytes + kContextBytes;

// Operations newer than v44, as offsets from the ibv_context.
inline constexpr std::ptrdiff_t kContextFreeBuf = -368;
inline constexpr std::ptrdiff_t kContextAllocBuf = -360;
inline constexpr std::ptrdiff_t kContextDmExportDmabufFd = -352;
inline constexpr std::ptrdiff_t kContextRegMrEx = -344;
inline constexpr std::ptrdiff_t kContextDeallocDmah = -336;
inline constexpr std::ptrdiff_t kContextAllocDmah = -328;
inline constexpr std::ptrdiff_t kContextQueryPort = -320;
inline constexpr std::ptrdiff_t kContextSz = -8;

// --- Fields at the end of other structures -----------------------------------------------------

inline constexpr std::ptrdiff_t kQpExWrAtomicWrite = 344;
inline constexpr std::ptrdiff_t kQpExWrFlush = 352;
using WrFlush = void (*)(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr,
                         std::size_t len, std::uint8_t type, std::uint8_t level);

inline constexpr std::ptrdiff_t kPortAttrCapFlags2 = 48;
inline constexpr std::ptrdiff_t kPortAttrActiveSpeedEx = 52;

// Storage of the v64 size for the header's types.
union QpExSpace {
    ibv_qp_ex qp_ex;
    std::byte bytes[kQpExBytes];
};

union PortAttrSpace {
    ibv_port_attr attr;
    std::byte bytes[kPortAttrBytes];
};

template <class T>
T load_at(const void* object, std::ptrdiff_t offset_bytes) noexcept {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(object) + offset_bytes, sizeof(value));
    return value;
}

template <class T>
void store_at(void* object, std::ptrdiff_t offset_bytes, T value) noexcept {
    std::memcpy(static_cast<std::byte*>(object) + offset_bytes, &value, sizeof(value));
}

// --- Structures of newer calls -----------------------------------------------------------------

struct Buf;  // ibv_buf: opaque to programs

struct Dmah {  // ibv_dmah
    ibv_context* context;
};

struct DmahInitAttr {  // ibv_dmah_init_attr
    std::uint32_t comp_mask;
    std::uint32_t cpu_id;
    std::uint8_t ph;
    std::uint8_t tph_mem_type;
};

struct MrInitAttr {  // ibv_mr_init_attr
    std::size_t length;
    int access;
    std::uint64_t comp_mask;
    std::uint64_t iova;
    void* addr;
    int fd;
    std::uint64_t fd_offset;
    Dmah* dmah;
    Buf* buf;
};

// MrInitAttr::comp_mask
inline constexpr std::uint64_t kRegMrMaskIova = 1U << 0;
inline constexpr std::uint64_t kRegMrMaskAddr = 1U << 1;
inline constexpr std::uint64_t kRegMrMaskFd = 1U << 2;
inline constexpr std::uint64_t kRegMrMaskFdOffset = 1U << 3;
inline constexpr std::uint64_t kRegMrMaskDmah = 1U << 4;
inline constexpr std::uint64_t kRegMrMaskBuf = 1U << 5;

// DmahInitAttr::comp_mask
inline constexpr std::uint32_t kDmahMaskCpuId = 1U << 0;
inline constexpr std::uint32_t kDmahMaskPh = 1U << 1;
inline constexpr std::uint32_t kDmahMaskTphMemType = 1U << 2;

// --- Enumerators -------------------------------------------------------------------------------

inline constexpr int kWrFlush = 14;                              // IBV_WR_FLUSH
inline constexpr int kWrAtomicWrite = 15;                        // IBV_WR_ATOMIC_WRITE
inline constexpr int kWcFlush = 8;                               // IBV_WC_FLUSH
inline constexpr int kWcAtomicWrite = 9;                         // IBV_WC_ATOMIC_WRITE
inline constexpr std::uint64_t kQpExWithFlush = 1U << 11;        // IBV_QP_EX_WITH_FLUSH
inline constexpr std::uint64_t kQpExWithAtomicWrite = 1U << 12;  // IBV_QP_EX_WITH_ATOMIC_WRITE

inline constexpr unsigned kAccessFlushGlobal = 1U << 8;      // IBV_ACCESS_FLUSH_GLOBAL
inline constexpr unsigned kAccessFlushPersistent = 1U << 9;  // IBV_ACCESS_FLUSH_PERSISTENT

// Arguments of wr_flush: `type` is a mask, `level` a choice.
inline constexpr std::uint8_t kFlushGlobal = 1U << 0;      // IBV_FLUSH_GLOBAL
inline constexpr std::uint8_t kFlushPersistent = 1U << 1;  // IBV_FLUSH_PERSISTENT
inline constexpr std::uint8_t kFlushRange = 0;             // IBV_FLUSH_RANGE
inline constexpr std::uint8_t kFlushMr = 1;                // IBV_FLUSH_MR

inline constexpr int kEventDeviceSpeedChange = 20;  // IBV_EVENT_DEVICE_SPEED_CHANGE

// ibv_device_attr_ex::device_cap_flags_ex and the ODP capabilities
inline constexpr std::uint64_t kDeviceFlushGlobal = std::uint64_t{1} << 38;
inline constexpr std::uint64_t kDeviceFlushPersistent = std::uint64_t{1} << 39;
inline constexpr std::uint64_t kDeviceAtomicWrite = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kDeviceCcDmaBounce = std::uint64_t{1} << 41;
inline constexpr std::uint32_t kOdpSupportFlush = 1U << 6;        // IBV_ODP_SUPPORT_FLUSH
inline constexpr std::uint32_t kOdpSupportAtomicWrite = 1U << 7;  // IBV_ODP_SUPPORT_ATOMIC_WRITE

// ibv_port_attr::port_cap_flags2
inline constexpr std::uint16_t kPortLinkSpeedXdrSup = 1U << 12;

// Arguments and result bits of ibv_query_qp_data_in_order()
inline constexpr std::uint32_t kDataInOrderReturnCaps = 1U << 0;
inline constexpr std::uint32_t kDataInOrderDeviceOnly = 1U << 1;
inline constexpr int kDataInOrderWholeMsg = 1 << 0;
inline constexpr int kDataInOrderAligned128Bytes = 1 << 1;

// ibv_parent_domain_init_attr::comp_mask
inline constexpr std::uint32_t kParentDomainAllowCcUnprotectedAlloc = 1U << 2;

// Link speeds: active_speed is 8 bits wide, so XDR and GDR appear in active_speed_ex
// only. GDR has the next bit; no header names it yet.
inline constexpr std::uint32_t kSpeedSdr = 1;
inline constexpr std::uint32_t kSpeedDdr = 2;
inline constexpr std::uint32_t kSpeedQdr = 4;
inline constexpr std::uint32_t kSpeedFdr10 = 8;
inline constexpr std::uint32_t kSpeedFdr = 16;
inline constexpr std::uint32_t kSpeedEdr = 32;
inline constexpr std::uint32_t kSpeedHdr = 64;
inline constexpr std::uint32_t kSpeedNdr = 128;
inline constexpr std::uint32_t kSpeedXdr = 256;

/// IB_RATE_1600_GBPS of Linux, for XDR at 8X and GDR; no header of libibverbs names it yet.
inline constexpr auto kRate1600 = static_cast<ibv_rate>(25);

// ibv_query_gid_type() answers with these, not with ibv_gid_type.
inline constexpr std::uint32_t kGidTypeSysfsIbRoceV1 = 0;
inline constexpr std::uint32_t kGidTypeSysfsRoceV2 = 1;

// --- The header at hand agrees -----------------------------------------------------------------

static_assert(sizeof(void*) == 8 && sizeof(std::size_t) == 8);
static_assert(sizeof(ibv_context) == kContextBytes);
static_assert(sizeof(ibv_device) == kDeviceBytes);
static_assert(sizeof(ibv_cq_ex) == kCqExBytes);
static_assert(sizeof(ibv_srq) == kSrqBytes);
static_assert(sizeof(QpExSpace) == kQpExBytes && sizeof(ibv_qp_ex) >= kQpExWrFlush);
static_assert(sizeof(PortAttrSpace) == kPortAttrBytes &&
              sizeof(ibv_port_attr) >= kPortAttrActiveSpeedEx);
static_assert(sizeof(MrInitAttr) == 72 && offsetof(MrInitAttr, buf) == 64);
static_assert(sizeof(DmahInitAttr) == 12 && sizeof(Dmah) == 8);

static_assert(offsetof(verbs_context, context) <= kVerbsContextPrefixBytes);
static_assert(offsetof(verbs_context, context) - offsetof(verbs_context, query_port) ==
              -kContextQueryPort);
static_assert(offsetof(verbs_context, context) - offsetof(verbs_context, sz) == -kContextSz);
static_assert(sizeof(verbs_context) == offsetof(verbs_context, context) + kContextBytes);
static_assert(offsetof(ibv_qp_ex, wr_atomic_write) == kQpExWrAtomicWrite);
static_assert(offsetof(ibv_port_attr, port_cap_flags2) == kPortAttrCapFlags2);
static_assert(offsetof(ibv_port_attr, flags) + 1 == kPortAttrCompatBytes);
static_assert(IBV_WR_ATOMIC_WRITE == kWrAtomicWrite && IBV_WC_ATOMIC_WRITE == kWcAtomicWrite);
static_assert(IBV_QP_EX_WITH_ATOMIC_WRITE == kQpExWithAtomicWrite);

// Each of these returns true if `T` lacks the field or has it at the expected place.
template <class T>
consteval bool active_speed_ex_agrees() {
    if constexpr (requires(T t) { t.active_speed_ex; }) {
        return offsetof(T, active_speed_ex) == kPortAttrActiveSpeedEx;
    }
    return true;
}

template <class T>
consteval bool wr_flush_agrees() {
    if constexpr (requires(T t) { t.wr_flush; }) {
        return offsetof(T, wr_flush) == kQpExWrFlush;
    }
    return true;
}

template <class T>
consteval bool alloc_dmah_agrees() {
    if constexpr (requires(T t) { t.alloc_dmah; }) {
        return offsetof(T, context) - offsetof(T, alloc_dmah) == -kContextAllocDmah;
    }
    return true;
}

template <class T>
consteval bool free_buf_agrees() {
    if constexpr (requires(T t) { t.free_buf; }) {
        return offsetof(T, context) - offsetof(T, free_buf) == -kContextFreeBuf;
    }
    return true;
}

static_assert(active_speed_ex_agrees<ibv_port_attr>());
static_assert(wr_flush_agrees<ibv_qp_ex>());
static_assert(alloc_dmah_agrees<verbs_context>());
static_assert(free_buf_agrees<verbs_context>());

}  // namespace softib::abi
