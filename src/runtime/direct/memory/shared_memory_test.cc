// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "runtime/direct/memory/bus_guard.h"
#include "runtime/shm/test_arena.h"

namespace softib::direct {
namespace {

constexpr shm::Owner kPeer = 7;
constexpr std::uint32_t kRegion = 5;
constexpr std::uint64_t kBytes = 8 * shm::kPageBytes;

struct SharedMemory : testing::Test {
    void SetUp() override {
        fabric.arena.proc(kPeer).pid = static_cast<std::uint32_t>(getpid());
        fabric.arena.proc(kPeer).instance = 3;
        shm::MrShared& mr = fabric.arena.mrs[kRegion];
        mr.owner = kPeer;
        mr.key = kRegion << 8 | 1;
        memory = map(kBytes);
    }
    ~SharedMemory() override { munmap(memory, kBytes); }

    static char* map(std::uint64_t bytes) {
        void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(at, MAP_FAILED);
        return static_cast<char*>(at);
    }
    static std::uint64_t number(const char* at) { return reinterpret_cast<std::uintptr_t>(at); }

    std::vector<Vma> vmas(const char* at, std::uint64_t bytes) {
        std::vector<Vma> found;
        EXPECT_TRUE(space.read(number(at), number(at) + bytes, found));
        return found;
    }
    std::vector<shm::PeerPiece> added(const char* at, std::uint64_t bytes) {
        std::vector<shm::PeerPiece> pieces;
        exports.add(space, vmas(at, bytes), number(at), number(at) + bytes, pieces);
        for (shm::PeerPiece& piece : pieces) {
            piece.region = kRegion;
        }
        return pieces;
    }

    shm::TestArena fabric;
    AddressSpace space{fabric.arena};
    SharedExports exports;
    std::atomic<std::uint32_t> mapped{0};
    SharedMapper mapper{fabric.arena};
    Mappings mappings{mapper, fabric.arena, mapped};
    char* memory = nullptr;
};

/// For tests that must open the file behind an anonymous mapping, which needs a privilege.
struct OpenSharedMemory : SharedMemory {
    void SetUp() override {
        SharedMemory::SetUp();
        const int fd = open_behind(space, vmas(memory, kBytes).at(0));
        if (fd < 0) {
            GTEST_SKIP() << "no right to open /proc/self/map_files";
        }
        close(fd);
    }
};

TEST_F(SharedMemory, IsToldFromOtherMappings) {
    EXPECT_EQ(vmas(memory, kBytes).at(0).kind, Vma::kSharedAnonymous);
    const int fd = memfd_create("test", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, kBytes), 0);
    auto* file = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0));
    EXPECT_EQ(vmas(file, kBytes).at(0).kind, Vma::kSharedFile);
    munmap(file, kBytes);
    close(fd);
    const int id = shmget(IPC_PRIVATE, kBytes, 0600);
    if (id >= 0) {
        auto* segment = static_cast<char*>(shmat(id, nullptr, 0));
        EXPECT_EQ(vmas(segment, kBytes).at(0).kind, Vma::kSharedAnonymous);
        shmdt(segment);
        shmctl(id, IPC_RMID, nullptr);
    }
}

TEST_F(OpenSharedMemory, APeerMapsItAndSeesTheSameBytes) {
    const auto pieces = added(memory + 100, 1000);
    ASSERT_EQ(pieces.size(), 1U);
    EXPECT_EQ(pieces[0].begin, number(memory) + 100);
    EXPECT_EQ(pieces[0].end, number(memory) + 1100);
    EXPECT_EQ(fcntl(pieces[0].descriptor, F_GETFD), FD_CLOEXEC);
    const Mappings::Use use = mappings.use(kPeer, pieces[0]);
    ASSERT_TRUE(use);
    std::strcpy(memory + 200, "hello");
    EXPECT_STREQ(reinterpret_cast<char*>(use->base) + 200, "hello");
    EXPECT_NE(use->base, number(memory));
    EXPECT_EQ(mapped.load(), 1U);
}

TEST_F(OpenSharedMemory, PartsOfAFileAreMappedFromWhereTheyBegin) {
    munmap(memory + 2 * shm::kPageBytes, shm::kPageBytes);  // Two mappings of one file are left.
    const auto pieces = added(memory, kBytes);
    ASSERT_EQ(pieces.size(), 2U);
    std::strcpy(memory + 3 * shm::kPageBytes + 7, "second");
    const Mappings::Use use = mappings.use(kPeer, pieces[1]);
    ASSERT_TRUE(use);
    EXPECT_STREQ(reinterpret_cast<char*>(use->base) + 7, "second");
}

TEST_F(OpenSharedMemory, RegionsOfAMappingShareItsFile) {
    const auto first = added(memory, 100);
    const auto second = added(memory + 5000, 100);
    ASSERT_EQ(first.at(0).number, second.at(0).number);
    exports.remove(first);
    EXPECT_NE(fcntl(second[0].descriptor, F_GETFD), -1);
    exports.remove(second);
    EXPECT_EQ(fcntl(second[0].descriptor, F_GETFD), -1);
    EXPECT_NE(added(memory, 100).at(0).number, second[0].number);
}

TEST_F(OpenSharedMemory, WhatIsLongerThanItsFileIsNotMapped) {
    char* const small = map(shm::kPageBytes);
    void* const grown = mremap(small, shm::kPageBytes, 2 * shm::kPageBytes, MREMAP_MAYMOVE);
    ASSERT_NE(grown, MAP_FAILED);
    const auto pieces = added(static_cast<char*>(grown), 2 * shm::kPageBytes);
    ASSERT_EQ(pieces.size(), 1U);
    EXPECT_FALSE(mappings.use(kPeer, pieces[0]));
    munmap(grown, 2 * shm::kPageBytes);
}

/// A memfd that the program has open and mapped. An unprivileged process can export it too.
struct File {
    File() {
        EXPECT_EQ(ftruncate(fd, kBytes), 0);
        at = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
        EXPECT_NE(at, MAP_FAILED);
    }
    ~File() {
        munmap(at, kBytes);
        close(fd);
    }
    int fd = memfd_create("test", MFD_CLOEXEC);
    char* at = nullptr;
};

TEST_F(SharedMemory, AFileThatTheProgramHasOpenIsMapped) {
    File file;
    const auto pieces = added(file.at + 100, 1000);
    ASSERT_EQ(pieces.size(), 1U);
    EXPECT_EQ(pieces[0].kind, shm::PeerPiece::kNamedFile);
    EXPECT_NE(pieces[0].descriptor, file.fd);  // A duplicate, since the program may close its own.
    const Mappings::Use use = mappings.use(kPeer, pieces[0]);
    ASSERT_TRUE(use);
    std::strcpy(file.at + 200, "hello");
    EXPECT_STREQ(reinterpret_cast<char*>(use->base) + 200, "hello");
    exports.remove(pieces);
}

TEST_F(SharedMemory, AFileIsFoundByItsNameToo) {
    char path[] = "/tmp/softib-test-XXXXXX";
    const int fd = mkstemp(path);
    ASSERT_EQ(ftruncate(fd, kBytes), 0);
    void* const at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_NE(at, MAP_FAILED);
    close(fd);
    const auto pieces = added(static_cast<char*>(at), kBytes);
    EXPECT_EQ(pieces.size(), 1U);
    exports.remove(pieces);
    unlink(path);
    munmap(at, kBytes);
}

TEST_F(SharedMemory, ACopyFromAFileThatWasCutShortFails) {
    File file;
    std::memset(file.at, 'x', kBytes);
    const auto pieces = added(file.at, kBytes);
    ASSERT_EQ(pieces.size(), 1U);
    const Mappings::Use use = mappings.use(kPeer, pieces[0]);
    ASSERT_TRUE(use);
    const auto* const peer = reinterpret_cast<const char*>(use->base);
    std::vector<char> copy(kBytes);
    EXPECT_TRUE(copy_guarded(copy.data(), peer, kBytes, peer, kBytes));
    EXPECT_EQ(copy[kBytes - 1], 'x');
    ASSERT_EQ(ftruncate(file.fd, shm::kPageBytes), 0);
    for (int again = 0; again < 3; ++again) {
        EXPECT_FALSE(copy_guarded(copy.data(), peer, kBytes, peer, kBytes));
    }
    EXPECT_TRUE(copy_guarded(copy.data(), peer, shm::kPageBytes, peer, kBytes));
    std::uint64_t seen = 0;
    EXPECT_FALSE(
        run_guarded([&] { std::memcpy(&seen, peer + 2 * shm::kPageBytes, 8); }, peer, kBytes));
    exports.remove(pieces);
}

TEST(BusGuardDeathTest, AnotherBusErrorEndsTheProgramAsItWould) {
    ASSERT_TRUE(bus_guard_install());
    File file;
    ASSERT_EQ(ftruncate(file.fd, 0), 0);
    const auto ended = [](int status) {
        // A sanitizer's handler was installed before ours, and ends the program in its own way.
        return WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS : WEXITSTATUS(status) != 0;
    };
    EXPECT_EXIT(static_cast<void>(*const_cast<volatile char*>(file.at)), ended, "");
}

TEST_F(SharedMemory, OneWithoutADescriptorIsNotMapped) {
    shm::PeerPiece piece{};
    piece.kind = shm::PeerPiece::kFile;
    piece.descriptor = -1;
    piece.bytes = kBytes;
    piece.region = kRegion;
    EXPECT_FALSE(mappings.use(kPeer, piece));
}

TEST_F(SharedMemory, MemoryThatCannotBeWrittenStaysTheOwners) {
    mprotect(memory, kBytes, PROT_READ);
    EXPECT_TRUE(added(memory, kBytes).empty());
}

}  // namespace
}  // namespace softib::direct
