// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The memory that an HCA may touch. `Memory` is the seam: it says whether a key allows a range and
// where its bytes are, and moves them. `MemoryTable` implements it with a table of its own; the
// bytes stay with their owner, or do not exist at all.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/hca/vocabulary.h"

namespace softib::hca {

/// Protection domains are told apart by number.
using Pd = Id<struct PdTag, std::uint32_t>;

/// Where a range that a key allows lies.
struct Place {
    std::uint8_t* bytes = nullptr;  ///< nullptr: memory without contents, or not mapped here.
    std::uint32_t entry = 0;        ///< The memory's own, as is the next.
    std::uint64_t at = 0;
};

struct AtomicOperands {
    bool compare_swap = false;  ///< Else fetch and add.
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
};

struct BindRequest {
    std::uint32_t mw_key = 0;  ///< As it is now.
    std::uint32_t new_key = 0;
    std::uint32_t mr_lkey = 0;
    std::uint32_t access = 0;
    std::uint64_t addr = 0;
    std::uint64_t length = 0;  ///< 0: unbind, for windows of type 1 only.
};

class Memory {
  public:
    virtual ~Memory() = default;

    /// Resolves an L_Key. Returns std::nullopt unless the key is of the protection domain and
    /// allows all of the range.
    virtual std::optional<Place> local(std::uint32_t lkey, Pd pd, std::uint64_t addr,
                                       std::uint32_t length, std::uint32_t access) const = 0;
    /// Resolves the R_Key of a request that arrived at queue pair `at`, by the same rules.
    virtual std::optional<Place> remote(std::uint32_t rkey, Pd pd, Qpn at, std::uint64_t addr,
                                        std::uint32_t length, std::uint32_t access) const = 0;
    /// Ends a type 2 window's binding, for a request from the wire or posted here: only at the
    /// queue pair that the window is, or was last, bound to.
    virtual bool invalidate(std::uint32_t rkey, Pd pd, Qpn at) = 0;
    /// Binds a window. Returns false, with nothing changed, if the rules of windows forbid it.
    virtual bool bind(const BindRequest& request, Pd pd, Qpn by) = 0;

    /// Returns the bytes at a place, valid until the HCA sends its next packet; std::nullopt if
    /// they cannot be reached.
    virtual std::optional<const std::uint8_t*> read(Place from, std::uint32_t length) const = 0;
    /// Writes bytes in increasing order of addresses, the last byte last. Returns false if the
    /// place cannot be reached.
    virtual bool write(Place to, const std::uint8_t* from, std::uint32_t length) = 0;
    /// Executes an atomic and returns what was there before; std::nullopt if the word cannot be
    /// reached.
    virtual std::optional<std::uint64_t> execute(Place word, const AtomicOperands& operands) = 0;
};

/// A key's upper 24 bits are its entry, the low eight change with every use of it.
class MemoryTable final : public Memory {
  public:
    explicit MemoryTable(std::uint32_t entries_max);

    struct Region {
        Pd pd{};
        std::uint64_t addr = 0;
        std::uint64_t length = 0;
        std::uint32_t access = 0;
        std::uint8_t* bytes = nullptr;
    };
    /// Both return the key; 0: the table is full.
    std::uint32_t add_region(const Region& region);
    std::uint32_t add_window(Pd pd, KeyKind kind);
    void remove(std::uint32_t key);

    std::optional<Place> local(std::uint32_t lkey, Pd pd, std::uint64_t addr, std::uint32_t length,
                               std::uint32_t access) const override;
    std::optional<Place> remote(std::uint32_t rkey, Pd pd, Qpn at, std::uint64_t addr,
                                std::uint32_t length, std::uint32_t access) const override;
    bool invalidate(std::uint32_t rkey, Pd pd, Qpn at) override;
    bool bind(const BindRequest& request, Pd pd, Qpn by) override;
    std::optional<const std::uint8_t*> read(Place from, std::uint32_t) const override {
        return from.bytes;
    }
    bool write(Place to, const std::uint8_t* from, std::uint32_t length) override;
    std::optional<std::uint64_t> execute(Place word, const AtomicOperands& operands) override;

  private:
    struct Entry {
        std::uint32_t key = 0;  ///< 0: free.
        KeyKind kind{};
        Pd pd{};
        std::uint32_t access = 0;
        std::uint64_t addr = 0;
        std::uint64_t length = 0;
        std::uint8_t* bytes = nullptr;
        Qpn qpn{};                 ///< Type 2 window: where it is bound.
        std::uint32_t parent = 0;  ///< Window: its region's key.
        std::uint8_t variant = 0;
    };
    Entry* allocate(KeyKind kind, Pd pd);
    const Entry* find(std::uint32_t key) const;
    Entry* find(std::uint32_t key);
    bool may_bind(const Entry& window, const BindRequest& request) const;
    static std::optional<Place> range(const Entry& entry, std::uint64_t addr, std::uint32_t length);

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> free_;
};

}  // namespace softib::hca
