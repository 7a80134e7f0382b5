// SPDX-License-Identifier: BSD-2-Clause
// Uses SHARP's API without MPI. Each rank is a process on a host, and the ranks find each other by
// files in a folder. The program does every operation and checks every element of its result.
//
//     sharp_allreduce FOLDER RANK SIZE [ROUNDS]
//     sharp_allreduce FOLDER RANK SIZE time BYTES ROUNDS     prints microseconds per all-reduce
//     sharp_allreduce FOLDER RANK SIZE wait                  all-reduces until one fails
//
// It prints "ok" and returns 0, or says what went wrong.

#include <sharp/api/sharp.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

/// The out-of-band functions that SHARP asks for, done by files: FOLDER/step-rank has what a rank
/// wrote at a step.
struct Meeting {
    std::string folder;
    int rank;
    int size;
    int step = 0;

    std::string name(int of_step, int of_rank) const {
        return folder + "/" + std::to_string(of_step) + "-" + std::to_string(of_rank);
    }
    void say(const void* data, std::size_t bytes) const {
        const std::string unfinished = name(step, rank) + ".new";
        std::ofstream(unfinished, std::ios::binary)
            .write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
        std::rename(unfinished.c_str(), name(step, rank).c_str());
    }
    void hear(int from, void* data, std::size_t bytes) const {
        while (true) {
            std::ifstream file(name(step, from), std::ios::binary);
            if (file.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes))) {
                return;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
};

int meet_bcast(void* context, void* buffer, int len, int root) {
    auto* const meeting = static_cast<Meeting*>(context);
    ++meeting->step;
    if (meeting->rank == root) {
        meeting->say(buffer, static_cast<std::size_t>(len));
    } else {
        meeting->hear(root, buffer, static_cast<std::size_t>(len));
    }
    return 0;
}

int meet_gather(void* context, int root, void* sbuf, void* rbuf, int len) {
    auto* const meeting = static_cast<Meeting*>(context);
    ++meeting->step;
    meeting->say(sbuf, static_cast<std::size_t>(len));
    for (int from = 0; meeting->rank == root && from < meeting->size; ++from) {
        meeting->hear(from, static_cast<char*>(rbuf) + static_cast<std::ptrdiff_t>(from) * len,
                      static_cast<std::size_t>(len));
    }
    return 0;
}

int meet_barrier(void* context) {
    auto* const meeting = static_cast<Meeting*>(context);
    ++meeting->step;
    char here = 1;
    meeting->say(&here, 1);
    for (int from = 0; from < meeting->size; ++from) {
        meeting->hear(from, &here, 1);
    }
    return 0;
}

sharp_coll_data_desc buffer(void* at, std::size_t bytes) {
    sharp_coll_data_desc desc{};
    desc.type = SHARP_DATA_BUFFER;
    desc.mem_type = SHARP_MEM_TYPE_HOST;
    desc.buffer.ptr = at;
    desc.buffer.length = bytes;
    return desc;
}

/// Ends the program with a message if a call failed.
void check(int result, const char* what) {
    if (result != SHARP_COLL_SUCCESS) {
        std::fprintf(stderr, "%s: %s (%d)\n", what, sharp_coll_strerror(result), result);
        std::exit(1);
    }
}

void compare(bool equal, const char* what) {
    if (!equal) {
        std::fprintf(stderr, "%s: the result is wrong\n", what);
        std::exit(2);
    }
}

/// Returns the value that a rank contributes at an index. It differs by rank and index.
std::int32_t value_of(int rank, std::size_t at) {
    return static_cast<std::int32_t>(rank * 1000 + static_cast<int>(at % 997));
}

std::vector<std::int32_t> vector_of(int rank, std::size_t count) {
    std::vector<std::int32_t> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = value_of(rank, i);
    }
    return values;
}

sharp_coll_reduce_spec reduction(std::vector<std::int32_t>& in, std::vector<std::int32_t>& out,
                                 sharp_reduce_op op) {
    sharp_coll_reduce_spec spec{};
    spec.sbuf_desc = buffer(in.data(), in.size() * 4);
    spec.rbuf_desc = buffer(out.data(), out.size() * 4);
    spec.dtype = SHARP_DTYPE_INT;
    spec.op = op;
    spec.length = in.size();
    return spec;
}

void try_allreduce(sharp_coll_comm* comm, int rank, int size, std::size_t count) {
    std::vector<std::int32_t> in = vector_of(rank, count);
    std::vector<std::int32_t> sum(count);
    std::vector<std::int32_t> max(count);
    sharp_coll_reduce_spec sums = reduction(in, sum, SHARP_OP_SUM);
    sharp_coll_reduce_spec maxima = reduction(in, max, SHARP_OP_MAX);
    void* first = nullptr;
    void* second = nullptr;
    check(sharp_coll_do_allreduce_nb(comm, &sums, &first), "all-reduce");
    check(sharp_coll_do_allreduce_nb(comm, &maxima, &second), "a second at the same time");
    while (sharp_coll_req_test(second) == 0) {
    }
    check(sharp_coll_req_free(second), "free");
    check(sharp_coll_req_wait(first), "wait");
    for (std::size_t i = 0; i < count; ++i) {
        std::int32_t wanted = 0;
        for (int other = 0; other < size; ++other) {
            wanted += value_of(other, i);
        }
        compare(sum[i] == wanted, "sum");
        compare(max[i] == value_of(size - 1, i), "maximum");
    }
}

void try_others(sharp_coll_comm* comm, int rank, int size, std::size_t count) {
    const auto parts = static_cast<std::size_t>(size);
    const int root = size - 1;
    std::vector<std::int32_t> in = vector_of(rank, count * parts);
    std::vector<std::int32_t> out(count);
    sharp_coll_reduce_spec scatter = reduction(in, out, SHARP_OP_MIN);
    check(sharp_coll_do_reduce_scatter(comm, &scatter), "reduce-scatter");
    for (std::size_t i = 0; i < count; ++i) {
        compare(out[i] == value_of(0, static_cast<std::size_t>(rank) * count + i), "scattered");
    }

    std::vector<std::int32_t> all(count * parts);
    sharp_coll_gather_spec gather{};
    gather.sbuf_desc = buffer(in.data(), count * 4);
    gather.rbuf_desc = buffer(all.data(), all.size() * 4);
    check(sharp_coll_do_allgather(comm, &gather), "all-gather");
    for (std::size_t i = 0; i < all.size(); ++i) {
        compare(all[i] == value_of(static_cast<int>(i / count), i % count), "gathered");
    }

    std::vector<std::int32_t> one = vector_of(rank, count);
    sharp_coll_bcast_spec bcast{};
    bcast.root = root;
    bcast.buf_desc = buffer(one.data(), count * 4);
    bcast.size = count * 4;
    check(sharp_coll_do_bcast(comm, &bcast), "broadcast");
    compare(one == vector_of(root, count), "broadcast");

    std::vector<std::int32_t> mine = vector_of(rank, count);
    std::vector<std::int32_t> reduced(count, -1);
    sharp_coll_reduce_spec reduce = reduction(mine, reduced, SHARP_OP_MAX);
    reduce.root = root;
    check(sharp_coll_do_reduce(comm, &reduce), "reduce");
    compare(rank == root ? reduced == vector_of(size - 1, count)
                         : reduced == std::vector<std::int32_t>(count, -1),
            "reduce");
    check(sharp_coll_do_barrier(comm), "barrier");
}

int time_it(sharp_coll_comm* comm, int rank, std::size_t bytes, int rounds) {
    std::vector<float> in(bytes / 4, 1.0F);
    std::vector<float> out(bytes / 4);
    sharp_coll_reduce_spec spec{};
    spec.sbuf_desc = buffer(in.data(), bytes);
    spec.rbuf_desc = buffer(out.data(), bytes);
    spec.dtype = SHARP_DTYPE_FLOAT;
    spec.op = SHARP_OP_SUM;
    spec.length = bytes / 4;
    for (int i = 0; i < rounds / 10 + 1; ++i) {
        check(sharp_coll_do_allreduce(comm, &spec), "all-reduce");
    }
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) {
        check(sharp_coll_do_allreduce(comm, &spec), "all-reduce");
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (rank == 0) {
        std::printf("%zu bytes %.3f us\n", bytes, took.count() / rounds);
    }
    return 0;
}

/// Does all-reduces until one fails because a member is gone, and prints the error.
int wait_for_failure(sharp_coll_comm* comm, const Meeting& meeting) {
    std::vector<std::int32_t> in(256, 1);
    std::vector<std::int32_t> out(256);
    sharp_coll_reduce_spec spec = reduction(in, out, SHARP_OP_SUM);
    check(sharp_coll_do_allreduce(comm, &spec), "first all-reduce");
    std::ofstream(meeting.folder + "/runs-" + std::to_string(meeting.rank)) << "1\n";
    int result = SHARP_COLL_SUCCESS;
    while (result == SHARP_COLL_SUCCESS) {
        result = sharp_coll_do_allreduce(comm, &spec);
    }
    std::printf("error %d: %s\n", result, sharp_coll_strerror(result));
    return 3;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: sharp_allreduce FOLDER RANK SIZE [ROUNDS]\n");
        return 64;
    }
    Meeting meeting{argv[1], std::atoi(argv[2]), std::atoi(argv[3])};
    const std::string mode = argc > 4 ? argv[4] : "1";
    sharp_coll_init_spec init{};
    init.job_id = 4711;
    init.world_rank = meeting.rank;
    init.world_size = meeting.size;
    init.config = sharp_coll_default_config;
    init.oob_colls = {meet_bcast, meet_barrier, meet_gather};
    init.oob_ctx = &meeting;
    sharp_coll_context* context = nullptr;
    check(sharp_coll_init(&init, &context), "init");
    sharp_coll_caps caps{};
    check(sharp_coll_caps_query(context, &caps), "caps");
    sharp_coll_comm_init_spec group{};
    group.rank = meeting.rank;
    group.size = meeting.size;
    group.oob_ctx = &meeting;
    sharp_coll_comm* comm = nullptr;
    check(sharp_coll_comm_init(context, &group, &comm), "communicator");
    if (mode == "wait") {
        return wait_for_failure(comm, meeting);
    }
    if (mode == "time" && argc > 6) {
        time_it(comm, meeting.rank, std::strtoull(argv[5], nullptr, 0), std::atoi(argv[6]));
    } else {
        for (int round = 0; round < std::atoi(mode.c_str()); ++round) {
            for (const std::size_t count : {1U, 2U, 100U, 5000U, 300000U}) {
                try_allreduce(comm, meeting.rank, meeting.size, count);
                try_others(comm, meeting.rank, meeting.size, count / 8 + 1);
            }
        }
        std::printf("ok\n");
    }
    check(sharp_coll_comm_destroy(comm), "destroy");
    check(sharp_coll_finalize(context), "finalize");
    return 0;
}
