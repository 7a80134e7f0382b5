// SPDX-License-Identifier: BSD-2-Clause
#include "abi/verbs/record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace softib::abi::record {

namespace {

/// The file of this process's records, of which one piece at a time is mapped.
class RecordLog {
  public:
    static RecordLog& get() {
        static RecordLog log;
        return log;
    }

    void add(const shm::RecordEntry& entry) {
        const std::lock_guard guard(lock_);
        if (owner_ != getpid()) {
            open_own();  // The first use in this process, which may be a forked child.
        }
        if (fd_ < 0 || (used_ == kEntries && !map_next())) {
            return;
        }
        shm::RecordEntry& slot = piece_[used_++];
        std::memcpy(reinterpret_cast<char*>(&slot) + sizeof slot.time_ns,
                    reinterpret_cast<const char*>(&entry) + sizeof entry.time_ns,
                    sizeof slot - sizeof slot.time_ns);
        // Stored last, because an entry is valid once it has a time.
        std::atomic_ref(slot.time_ns).store(entry.time_ns, std::memory_order_release);
    }

    std::atomic<bool> waiting{false};

  private:
    static constexpr std::size_t kPieceBytes = shm::kRecordPieceBytes;
    static constexpr std::size_t kEntries = kPieceBytes / sizeof(shm::RecordEntry);

    void open_own() {
        owner_ = getpid();
        const char* const folder = std::getenv(shm::kRecordVariable);
        const std::string path =
            std::string(folder == nullptr ? "" : folder) + "/" + std::to_string(owner_) + ".rec";
        // A forked child does not close or unmap its parent's file.
        fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd_ < 0) {
            return;
        }
        shm::RecordHeader header{};
        std::memcpy(header.magic, shm::kRecordMagic, sizeof header.magic);
        header.pid = static_cast<std::uint32_t>(owner_);
        header.rank = rank();
        std::snprintf(header.program, sizeof header.program, "%s", program_invocation_short_name);
        if (write(fd_, &header, sizeof header) != sizeof header) {
            close(fd_);
            fd_ = -1;
            return;
        }
        pieces_ = 0;
        used_ = kEntries;
    }

    static std::uint32_t rank() {
        for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
            if (const char* const text = std::getenv(name)) {
                return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
            }
        }
        return shm::kRankUnknown;
    }

    bool map_next() {
        const auto offset = static_cast<off_t>((pieces_ + 1) * kPieceBytes);
        if (ftruncate(fd_, offset + static_cast<off_t>(kPieceBytes)) != 0) {
            return false;
        }
        void* const mapped =
            mmap(nullptr, kPieceBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, offset);
        if (mapped == MAP_FAILED) {
            return false;
        }
        if (piece_ != nullptr) {
            munmap(piece_, kPieceBytes);
        }
        piece_ = static_cast<shm::RecordEntry*>(mapped);
        ++pieces_;
        used_ = 0;
        return true;
    }

    std::mutex lock_;
    pid_t owner_ = 0;
    int fd_ = -1;
    shm::RecordEntry* piece_ = nullptr;
    std::size_t pieces_ = 0;
    std::size_t used_ = kEntries;
};

void add_moment(shm::RecordWhat what, std::uint32_t qpn) {
    const Moment at = now();
    RecordLog::get().add({at.time_ns, at.cpu_ns, 0, qpn, 0, what, 0});
}

}  // namespace

bool wanted() {
    static const bool kWanted = std::getenv(shm::kRecordVariable) != nullptr;
    return kWanted;
}

Moment now() {
    const auto read = [](clockid_t clock) {
        timespec time{};
        clock_gettime(clock, &time);
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(time.tv_nsec);
    };
    return {read(CLOCK_MONOTONIC), read(CLOCK_PROCESS_CPUTIME_ID)};
}

void created(std::uint32_t qpn) {
    add_moment(shm::RecordWhat::kQueuePair, qpn);
}

void posted(const Moment& at, ibv_wr_opcode opcode, std::uint64_t bytes, std::uint32_t qpn,
            std::uint32_t remote_qpn) {
    shm::RecordWhat what = shm::RecordWhat::kSent;
    switch (opcode) {
        case IBV_WR_RDMA_READ:
            what = shm::RecordWhat::kRead;
            break;
        case IBV_WR_ATOMIC_CMP_AND_SWP:
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
            what = shm::RecordWhat::kAtomic;
            break;
        case IBV_WR_BIND_MW:
        case IBV_WR_LOCAL_INV:
            return;
        default:
            break;
    }
    RecordLog& log = RecordLog::get();
    log.waiting.store(false, std::memory_order_relaxed);
    log.add({at.time_ns, at.cpu_ns, bytes, qpn, remote_qpn, what, 0});
}

void polled(bool found) {
    RecordLog& log = RecordLog::get();
    if (log.waiting.load(std::memory_order_relaxed) != found) {
        return;
    }
    if (log.waiting.exchange(!found) == found) {
        add_moment(found ? shm::RecordWhat::kFound : shm::RecordWhat::kWaits, 0);
    }
}

}  // namespace softib::abi::record
