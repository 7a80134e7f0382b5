// SPDX-License-Identifier: BSD-2-Clause
// Functions of librdmacm releases that are newer than the headers that we may be built with, so
// that programs built for those releases start. The asm labels are the exported names. Lookups of
// services, and events that a program writes itself, are not supported.
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstdint>

extern "C" {

int softib_rdma_resolve_addrinfo(rdma_cm_id*, const char*, const char*,
                                 const rdma_addrinfo*) __asm__("rdma_resolve_addrinfo");
int softib_rdma_query_addrinfo(rdma_cm_id*, rdma_addrinfo**) __asm__("rdma_query_addrinfo");
int softib_rdma_write_cm_event(rdma_cm_id*, rdma_cm_event_type, int,
                               std::uint64_t) __asm__("rdma_write_cm_event");
int softib_repoll_create(int, int) __asm__("repoll_create");
int softib_repoll_ctl(int, int, int, void*) __asm__("repoll_ctl");
int softib_repoll_wait(int, void*, int, int) __asm__("repoll_wait");

static int unsupported() {
    errno = ENOSYS;
    return -1;
}

int softib_rdma_resolve_addrinfo(rdma_cm_id*, const char*, const char*, const rdma_addrinfo*) {
    return unsupported();
}
int softib_rdma_query_addrinfo(rdma_cm_id*, rdma_addrinfo**) {
    return unsupported();
}
int softib_rdma_write_cm_event(rdma_cm_id*, rdma_cm_event_type, int, std::uint64_t) {
    return unsupported();
}
int softib_repoll_create(int, int) {
    return unsupported();
}
int softib_repoll_ctl(int, int, int, void*) {
    return unsupported();
}
int softib_repoll_wait(int, void*, int, int) {
    return unsupported();
}

}  // extern "C"
