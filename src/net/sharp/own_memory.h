// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The memory of an HCA that serves only the process in which it runs: an address is a pointer, and
// L_Keys are not checked. A peer can write into this memory only by SENDs, whose bytes go where a
// receive request says.

#include <cstring>
#include <optional>

#include "core/hca/memory_table.h"

namespace softib::net {

class OwnMemory final : public hca::Memory {
  public:
    std::optional<hca::Place> local(std::uint32_t, hca::Pd, std::uint64_t addr, std::uint32_t,
                                    std::uint32_t) const override {
        return hca::Place{.bytes = reinterpret_cast<std::uint8_t*>(addr)};
    }
    std::optional<hca::Place> remote(std::uint32_t, hca::Pd, Qpn, std::uint64_t, std::uint32_t,
                                     std::uint32_t) const override {
        return std::nullopt;
    }
    bool invalidate(std::uint32_t, hca::Pd, Qpn) override { return false; }
    bool bind(const hca::BindRequest&, hca::Pd, Qpn) override { return false; }
    std::optional<const std::uint8_t*> read(hca::Place from, std::uint32_t) const override {
        return from.bytes;
    }
    bool write(hca::Place to, const std::uint8_t* from, std::uint32_t length) override {
        std::memcpy(to.bytes, from, length);
        return true;
    }
    std::optional<std::uint64_t> execute(hca::Place, const hca::AtomicOperands&) override {
        return std::nullopt;
    }
};

}  // namespace softib::net
