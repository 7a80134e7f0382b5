// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How the preloaded library replaces functions of the C library: our function has the symbol of the
// C library's, and Next finds the function that would have been called without us.
//
// The entry points are not noexcept: open and similar calls are cancellation points, and a
// cancelled thread unwinds through them.

#include <dlfcn.h>

#include <atomic>

/// Gives a function that has a name of our own the symbol of a function of the C library.
#define SOFTIB_FS_EXPORT(symbol) __asm__(symbol) __attribute__((visibility("default"), used))

namespace softib::sysfs {

/// The next function with a symbol. It is looked up at the first use, so that it works before any
/// constructor has run. get() returns nullptr if there is no such function.
template <typename Function>
class Next {
  public:
    constexpr explicit Next(const char* symbol) : symbol_(symbol) {}

    Function* get() {
        Function* found = function_.load(std::memory_order_relaxed);
        if (found == nullptr) {
            found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol_));
            function_.store(found, std::memory_order_relaxed);
        }
        return found;
    }

    template <typename... Args>
    auto operator()(Args... args) {
        return get()(args...);
    }

  private:
    const char* symbol_;
    std::atomic<Function*> function_{nullptr};
};

}  // namespace softib::sysfs
