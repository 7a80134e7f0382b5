// SPDX-License-Identifier: BSD-2-Clause
// One rank that uses NCCL's plug-in as NCCL does, but without a GPU: it looks the plug-in's tables
// up by name, sends messages round a ring, reduces in switches, and compares every element. Ranks
// find each other by files in a folder.
//
//     nccl_rank PLUGIN VERSION FOLDER RANK SIZE           prints "ok"
//     nccl_rank PLUGIN VERSION FOLDER RANK SIZE messages  without switches
//     nccl_rank PLUGIN VERSION FOLDER RANK SIZE gpu       switches alone, with memory of a fake GPU
//     nccl_rank PLUGIN VERSION FOLDER RANK SIZE wait      all-reduces until it fails
#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "abi/nccl/plugin_abi.h"
#include "core/sharp/small_float.h"
#include "nccl_buffer.h"

namespace {

using namespace softib::abi::nccl;  // NOLINT: NCCL's words, all over this file.

int my_rank = 0;
int all_ranks = 0;
std::string meeting_folder;

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "rank %d: %s\n", my_rank, what.c_str());
    std::exit(1);
}

void check(Result result, const char* what) {
    if (result != kSuccess) {
        fail(std::string(what) + ": error " + std::to_string(result));
    }
}

void require(bool holds, const std::string& what) {
    if (!holds) {
        fail(what);
    }
}

void log_to_stderr(int, unsigned long, const char*, int, const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    std::vfprintf(stderr, format, arguments);
    std::fputc('\n', stderr);
    va_end(arguments);
}

using HandleBytes = std::vector<char>;

void publish(const std::string& name, const HandleBytes& handle) {
    const std::string path = meeting_folder + "/" + name + "-" + std::to_string(my_rank);
    std::ofstream(path + ".new", std::ios::binary)
        .write(handle.data(), static_cast<std::streamsize>(handle.size()));
    std::rename((path + ".new").c_str(), path.c_str());
}

HandleBytes fetch(const std::string& name, int rank) {
    HandleBytes handle(kHandleBytes);
    const std::string path = meeting_folder + "/" + name + "-" + std::to_string(rank);
    while (!std::ifstream(path, std::ios::binary)
                .read(handle.data(), static_cast<std::streamsize>(handle.size()))) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return handle;
}

/// The tables of one version, with the functions of the newest version.
template <typename NetTable, typename CollNetTable>
class Plugin {
  public:
    Plugin(void* library, const std::string& version)
        : net_(*static_cast<const NetTable*>(look_up(library, "ncclNetPlugin_v" + version))),
          coll_(*static_cast<const CollNetTable*>(
              look_up(library, "ncclCollNetPlugin_v" + version))) {
        void* context = nullptr;
        if constexpr (requires { net_.finalize; }) {
            check(net_.init(&context, 1, nullptr, log_to_stderr, nullptr), "init");
            check(coll_.init(&context, 1, log_to_stderr), "init of collectives");
        } else if constexpr (requires { net_.make_device; }) {
            check(net_.init(log_to_stderr, nullptr), "init");
            check(coll_.init(log_to_stderr), "init of collectives");
        } else {
            check(net_.init(log_to_stderr), "init");
            check(coll_.init(log_to_stderr), "init of collectives");
        }
        int count = 0;
        check(net_.devices(&count), "devices");
        require(count == 1, "one HCA is one device, not " + std::to_string(count));
        check(coll_.devices(&count), "collective devices");
        require(count == 1, "its port is of InfiniBand");
        std::remove_pointer_t<decltype(properties_argument(net_.properties))> seen{};
        check(net_.properties(0, &seen), "properties");
        require(std::strcmp(seen.device.name, "mlx5_0") == 0 && seen.link.port == 1,
                "name and port");
        require(seen.link.speed_mbps > 0 && seen.link.receives_max == kReceivesMax, "properties");
        require((seen.device.pointer_support & kPointerHost) != 0, "memory of the host");
    }

    const NetTable& net() const { return net_; }
    const CollNetTable& coll() const { return coll_; }

    template <typename Table>
    void* listen(const Table& table, HandleBytes& handle) const {
        void* comm = nullptr;
        if constexpr (requires { table.finalize; }) {
            check(table.listen(nullptr, 0, handle.data(), &comm), "listen");
        } else {
            check(table.listen(0, handle.data(), &comm), "listen");
        }
        return comm;
    }

    Result connect(HandleBytes& handle, void** comm) const {
        void* device_comm = nullptr;
        if constexpr (requires { net_.finalize; }) {
            return net_.connect(nullptr, 0, handle.data(), comm, &device_comm);
        } else if constexpr (requires { net_.make_device; }) {
            return net_.connect(0, nullptr, handle.data(), comm, &device_comm);
        } else {
            return net_.connect(0, handle.data(), comm, &device_comm);
        }
    }

    void* send(void* comm, void* data, std::size_t bytes, int tag, void* region) const {
        void* request = nullptr;
        if constexpr (requires { net_.make_device; }) {
            check(net_.send(comm, data, bytes, tag, region, nullptr, &request), "send");
        } else {
            check(net_.send(comm, data, static_cast<int>(bytes), tag, region, &request), "send");
        }
        return request;
    }

    void* receive(void* comm, std::vector<void*> data, std::vector<std::size_t> bytes,
                  std::vector<int> tags, void* region) const {
        void* request = nullptr;
        const int count = static_cast<int>(data.size());
        std::vector<void*> regions(data.size(), region);
        if constexpr (requires { net_.make_device; }) {
            check(net_.receive(comm, count, data.data(), bytes.data(), tags.data(), regions.data(),
                               nullptr, &request),
                  "receive");
        } else {
            std::vector<int> narrow(bytes.begin(), bytes.end());
            check(net_.receive(comm, count, data.data(), narrow.data(), tags.data(), regions.data(),
                               &request),
                  "receive");
        }
        return request;
    }

    Result all_reduce(void* comm, void* from, void* to, std::size_t count, int type, int op,
                      void* region, void** request) const {
        if constexpr (requires { coll_.make_device; }) {
            return coll_.all_reduce(comm, from, to, count, type, op, region, region, request);
        } else {
            return coll_.all_reduce(comm, from, to, static_cast<int>(count), type, op, region,
                                    region, request);
        }
    }

  private:
    static void* look_up(void* library, const std::string& name) {
        void* const table = dlsym(library, name.c_str());
        require(table != nullptr, "no " + name);
        return table;
    }
    template <typename Argument>
    static Argument properties_argument(Result (*)(int, Argument));

    const NetTable& net_;
    const CollNetTable& coll_;
};

/// Returns element i of what a rank sends.
char letter(int rank, std::size_t i) {
    return static_cast<char>(rank * 31 + static_cast<int>(i % 251));
}

template <typename Table>
bool is_done(const Table& table, void* request, int* bytes) {
    int done = 0;
    check(table.test(request, &done, bytes), "test");
    if (done == 0) {
        sched_yield();  // There may be more ranks than processors.
    }
    return done != 0;
}

/// A connection to the next rank and one from the rank before.
template <typename P>
class RingOfMessages {
  public:
    explicit RingOfMessages(const P& plugin) : plugin_(plugin), net_(plugin.net()) {
        HandleBytes handle(kHandleBytes);
        void* const listener = plugin.listen(net_, handle);
        publish("net", handle);
        HandleBytes next = fetch("net", (my_rank + 1) % all_ranks);
        void* device_comm = nullptr;
        while (send_ == nullptr || receive_ == nullptr) {
            if (send_ == nullptr) {
                check(plugin.connect(next, &send_), "connect");
            }
            if (receive_ == nullptr) {
                check(net_.accept(listener, &receive_, &device_comm), "accept");
            }
        }
        check(net_.close_listen(listener), "close listen");
    }
    ~RingOfMessages() {
        check(net_.close_send(send_), "close send");
        check(net_.close_receive(receive_), "close receive");
    }

    /// Sends `count` messages at a time, received in one call if `grouped`; their tags are in
    /// another order.
    void exchange(int count, std::size_t bytes, bool grouped) {
        const auto messages = static_cast<std::size_t>(count);
        const std::size_t room = bytes + 16;
        std::vector<char> out(messages * bytes + 1);
        std::vector<char> in(messages * room);
        void* out_region = nullptr;
        void* in_region = nullptr;
        check(net_.register_memory(send_, out.data(), out.size(), kPointerHost, &out_region),
              "register");
        check(net_.register_memory(receive_, in.data(), in.size(), kPointerHost, &in_region),
              "register");
        std::vector<void*> wanted;
        std::vector<int> tags;
        for (int i = 0; i < count; ++i) {
            wanted.push_back(in.data() + static_cast<std::size_t>(i) * room);
            tags.push_back(100 + i);
        }
        const std::vector<std::size_t> rooms(messages, room);
        std::vector<void*> received;
        if (grouped) {
            received.push_back(plugin_.receive(receive_, wanted, rooms, tags, in_region));
        } else {
            for (std::size_t i = 0; i < messages; ++i) {
                received.push_back(
                    plugin_.receive(receive_, {wanted[i]}, {room}, {tags[i]}, in_region));
            }
        }
        std::vector<void*> sent;
        for (int i = 0; i < count; ++i) {
            const int which = grouped ? count - 1 - i : i;
            char* const from = out.data() + static_cast<std::size_t>(which) * bytes;
            for (std::size_t at = 0; at < bytes; ++at) {
                from[at] = letter(my_rank + which, at);
            }
            void* request = nullptr;
            while (request == nullptr) {
                request = plugin_.send(send_, from, bytes, 100 + which, out_region);
            }
            sent.push_back(request);
        }
        for (void* const request : sent) {
            int told = -1;
            while (!is_done(net_, request, &told)) {
            }
            require(told == static_cast<int>(bytes), "bytes sent");
        }
        std::vector<int> told(messages, -1);
        for (std::size_t i = 0; i < received.size(); ++i) {
            require(received[i] != nullptr, "a receive was not taken");
            while (!is_done(net_, received[i], &told[i])) {
            }
        }
        const int before = (my_rank + all_ranks - 1) % all_ranks;
        for (int i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            require(told[at] == static_cast<int>(bytes), "bytes received");
            for (std::size_t j = 0; j < bytes; ++j) {
                require(in[at * room + j] == letter(before + i, j), "a byte is wrong");
            }
            for (std::size_t j = bytes; j < room; ++j) {
                require(in[at * room + j] == 0, "a byte behind the message was written");
            }
        }
        check(net_.deregister(send_, out_region), "deregister");
        check(net_.deregister(receive_, in_region), "deregister");
    }

  private:
    const P& plugin_;
    decltype(plugin_.net()) net_;
    void* send_ = nullptr;
    void* receive_ = nullptr;
};

template <typename P>
void try_messages(const P& plugin) {
    RingOfMessages<P> ring(plugin);
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{4096}, (std::size_t{1} << 20) + 3}) {
        ring.exchange(1, bytes, false);
        ring.exchange(5, bytes, true);
        ring.exchange(kReceivesMax, bytes, true);
    }
    // Enough messages to go round the FIFO several times.
    for (int round = 0; round < 40; ++round) {
        ring.exchange(20, 512, false);
    }
}

std::uint64_t encode(int type, std::uint64_t value) {
    const auto number = static_cast<float>(value);
    std::uint64_t bits = value;
    const double wide = number;
    switch (type) {
        case kFloat16:
            return softib::sharp::to_f16(number);
        case kBfloat16:
            return softib::sharp::to_bf16(number);
        case kFloat32:
            return std::bit_cast<std::uint32_t>(number);
        case kFloat64:
            std::memcpy(&bits, &wide, sizeof bits);
            return bits;
        default:
            return bits;
    }
}

constexpr std::size_t kTypeBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

/// Returns element i of a rank: small enough for all types; a product of eight is at most 256,
/// which wraps in 8 bits.
std::uint64_t number_of(int rank, std::size_t i, int op) {
    return (static_cast<std::size_t>(rank) + i) % (op == kProd ? 2 : 13) + 1;
}

std::uint64_t reduced(std::size_t i, int op) {
    std::uint64_t result = number_of(0, i, op);
    for (int rank = 1; rank < all_ranks; ++rank) {
        const std::uint64_t next = number_of(rank, i, op);
        result = op == kSum    ? result + next
                 : op == kProd ? result * next
                 : op == kMax  ? std::max(result, next)
                               : std::min(result, next);
    }
    return result;
}

void put(std::vector<char>& to, std::size_t i, int type, std::uint64_t value) {
    const std::uint64_t bits = encode(type, value);
    std::memcpy(to.data() + i * kTypeBytes[type], &bits, kTypeBytes[type]);
}

template <typename P>
class Switches {
  public:
    explicit Switches(const P& plugin) : plugin_(plugin), coll_(plugin.coll()) {
        HandleBytes handle(kHandleBytes);
        void* const listener = plugin.listen(coll_, handle);
        publish("coll", handle);
        std::vector<HandleBytes> all;
        std::vector<void*> handles;
        for (int rank = 0; rank < all_ranks; ++rank) {
            all.push_back(fetch("coll", rank));
        }
        for (HandleBytes& one : all) {
            handles.push_back(one.data());
        }
        check(coll_.connect(handles.data(), all_ranks, my_rank, listener, &comm_), "connect all");
        check(coll_.close_listen(listener), "close listen");
    }
    ~Switches() { check(coll_.close_collective(comm_), "close"); }

    Result wait(void* request) {
        int done = 0;
        int bytes = 0;
        Result result = kSuccess;
        while (done == 0 && result == kSuccess) {
            result = coll_.test(request, &done, &bytes);
            sched_yield();
        }
        return result;
    }

    void* enroll(Buffer& data) {
        void* region = nullptr;
        const int type = fake_gpu.allocate == nullptr ? kPointerHost : kPointerCuda;
        check(coll_.register_memory(comm_, data.at(), data.host.size(), type, &region), "register");
        return region;
    }
    void release(void* region) { check(coll_.deregister(comm_, region), "deregister"); }

    void try_all_reduce(int type, int op, std::size_t count) {
        int supported = 0;
        check(coll_.reduce_support(type, op, &supported), "reduce support");
        // Other plug-ins may not support products.
        require(supported == 1 || op == kProd, "a type and operation of NCCL's");
        if (supported == 0) {
            return;
        }
        // The first half has the data to send, the second the result.
        const std::size_t bytes = count * kTypeBytes[type];
        Buffer data(2 * bytes);
        for (std::size_t i = 0; i < count; ++i) {
            put(data.host, i, type, number_of(my_rank, i, op));
        }
        std::vector<char> wanted(bytes);
        for (std::size_t i = 0; i < count; ++i) {
            put(wanted, i, type, reduced(i, op));
        }
        data.upload();
        void* const region = enroll(data);
        void* request = nullptr;
        while (request == nullptr) {
            check(plugin_.all_reduce(comm_, data.at(), data.at(bytes), count, type, op, region,
                                     &request),
                  "all-reduce");
        }
        check(wait(request), "all-reduce");
        data.download();
        require(std::memcmp(data.host.data() + bytes, wanted.data(), bytes) == 0,
                "all-reduce of type " + std::to_string(type) + " by " + std::to_string(op));
        release(region);
    }

    /// Gathers and reduces in windows of the whole vector, as NCCL cuts it: slices of `slice`
    /// bytes, one for each rank. Passes the rank's own buffer from the first byte of its slice in
    /// the window on.
    void try_windows(std::size_t slice) {
        const auto ranks = static_cast<std::size_t>(all_ranks);
        const auto me = static_cast<std::size_t>(my_rank);
        const std::size_t whole = ranks * slice;
        Buffer mine(slice);
        Buffer all(whole);
        for (std::size_t i = 0; i < slice; ++i) {
            mine.host[i] = letter(my_rank, i);
        }
        mine.upload();
        all.upload();
        void* const mine_region = enroll(mine);
        void* const all_region = enroll(all);
        using PartOf = std::remove_pointer_t<decltype(part_argument(coll_.all_gather))>;
        const auto part_at = [&](std::size_t offset, std::size_t bytes) {
            return PartOf{all_region, all.at(offset), static_cast<decltype(PartOf::bytes)>(bytes)};
        };
        const auto mine_in = [&](std::size_t offset) {
            return mine.at(offset / slice == me ? offset % slice : 0);
        };
        const auto all_gather = [&](std::size_t offset, std::size_t bytes) {
            PartOf part = part_at(offset, bytes);
            void* request = nullptr;
            check(coll_.all_gather(comm_, mine_in(offset), 1, &part, slice, offset, bytes,
                                   mine_region, &request),
                  "all-gather");
            check(wait(request), "all-gather");
        };
        all_gather(0, whole / 3);
        all_gather(whole / 3, whole - whole / 3);
        all.download();
        for (std::size_t i = 0; i < whole; ++i) {
            require(all.host[i] == letter(static_cast<int>(i / slice), i % slice), "all-gather");
        }
        for (std::size_t i = 0; i < whole; ++i) {
            all.host[i] = static_cast<char>(number_of(my_rank, i, kSum));
        }
        all.upload();
        const auto reduce_scatter = [&](std::size_t offset, std::size_t bytes) {
            PartOf part = part_at(offset, bytes);
            void* request = nullptr;
            check(coll_.reduce_scatter(comm_, 1, &part, mine_in(offset), slice, offset, bytes,
                                       kUint8, kSum, mine_region, &request),
                  "reduce-scatter");
            check(wait(request), "reduce-scatter");
        };
        reduce_scatter(0, whole / 3);
        reduce_scatter(whole / 3, whole - whole / 3);
        mine.download();
        for (std::size_t i = 0; i < slice; ++i) {
            require(mine.host[i] == static_cast<char>(reduced(me * slice + i, kSum)),
                    "reduce-scatter");
        }
        release(mine_region);
        release(all_region);
    }

    int reduce_until_it_fails() {
        Buffer data(4096);
        void* const region = enroll(data);
        for (int round = 0;; ++round) {
            void* request = nullptr;
            Result result = plugin_.all_reduce(comm_, data.at(), data.at(), 1024, kInt32, kSum,
                                               region, &request);
            result = result == kSuccess && request != nullptr ? wait(request) : result;
            if (result != kSuccess) {
                std::printf("error %d\n", result);
                std::fflush(stdout);
                std::_Exit(3);
            }
            if (round == 0) {
                publish("runs", HandleBytes(1));
            }
        }
    }

  private:
    template <typename PartPointer>
    static PartPointer part_argument(Result (*)(void*, void*, int, PartPointer, std::size_t,
                                                std::size_t, std::size_t, void*, void**));

    const P& plugin_;
    decltype(plugin_.coll()) coll_;
    void* comm_ = nullptr;
};

template <typename P>
int use(const P& plugin, const std::string& mode) {
    if (mode == "wait") {
        return Switches<P>(plugin).reduce_until_it_fails();
    }
    if (mode == "gpu") {
        require(fake_gpu.load(), "no libcuda.so.1 that stands in for a GPU's");
    } else {
        try_messages(plugin);
    }
    if (mode == "messages") {
        std::printf("ok\n");
        return 0;
    }
    Switches<P> switches(plugin);
    int supported = 1;
    check(plugin.coll().reduce_support(10, kSum, &supported), "reduce support");
    require(supported == 0, "floats of 8 bits are not reduced");
    for (int type = kInt8; type <= kBfloat16; ++type) {
        for (int op = kSum; op <= kMin; ++op) {
            switches.try_all_reduce(type, op, 1);
            switches.try_all_reduce(type, op, 3001);
        }
    }
    switches.try_all_reduce(kFloat32, kSum, 600001);
    switches.try_windows(3000);
    switches.try_windows(100001);
    std::printf("ok\n");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) {
        std::fprintf(stderr,
                     "usage: nccl_rank PLUGIN VERSION FOLDER RANK SIZE [messages|gpu|wait]\n");
        return 64;
    }
    const std::string version = argv[2];
    meeting_folder = argv[3];
    my_rank = std::atoi(argv[4]);
    all_ranks = std::atoi(argv[5]);
    void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    require(library != nullptr, library == nullptr ? dlerror() : "");
    const std::string mode = argc > 6 ? argv[6] : "";
    if (version == "8") {
        return use(Plugin<NetV8, CollNetV8>(library, version), mode);
    }
    if (version == "10") {
        return use(Plugin<NetV10, CollNetV10>(library, version), mode);
    }
    return use(Plugin<NetV11, CollNetV11>(library, version), mode);
}
