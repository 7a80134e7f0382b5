// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The base transport header and the extended headers (IBA vol. 1, 9.2 and 9.3; XRCETH: annex A14).
// opcode.h says which opcode has which of them.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct Bth {
    static constexpr std::size_t kBytes = 12;

    std::uint8_t opcode = 0;
    bool se = false;           ///< Solicited event.
    bool m = false;            ///< Migrated.
    std::uint8_t pad_cnt = 0;  ///< Bytes after the payload, which fill its last word.
    std::uint8_t tver = 0;
    PKey p_key{};
    bool fecn = false;
    bool becn = false;
    Qpn dest_qp{};
    bool a = false;  ///< AckReq: the requester asks for an acknowledgement.
    Psn psn{};

    static constexpr auto fields() {
        using T = Bth;
        return Fields{
            Field{&T::opcode, "OpCode", 0, 8}.hex(),
            Field{&T::se, "SE", 8, 1},
            Field{&T::m, "M", 9, 1},
            Field{&T::pad_cnt, "PadCnt", 10, 2},
            Field{&T::tver, "TVer", 12, 4},
            Field{&T::p_key, "P_Key", 16, 16},
            Field{&T::fecn, "FECN", 32, 1},
            Field{&T::becn, "BECN", 33, 1},
            Field{&T::dest_qp, "DestQP", 40, 24},
            Field{&T::a, "A", 64, 1},
            Field{&T::psn, "PSN", 72, 24},
        };
    }
    friend bool operator==(const Bth&, const Bth&) = default;
};
static_assert(layout_is_sound<Bth>());

/// The header of reliable datagrams.
struct Rdeth {
    static constexpr std::size_t kBytes = 4;

    std::uint32_t ee_context = 0;

    static constexpr auto fields() {
        using T = Rdeth;
        return Fields{
            Field{&T::ee_context, "EECnxt", 8, 24}.hex(),
        };
    }
    friend bool operator==(const Rdeth&, const Rdeth&) = default;
};
static_assert(layout_is_sound<Rdeth>());

/// The header of datagrams.
struct Deth {
    static constexpr std::size_t kBytes = 8;

    QKey q_key{};
    Qpn src_qp{};

    static constexpr auto fields() {
        using T = Deth;
        return Fields{
            Field{&T::q_key, "Q_Key", 0, 32},
            Field{&T::src_qp, "SrcQP", 40, 24},
        };
    }
    friend bool operator==(const Deth&, const Deth&) = default;
};
static_assert(layout_is_sound<Deth>());

/// The header of RDMA requests.
struct Reth {
    static constexpr std::size_t kBytes = 16;

    std::uint64_t va = 0;
    std::uint32_t r_key = 0;
    std::uint32_t dma_len = 0;

    static constexpr auto fields() {
        using T = Reth;
        return Fields{
            Field{&T::va, "VA", 0, 64}.hex(),
            Field{&T::r_key, "R_Key", 64, 32}.hex(),
            Field{&T::dma_len, "DMALen", 96, 32},
        };
    }
    friend bool operator==(const Reth&, const Reth&) = default;
};
static_assert(layout_is_sound<Reth>());

/// The header of atomic requests.
struct AtomicEth {
    static constexpr std::size_t kBytes = 28;

    std::uint64_t va = 0;
    std::uint32_t r_key = 0;
    std::uint64_t swap_dt = 0;  ///< The number to store; in a FetchAdd, the number to add.
    std::uint64_t cmp_dt = 0;

    static constexpr auto fields() {
        using T = AtomicEth;
        return Fields{
            Field{&T::va, "VA", 0, 64}.hex(),
            Field{&T::r_key, "R_Key", 64, 32}.hex(),
            Field{&T::swap_dt, "SwapDt", 96, 64}.hex(),
            Field{&T::cmp_dt, "CmpDt", 160, 64}.hex(),
        };
    }
    friend bool operator==(const AtomicEth&, const AtomicEth&) = default;
};
static_assert(layout_is_sound<AtomicEth>());

/// The header of acknowledgements.
struct Aeth {
    static constexpr std::size_t kBytes = 4;

    std::uint8_t syndrome = 0;
    std::uint32_t msn = 0;

    static constexpr auto fields() {
        using T = Aeth;
        return Fields{
            Field{&T::syndrome, "Syndrome", 0, 8}.hex(),
            Field{&T::msn, "MSN", 8, 24},
        };
    }
    friend bool operator==(const Aeth&, const Aeth&) = default;
};
static_assert(layout_is_sound<Aeth>());

struct AtomicAckEth {
    static constexpr std::size_t kBytes = 8;

    std::uint64_t orig_rem_dt = 0;

    static constexpr auto fields() {
        using T = AtomicAckEth;
        return Fields{
            Field{&T::orig_rem_dt, "OrigRemDt", 0, 64}.hex(),
        };
    }
    friend bool operator==(const AtomicAckEth&, const AtomicAckEth&) = default;
};
static_assert(layout_is_sound<AtomicAckEth>());

struct ImmDt {
    static constexpr std::size_t kBytes = 4;

    std::uint32_t imm_dt = 0;

    static constexpr auto fields() {
        using T = ImmDt;
        return Fields{
            Field{&T::imm_dt, "ImmDt", 0, 32}.hex(),
        };
    }
    friend bool operator==(const ImmDt&, const ImmDt&) = default;
};
static_assert(layout_is_sound<ImmDt>());

/// The header with the R_Key that a SEND invalidates.
struct Ieth {
    static constexpr std::size_t kBytes = 4;

    std::uint32_t r_key = 0;

    static constexpr auto fields() {
        using T = Ieth;
        return Fields{
            Field{&T::r_key, "R_Key", 0, 32}.hex(),
        };
    }
    friend bool operator==(const Ieth&, const Ieth&) = default;
};
static_assert(layout_is_sound<Ieth>());

/// The header with the shared receive queue that an XRC request is for.
struct XrcEth {
    static constexpr std::size_t kBytes = 4;

    std::uint32_t xrcsrq = 0;

    static constexpr auto fields() {
        using T = XrcEth;
        return Fields{
            Field{&T::xrcsrq, "XRCSRQ", 8, 24}.hex(),
        };
    }
    friend bool operator==(const XrcEth&, const XrcEth&) = default;
};
static_assert(layout_is_sound<XrcEth>());

}  // namespace softib::wire
