// SPDX-License-Identifier: BSD-2-Clause
// Loads the library, makes it start its helper thread, gives the thread something to do, and
// unloads the library; again and again. Links no libibverbs.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

constexpr int kTimes = 10;

template <typename Fn>
Fn symbol(void* library, const char* name) {
    void* const at = dlsym(library, name);
    if (at == nullptr) {
        std::fprintf(stderr, "no %s: %s\n", name, dlerror());
        std::exit(1);
    }
    return reinterpret_cast<Fn>(at);
}

#define SYMBOL(name) const auto name##_ = symbol<decltype(&name)>(library, #name)

#define NEED(condition)                                       \
    do {                                                      \
        if (!(condition)) {                                   \
            std::fprintf(stderr, "failed: %s\n", #condition); \
            std::exit(1);                                     \
        }                                                     \
    } while (false)

/// Loads the library, posts a request to a queue pair that does not exist, and unloads the library.
/// Only the helper thread tries the request again, and gives up.
void load_and_leave() {
    void* const library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    NEED(library != nullptr);
    SYMBOL(ibv_get_device_list);
    SYMBOL(ibv_free_device_list);
    SYMBOL(ibv_open_device);
    SYMBOL(ibv_alloc_pd);
    SYMBOL(ibv_create_cq);
    SYMBOL(ibv_create_qp);
    SYMBOL(ibv_modify_qp);
    ibv_device** const list = ibv_get_device_list_(nullptr);
    NEED(list != nullptr && list[0] != nullptr);
    ibv_context* const context = ibv_open_device_(list[0]);
    ibv_free_device_list_(list);
    NEED(context != nullptr);
    ibv_pd* const pd = ibv_alloc_pd_(context);
    ibv_cq* const cq = ibv_create_cq_(context, 16, nullptr, nullptr, 0);
    NEED(pd != nullptr && cq != nullptr);
    ibv_qp_init_attr init{};
    init.send_cq = cq;
    init.recv_cq = cq;
    init.qp_type = IBV_QPT_RC;
    init.cap = {4, 4, 1, 1, 0};
    ibv_qp* const qp = ibv_create_qp_(pd, &init);
    NEED(qp != nullptr);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    NEED(ibv_modify_qp_(qp, &attr,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = 0x4711;
    attr.ah_attr.dlid = 2;
    attr.ah_attr.port_num = 1;
    attr.max_dest_rd_atomic = 1;
    NEED(ibv_modify_qp_(qp, &attr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 12;
    attr.retry_cnt = 3;
    NEED(ibv_modify_qp_(qp, &attr,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    NEED(context->ops.post_send(qp, &wr, &bad) == 0);
    NEED(dlclose(library) == 0);
}

}  // namespace

int main() {
    for (int i = 0; i < kTimes; ++i) {
        load_and_leave();
        // The helper thread works meanwhile; if its code were gone, the program would crash.
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::printf("unloaded %d times\n", kTimes);
    return 0;
}
