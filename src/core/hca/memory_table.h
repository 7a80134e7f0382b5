// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The memory that an HCA may access. `Memory` is the interface: it checks whether a key allows a
// range, says where the bytes are, and moves them. `MemoryTable` implements it with a table of its
// own. The bytes belong to the caller, or do not exist at all in a simulation of lengths only.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/hca/vocabulary.h"

namespace softib::hca {

/// The number of a protection domain.
using Pd = Id<struct PdTag, std::uint32_t>;

/// The location of a range that a key allows.
struct Place {
    std::uint8_t* bytes = nullptr;  ///< nullptr: memory without contents, or not mapped here.
    std::uint32_t entry = 0;        ///< For use by the implementation of Memory only.
    std::uint64_t at = 0;           ///< For use by the implementation of Memory only.
};

struct AtomicOperands {
    bool compare_swap = false;  ///< Compare and swap; otherwise fetch and add.
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
};

struct BindRequest {
    std::uint32_t mw_key = 0;  ///< The window's present R_Key.
    std::uint32_t new_key = 0;
    std::uint32_t mr_lkey = 0;
    std::uint32_t access = 0;
    std::uint64_t addr = 0;
    std::uint64_t length = 0;  ///< 0: unbinds the window, which must be of type 1.
};

class Memory {
  public:
    virtual ~Memory() = default;

    /// Resolves an L_Key. Returns std::nullopt unless the key is of the protection domain and
    /// allows all of the range.
    virtual std::optional<Place> local(std::uint32_t lkey, Pd pd, std::uint64_t addr,
                                       std::uint32_t length, std::uint32_t access) const = 0;
    /// Resolves the R_Key of a request that arrived at queue pair `at`. Returns std::nullopt unless
    /// the key is of the protection domain and allows all of the range.
    virtual std::optional<Place> remote(std::uint32_t rkey, Pd pd, Qpn at, std::uint64_t addr,
                                        std::uint32_t length, std::uint32_t access) const = 0;
    /// Ends the binding of a type 2 window, for a request that was received or posted. Returns
    /// false unless `at` is the queue pair that the window is, or was last, bound to.
    virtual bool invalidate(std::uint32_t rkey, Pd pd, Qpn at) = 0;
    /// Binds a window. Returns false, with nothing changed, if the rules of windows forbid it.
    virtual bool bind(const BindRequest& request, Pd pd, Qpn by) = 0;

    /// Returns the bytes at a place, valid until the HCA sends its next packet; std::nullopt if
    /// they cannot be reached.
    virtual std::optional<const std::uint8_t*> read(Place from, std::uint32_t length) const = 0;
    /// Writes bytes in increasing order of addresses, the last byte last. Returns false if the
    /// place cannot be reached.
    virtual bool write(Place to, const std::uint8_t* from, std::uint32_t length) = 0;
    /// Executes an atomic and returns the word's former value; std::nullopt if the word cannot be
    /// reached.
    virtual std::optional<std::uint64_t> execute(Place word, const AtomicOperands& operands) = 0;
};

/// A table of regions and windows. The upper 24 bits of a key are the index of its entry; the low
/// eight change whenever the entry is used again.
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
    /// Returns the region's key; 0 if the table is full.
    std::uint32_t add_region(const Region& region);
    /// Returns the window's key; 0 if the table is full.
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
        Qpn qpn{};                 ///< Type 2 window: the queue pair that it is bound to.
        std::uint32_t parent = 0;  ///< Window: the L_Key of the region that it is bound to.
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
