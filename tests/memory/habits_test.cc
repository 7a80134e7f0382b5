// SPDX-License-Identifier: BSD-2-Clause
// Programs do with memory that is, was or will be registered what they do with other memory: it
// behaves as memory that never was registered. Each habit is done to both kinds, and the results
// are compared. Run with the preloaded library, as softib starts programs.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>

#include "verbs_rig.h"

namespace softib::test {
namespace {

constexpr std::size_t kPages = 32;
constexpr std::size_t kBytes = kPages * kPage;
constexpr int kReadWrite = PROT_READ | PROT_WRITE;

/// Memory of a program, with an inaccessible page on either side.
struct Memory {
    Memory() {
        void* const room = mmap(nullptr, 4 * kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(room, MAP_FAILED);
        base = static_cast<char*>(room);
        at = base + kPage;
        EXPECT_EQ(mprotect(at, kBytes, kReadWrite), 0);
        for (std::size_t i = 0; i < kBytes; ++i) {
            at[i] = static_cast<char>(i % 251 + 1);
        }
    }
    ~Memory() { munmap(base, 4 * kBytes); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    char* base;
    char* at;
};

/// The results of a habit in order, and where the memory is afterwards.
struct Outcome {
    std::vector<long> results;
    char* at;
    std::size_t bytes = kBytes;  ///< The bytes that can be read there.

    template <typename Result>
    void note(Result result) {
        EXPECT_TRUE(result == static_cast<Result>(0) || result == static_cast<Result>(-1));
        results.push_back(result == static_cast<Result>(0) ? 0 : -errno);
    }
};

using Habit = std::function<void(Outcome&)>;

struct Named {
    const char* name;
    Habit habit;
    /// Any content is right, because the kernel may or may not have dropped the bytes.
    bool free_content = false;
};

Habit advise(int advice, std::size_t page = 0, std::size_t pages = kPages) {
    return [=](Outcome& o) { o.note(madvise(o.at + page * kPage, pages * kPage, advice)); };
}

Habit advise_by_number(int advice) {
    return [=](Outcome& o) { o.note(syscall(SYS_madvise, o.at, kBytes, advice)); };
}

void map_over(Outcome& o) {
    void* const part = o.at + 5 * kPage;
    o.note(mmap(part, 4 * kPage, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == part
               ? 0
               : -1);
}

void unmap_part(Outcome& o) {
    char* const part = o.at + 7 * kPage;
    o.note(munmap(part, 3 * kPage));
    o.note(mmap(part, 3 * kPage, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                0) == part
               ? 0
               : -1);
}

void protect(Outcome& o) {
    o.note(mprotect(o.at, kBytes, PROT_READ));
    o.note(mprotect(o.at, 3 * kPage, PROT_NONE));
    o.note(mprotect(o.at, kBytes, kReadWrite));
}

void grow(Outcome& o) {
    void* const moved = mremap(o.at, kBytes, 2 * kBytes, MREMAP_MAYMOVE);
    o.note(moved != MAP_FAILED ? 0 : -1);
    if (moved != MAP_FAILED) {
        o.at = static_cast<char*>(moved);
        o.bytes = 2 * kBytes;
    }
}

void shrink(Outcome& o) {
    o.note(mremap(o.at, kBytes, kBytes / 2, 0) == o.at ? 0 : -1);
    o.bytes = kBytes / 2;
}

void move_by_number(Outcome& o) {
    void* const place = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const long moved =
        syscall(SYS_mremap, o.at, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    o.note(moved != -1 ? 0 : -1);
    o.at = static_cast<char*>(place);
}

/// The calls of Go's runtime and of the JVM's collectors: free, take again, make huge, and so on.
void collector(Outcome& o) {
    for (const int advice : {MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_DODUMP,
                             MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_WRITE}) {
        o.note(madvise(o.at, kBytes, advice));
    }
    o.note(madvise(o.at + 8 * kPage, 8 * kPage, MADV_DONTNEED));
    o.note(mprotect(o.at + 8 * kPage, 8 * kPage, PROT_NONE));
    o.note(mprotect(o.at + 8 * kPage, 8 * kPage, kReadWrite));
    std::memset(o.at + 9 * kPage, 'g', kPage);
    o.note(madvise(o.at + 9 * kPage + 1, kPage, MADV_DONTNEED));  // The address is not at a page.
    // The call is not for private memory.
    o.note(madvise(o.at, kBytes, MADV_REMOVE));
}

const std::vector<Named>& habits() {
    static const std::vector<Named> all{
        {"nothing", [](Outcome&) {}},
        {"dontneed", advise(MADV_DONTNEED)},
        {"dontneed_part", advise(MADV_DONTNEED, 3, 5)},
        {"dontneed_by_number", advise_by_number(MADV_DONTNEED)},
        {"free", advise(MADV_FREE), true},
        {"free_by_number", advise_by_number(MADV_FREE), true},
        {"hugepage", advise(MADV_HUGEPAGE)},
        {"dontfork", advise(MADV_DONTFORK)},
        {"wipeonfork", advise(MADV_WIPEONFORK)},
        {"map_over", map_over},
        {"unmap_part", unmap_part},
        {"protect", protect},
        {"grow", grow},
        {"shrink", shrink},
        {"move_by_number", move_by_number},
        {"collector", collector},
    };
    return all;
}

Outcome done_to(const Named& habit, Memory& memory) {
    Outcome outcome{{}, memory.at};
    habit.habit(outcome);
    return outcome;
}

/// Checks that the outcome `seen` equals that of memory that never was registered.
void expect_same(const Named& habit, const Outcome& seen, const Outcome& plain) {
    EXPECT_EQ(seen.results, plain.results) << habit.name;
    ASSERT_EQ(seen.bytes, plain.bytes) << habit.name;
    if (!habit.free_content) {
        EXPECT_EQ(std::memcmp(seen.at, plain.at, seen.bytes), 0) << habit.name;
    }
    // The memory can still be used.
    std::memset(seen.at, 'n', seen.bytes);
    EXPECT_EQ(seen.at[seen.bytes - 1], 'n');
}

Owned<ibv_mr> reg(End& end, char* at, std::size_t bytes = kBytes) {
    return Owned<ibv_mr>(ibv_reg_mr(end.pd.get(), at, bytes, kAllAccess));
}

bool write(Pair& p, const char* at, std::uint32_t rkey) {
    Send s(IBV_WR_RDMA_WRITE);
    s.from(p.a.region(), 0, 64).at(reinterpret_cast<std::uintptr_t>(at), rkey);
    EXPECT_EQ(s.post(p.a.qp.get()), 0);
    return next(p.a.send_cq.get()).status == IBV_WC_SUCCESS;
}

TEST(Habits, AfterDeregistrationMemoryIsAsItWasBefore) {
    Pair p;
    for (const Named& habit : habits()) {
        Memory memory;
        Memory twin;
        {
            const auto mr = reg(p.b, memory.at);
            ASSERT_NE(mr, nullptr);
            ASSERT_TRUE(write(p, memory.at + 4 * kPage, mr->rkey));
            std::memcpy(twin.at + 4 * kPage, p.a.memory.data(), 64);
        }
        const Outcome seen = done_to(habit, memory);
        expect_same(habit, seen, done_to(habit, twin));
    }
}

TEST(Habits, RegisteredMemoryObeysToo) {
    Pair p;
    for (const Named& habit : habits()) {
        Memory memory;
        Memory twin;
        auto mr = reg(p.b, memory.at);
        ASSERT_NE(mr, nullptr);
        ASSERT_TRUE(write(p, memory.at + 4 * kPage, mr->rkey));
        std::memcpy(twin.at + 4 * kPage, p.a.memory.data(), 64);
        const Outcome seen = done_to(habit, memory);
        const Outcome plain = done_to(habit, twin);
        // The region still works: no habit has unmapped or replaced its first page.
        ASSERT_TRUE(write(p, memory.at, mr->rkey)) << habit.name;
        EXPECT_EQ(std::memcmp(seen.at, p.a.memory.data(), 64), 0) << habit.name;
        std::memcpy(plain.at, p.a.memory.data(), 64);
        mr.reset();
        expect_same(habit, seen, plain);
    }
}

TEST(Habits, RegistrationAfterwardsReachesWhatIsThere) {
    Pair p;
    for (const Named& habit : habits()) {
        Memory memory;
        Memory twin;
        const Outcome seen = done_to(habit, memory);
        const Outcome plain = done_to(habit, twin);
        {
            const auto mr = reg(p.b, seen.at, seen.bytes);
            ASSERT_NE(mr, nullptr) << habit.name;
            ASSERT_TRUE(write(p, seen.at + 6 * kPage, mr->rkey)) << habit.name;
        }
        std::memcpy(plain.at + 6 * kPage, p.a.memory.data(), 64);
        expect_same(habit, seen, plain);
    }
}

TEST(Habits, MappingsMeltTogetherAgain) {
    const auto mappings = [] {
        FILE* const file = std::fopen("/proc/self/maps", "r");
        int lines = 0;
        for (int c = 0; (c = std::fgetc(file)) != EOF;) {
            lines += c == '\n';
        }
        std::fclose(file);
        return lines;
    };
    End end(0);
    Memory memory;
    reg(end, memory.at + kPage, kPage);
    const int before = mappings();
    for (int round = 0; round < 100; ++round) {
        for (std::size_t page = 0; page + 1 < kPages; page += 2) {
            const auto mr = reg(end, memory.at + page * kPage, kPage);
            ASSERT_NE(mr, nullptr);
        }
    }
    EXPECT_EQ(mappings(), before);
}

TEST(Habits, OverlappingRegionsGiveBackTogether) {
    End end(0);
    Memory memory;
    auto low = reg(end, memory.at, 20 * kPage);
    auto high = reg(end, memory.at + 10 * kPage, 20 * kPage);
    low.reset();
    EXPECT_EQ(memory.at[25 * kPage], static_cast<char>(25 * kPage % 251 + 1));
    high.reset();
    for (std::size_t i = 0; i < kBytes; ++i) {
        ASSERT_EQ(memory.at[i], static_cast<char>(i % 251 + 1)) << i;
    }
    ASSERT_EQ(syscall(SYS_madvise, memory.at, kBytes, MADV_DONTNEED), 0);
    EXPECT_EQ(std::count(memory.at, memory.at + kBytes, 0), static_cast<std::ptrdiff_t>(kBytes));
}

/// Memory that is larger than what is moved in one step, and that the program splits where no step
/// ends.
TEST(Habits, LargeMemoryThatWasSplitComesBackWhole) {
    constexpr std::size_t kLarge = std::size_t{11} << 20;
    End end(0);
    char* const at =
        static_cast<char*>(mmap(nullptr, kLarge, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(at, MAP_FAILED);
    const auto value = [](std::size_t i) { return static_cast<char>(i / kPage % 251 + 1); };
    for (std::size_t i = 0; i < kLarge; ++i) {
        at[i] = value(i);
    }
    const auto check = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
            if (at[i] != value(i)) {
                return false;
            }
        }
        return true;
    };
    auto mr = reg(end, at, kLarge);
    ASSERT_NE(mr, nullptr);
    ASSERT_EQ(munmap(at, std::size_t{1} << 20), 0);
    ASSERT_EQ(mprotect(at + (std::size_t{6} << 20), kPage, PROT_READ), 0);
    madvise(at + (std::size_t{7} << 20), kPage, MADV_WIPEONFORK);
    const pid_t child = fork();
    if (child == 0) {
        _exit(check(std::size_t{1} << 20, std::size_t{7} << 20) && at[std::size_t{7} << 20] == 0 &&
                      check((std::size_t{7} << 20) + kPage, kLarge)
                  ? 0
                  : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    mr.reset();
    EXPECT_TRUE(check(std::size_t{1} << 20, kLarge));
    ASSERT_EQ(
        syscall(SYS_madvise, at + (std::size_t{2} << 20), std::size_t{8} << 20, MADV_DONTNEED), 0);
    EXPECT_EQ(at[std::size_t{5} << 20], 0);
    munmap(at + (std::size_t{1} << 20), kLarge - (std::size_t{1} << 20));
}

TEST(Habits, AWindowFollowsMemoryThatIsMoved) {
    Pair p;
    Memory memory;
    const auto mr =
        Owned<ibv_mr>(ibv_reg_mr(p.b.pd.get(), memory.at, kBytes, kAllAccess | IBV_ACCESS_MW_BIND));
    ASSERT_NE(mr, nullptr);
    const Owned<ibv_mw> window(ibv_alloc_mw(p.b.pd.get(), IBV_MW_TYPE_1));
    ibv_mw_bind bind{};
    bind.bind_info = {mr.get(), reinterpret_cast<std::uintptr_t>(memory.at), kBytes,
                      IBV_ACCESS_REMOTE_WRITE};
    bind.send_flags = IBV_SEND_SIGNALED;
    ASSERT_EQ(ibv_bind_mw(p.b.qp.get(), window.get(), &bind), 0);
    ASSERT_EQ(next(p.b.send_cq.get()).status, IBV_WC_SUCCESS);
    auto* const moved = static_cast<char*>(mremap(memory.at, kBytes, 2 * kBytes, MREMAP_MAYMOVE));
    ASSERT_NE(moved, MAP_FAILED);
    ASSERT_TRUE(write(p, memory.at + kPage, window->rkey));
    EXPECT_EQ(std::memcmp(moved + kPage, p.a.memory.data(), 64), 0);
    munmap(moved, 2 * kBytes);
}

/// Threads count in every page while regions come and go: no increment is lost.
TEST(Habits, NoWriteIsLostUnderWay) {
    End end(0);
    Memory memory;
    std::memset(memory.at, 0, kBytes);
    std::atomic<bool> stop{false};
    std::vector<std::uint64_t> counted(2);
    std::vector<std::thread> writers;
    for (std::size_t t = 0; t < counted.size(); ++t) {
        writers.emplace_back([&, t] {
            while (!stop.load(std::memory_order_relaxed)) {
                for (std::size_t page = 0; page < kPages; ++page) {
                    auto* const word =
                        reinterpret_cast<volatile std::uint64_t*>(memory.at + page * kPage + t * 8);
                    *word = *word + 1;
                }
                ++counted[t];
            }
        });
    }
    for (int round = 0; round < 300; ++round) {
        const auto mr = reg(end, memory.at);
        EXPECT_NE(mr, nullptr);
    }
    stop.store(true);
    for (std::thread& writer : writers) {
        writer.join();
    }
    for (std::size_t t = 0; t < counted.size(); ++t) {
        for (std::size_t page = 0; page < kPages; ++page) {
            std::uint64_t word = 0;
            std::memcpy(&word, memory.at + page * kPage + t * 8, 8);
            ASSERT_EQ(word, counted[t]) << "thread " << t << ", page " << page;
        }
    }
}

// --- fork
// -----------------------------------------------------------------------------------------

/// Runs in a child. Checks that all bytes are `expected`, also a while after the parent began to
/// write.
int look(const char* at, char expected, int go, int ready) {
    char byte = 0;
    bool same = std::count(at, at + kBytes, expected) == static_cast<std::ptrdiff_t>(kBytes);
    same &= ::write(ready, "r", 1) == 1 && ::read(go, &byte, 1) == 1;
    same &= std::count(at, at + kBytes, expected) == static_cast<std::ptrdiff_t>(kBytes);
    return same ? 0 : 1;
}

struct Pipes {
    Pipes() { EXPECT_TRUE(pipe(go) == 0 && pipe(ready) == 0); }
    ~Pipes() {
        for (const int fd : {go[0], go[1], ready[0], ready[1]}) {
            close(fd);
        }
    }
    int go[2];
    int ready[2];
};

struct ChildArguments {
    const char* at;
    Pipes* pipes;
};

int cloned(void* given) {
    auto* const arguments = static_cast<ChildArguments*>(given);
    _exit(look(arguments->at, 'A', arguments->pipes->go[0], arguments->pipes->ready[1]));
}

void expect_snapshot(char* at, const std::function<pid_t(Pipes&)>& start) {
    Pipes pipes;
    std::memset(at, 'A', kBytes);
    const pid_t child = start(pipes);
    ASSERT_GT(child, 0);
    char byte = 0;
    ASSERT_EQ(::read(pipes.ready[0], &byte, 1), 1);
    std::memset(at, 'B', kBytes);
    ASSERT_EQ(::write(pipes.go[1], "g", 1), 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(std::count(at, at + kBytes, 'B'), static_cast<std::ptrdiff_t>(kBytes));
}

TEST(Fork, TheChildHasItsCopyAsOfTheFork) {
    ASSERT_EQ(ibv_fork_init(), 0);
    End end(0);
    Memory memory;
    static char bss[kBytes + kPage];
    const std::unique_ptr<char[]> heap(new char[kBytes]);
    for (char* const at : {memory.at, bss, heap.get()}) {
        const auto mr = reg(end, at);
        ASSERT_NE(mr, nullptr);
        expect_snapshot(at, [&](Pipes& pipes) {
            const pid_t child = fork();
            if (child == 0) {
                _exit(look(at, 'A', pipes.go[0], pipes.ready[1]));
            }
            return child;
        });
        expect_snapshot(at, [&](Pipes& pipes) {
            const pid_t child = _Fork();
            if (child == 0) {
                _exit(look(at, 'A', pipes.go[0], pipes.ready[1]));
            }
            return child;
        });
        expect_snapshot(at, [&](Pipes& pipes) {
            static char stack[65536];
            ChildArguments arguments{at, &pipes};
            return clone(cloned, stack + sizeof stack, SIGCHLD, &arguments);
        });
    }
}

/// Registered memory that a fork handler of the program writes to just before a fork.
std::atomic<char*> g_prepared{nullptr};

/// The program installs its fork handler before it opens any device.
const int g_installed = pthread_atfork(
    [] {
        if (char* const at = g_prepared.load()) {
            std::memset(at, 'P', kBytes);
        }
    },
    nullptr, nullptr);

TEST(Fork, TheCopyIsOfAfterTheProgramsOwnHandlers) {
    ASSERT_EQ(g_installed, 0);
    End end(0);
    Memory memory;
    const auto mr = reg(end, memory.at);
    g_prepared.store(memory.at);
    const pid_t child = fork();
    if (child == 0) {
        _exit(std::count(memory.at, memory.at + kBytes, 'P') == std::ptrdiff_t{kBytes} ? 0 : 1);
    }
    g_prepared.store(nullptr);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(Fork, WhatTheChildWritesStaysThere) {
    End end(0);
    Memory memory;
    const auto mr = reg(end, memory.at);
    std::memset(memory.at, 'A', kBytes);
    const pid_t child = fork();
    if (child == 0) {
        std::memset(memory.at, 'C', kBytes);
        _exit(madvise(memory.at, kPage, MADV_DONTNEED) == 0 && memory.at[0] == 0 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(std::count(memory.at, memory.at + kBytes, 'A'), static_cast<std::ptrdiff_t>(kBytes));
}

/// A database that forks to write a snapshot: a thread and peers go on writing, and what the child
/// sees never changes.
TEST(Fork, SnapshotsStandStillWhileOthersWrite) {
    Pair p;
    Memory memory;
    const auto mr = reg(p.b, memory.at);
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (unsigned char value = 0; !stop.load(); ++value) {
            std::memset(memory.at + kBytes / 2, value, kBytes / 2);
        }
    });
    for (int round = 0; round < 30; ++round) {
        const pid_t child = fork();
        if (child == 0) {
            const std::vector<char> first(memory.at, memory.at + kBytes);
            bool same = true;
            for (int look = 0; look < 50 && same; ++look) {
                same = std::memcmp(first.data(), memory.at, kBytes) == 0;
                sched_yield();
            }
            _exit(same ? 0 : 1);
        }
        for (int i = 0; i < 20; ++i) {
            ASSERT_TRUE(write(p, memory.at + 2 * kPage, mr->rkey));
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0) << "round " << round;
    }
    stop.store(true);
    writer.join();
}

pid_t start_by_vfork(const char* program, char* const* arguments) {
    const pid_t child = vfork();
    if (child == 0) {
        execv(program, arguments);
        _exit(1);
    }
    return child;
}

TEST(Fork, SpawnedProgramsAndVforkLeaveTheRegionAlone) {
    Pair p;
    Memory memory;
    const auto mr = reg(p.b, memory.at);
    char program[] = "/bin/true";
    char* arguments[] = {program, nullptr};
    for (int round = 0; round < 10; ++round) {
        pid_t child = 0;
        ASSERT_EQ(posix_spawn(&child, program, nullptr, nullptr, arguments, environ), 0);
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        const pid_t quick = start_by_vfork(program, arguments);
        ASSERT_EQ(waitpid(quick, &status, 0), quick);
        EXPECT_EQ(status, 0);
        ASSERT_TRUE(write(p, memory.at + kPage, mr->rkey));
        ASSERT_EQ(std::memcmp(memory.at + kPage, p.a.memory.data(), 64), 0);
    }
}

}  // namespace
}  // namespace softib::test
