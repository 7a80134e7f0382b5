// SPDX-License-Identifier: BSD-2-Clause
#include "parallel/job.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "core/base/check.h"
#include "parallel/mpi/plugin.h"

namespace softib::parallel {

namespace {

constexpr char kLibrary[] = "libsoftib_mpi.so";
static_assert(sizeof(net::Crossing) % 8 == 0);

template <typename Function>
bool find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    return function != nullptr;
}

}  // namespace

struct Job::Calls {
    decltype(softib_mpi_join)* join = nullptr;
    decltype(softib_mpi_leave)* leave = nullptr;
    decltype(softib_mpi_least)* least = nullptr;
    decltype(softib_mpi_sizes)* sizes = nullptr;
    decltype(softib_mpi_swap)* swap = nullptr;
};

std::uint32_t job_size() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
        if (const char* text = std::getenv(name); text != nullptr) {
            return std::max(1U, static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10)));
        }
    }
    return 1;
}

std::expected<std::unique_ptr<Job>, std::string> Job::join(const std::string& library_dir) {
    const std::string file = library_dir + "/" + kLibrary;
    // RTLD_GLOBAL, because the MPI opens libraries that look for its symbols among the global ones.
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        return std::unexpected(fmt::format(
            "this process is one of a job of {}, and softib cannot speak to the others: {}; "
            "install Open MPI (openmpi-bin) and the softib that was built with it, or "
            "run without mpirun and with --threads",
            job_size(), dlerror()));
    }
    auto calls = std::make_unique<Calls>();
    if (!find(library, "softib_mpi_join", calls->join) ||
        !find(library, "softib_mpi_leave", calls->leave) ||
        !find(library, "softib_mpi_least", calls->least) ||
        !find(library, "softib_mpi_sizes", calls->sizes) ||
        !find(library, "softib_mpi_swap", calls->swap)) {
        return std::unexpected(
            fmt::format("{} is of another version of softib; install both from one build", file));
    }
    int rank = 0;
    int size = 1;
    if (const int error = calls->join(&rank, &size); error != 0) {
        return std::unexpected(fmt::format("MPI_Init failed with error {}", error));
    }
    std::unique_ptr<Job> job(new Job(std::move(calls)));
    job->rank_ = static_cast<std::uint32_t>(rank);
    job->size_ = static_cast<std::uint32_t>(size);
    return job;
}

Job::Job(std::unique_ptr<Calls> calls) : calls_(std::move(calls)) {}

Job::~Job() {
    calls_->leave();
}

net::TimePs Job::least(net::TimePs mine) {
    return calls_->least(mine);
}

std::uint64_t Job::sum(std::uint64_t mine) {
    std::vector<std::uint64_t> all(size_, mine);
    calls_->sizes(all.data());
    return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
}

void Job::swap(std::vector<std::vector<net::Crossing>>& out, const Taker& take) {
    std::vector<std::uint64_t> out_sizes(size_);
    std::uint64_t senders = 0;
    for (std::uint32_t i = 0; i < size_; ++i) {
        out_sizes[i] = out[i].size() * sizeof(net::Crossing);
        senders += out[i].empty() ? 0U : 1U;
    }
    std::vector<std::uint64_t> in_sizes = out_sizes;
    calls_->sizes(in_sizes.data());
    const std::uint64_t count =
        std::accumulate(in_sizes.begin(), in_sizes.end(), std::uint64_t{0}) / sizeof(net::Crossing);
    got_.resize(std::max<std::size_t>(got_.size(), count));
    // A single list is sent from where it is; several are joined first.
    const auto alone = std::ranges::find_if(out, [](const auto& list) { return !list.empty(); });
    if (senders > 1) {
        sent_.clear();
        for (const auto& list : out) {
            sent_.insert(sent_.end(), list.begin(), list.end());
        }
    }
    calls_->swap(senders == 1 ? alone->data() : sent_.data(), out_sizes.data(), got_.data(),
                 in_sizes.data());
    for (auto& list : out) {
        list.clear();
    }
    take(std::span(got_).first(count));
}

std::vector<std::vector<std::uint8_t>> Job::gather(std::span<const std::uint8_t> mine) {
    SOFTIB_CHECK(mine.size() % 8 == 0);
    std::vector<std::uint64_t> out_sizes(size_, 0);
    out_sizes[0] = mine.size();
    std::vector<std::uint64_t> in_sizes = out_sizes;
    calls_->sizes(in_sizes.data());
    std::uint64_t bytes = 0;
    for (const std::uint64_t size : in_sizes) {
        bytes += size;
    }
    std::vector<std::uint8_t> all(bytes);
    calls_->swap(mine.data(), out_sizes.data(), all.data(), in_sizes.data());
    std::vector<std::vector<std::uint8_t>> lists;
    std::size_t at = 0;
    for (const std::uint64_t size : in_sizes) {
        lists.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                           all.begin() + static_cast<std::ptrdiff_t>(at + size));
        at += size;
    }
    return lists;
}

}  // namespace softib::parallel
