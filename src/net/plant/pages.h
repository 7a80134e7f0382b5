// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Memory for large tables that are read at random. It is on huge pages where the kernel has them:
// otherwise most of the time would go into translating addresses.

#include <cstddef>
#include <new>
#include <vector>

namespace softib::net {

/// Asks the kernel for huge pages under a piece of memory; the kernel may refuse.
void advise_huge(void* at, std::size_t bytes);

/// An allocator that asks for huge pages for everything of at least one such page.
template <typename T>
struct HugePages {
    using value_type = T;
    static constexpr std::size_t kPage = std::size_t{2} << 20;

    HugePages() = default;
    template <typename U>
    HugePages(const HugePages<U>&) {}

    static std::align_val_t alignment(std::size_t count) {
        return std::align_val_t{count * sizeof(T) < kPage ? std::size_t{64} : kPage};
    }
    T* allocate(std::size_t count) {
        void* at = ::operator new(count * sizeof(T), alignment(count));
        if (count * sizeof(T) >= kPage) {
            advise_huge(at, count * sizeof(T));
        }
        return static_cast<T*>(at);
    }
    void deallocate(T* at, std::size_t count) { ::operator delete(at, alignment(count)); }
    friend bool operator==(const HugePages&, const HugePages&) { return true; }
};

/// A vector on huge pages.
template <typename T>
using Table = std::vector<T, HugePages<T>>;

}  // namespace softib::net
