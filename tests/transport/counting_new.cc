// SPDX-License-Identifier: BSD-2-Clause
// In a file of its own: a compiler that sees both this and its user warns that memory of new is
// passed to free.
#include <cstdint>
#include <cstdlib>
#include <new>

namespace softib::transport {

namespace {

std::uint64_t count = 0;

void* allocate(std::size_t bytes) {
    ++count;
    if (void* memory = std::malloc(bytes)) {
        return memory;
    }
    throw std::bad_alloc();
}

}  // namespace

std::uint64_t allocations();
std::uint64_t allocations() {
    return count;
}

}  // namespace softib::transport

void* operator new(std::size_t bytes) {
    return softib::transport::allocate(bytes);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
