// SPDX-License-Identifier: BSD-2-Clause
// Sockets over RDMA: none yet. Programs that link the library for something else find the names;
// what is asked of ordinary descriptors goes to the system.
#include <poll.h>
#include <rdma/rsocket.h>
#include <sys/select.h>

#include <cerrno>

namespace {

int unsupported() {
    errno = ENOSYS;
    return -1;
}

}  // namespace

extern "C" {

int rsocket(int, int, int) {
    return unsupported();
}
int rbind(int, const sockaddr*, socklen_t) {
    return unsupported();
}
int rlisten(int, int) {
    return unsupported();
}
int raccept(int, sockaddr*, socklen_t*) {
    return unsupported();
}
int rconnect(int, const sockaddr*, socklen_t) {
    return unsupported();
}
int rshutdown(int, int) {
    return unsupported();
}
int rclose(int) {
    return unsupported();
}
ssize_t rrecv(int, void*, size_t, int) {
    return unsupported();
}
ssize_t rrecvfrom(int, void*, size_t, int, sockaddr*, socklen_t*) {
    return unsupported();
}
ssize_t rrecvmsg(int, msghdr*, int) {
    return unsupported();
}
ssize_t rsend(int, const void*, size_t, int) {
    return unsupported();
}
ssize_t rsendto(int, const void*, size_t, int, const sockaddr*, socklen_t) {
    return unsupported();
}
ssize_t rsendmsg(int, const msghdr*, int) {
    return unsupported();
}
ssize_t rread(int, void*, size_t) {
    return unsupported();
}
ssize_t rreadv(int, const iovec*, int) {
    return unsupported();
}
ssize_t rwrite(int, const void*, size_t) {
    return unsupported();
}
ssize_t rwritev(int, const iovec*, int) {
    return unsupported();
}
int rgetpeername(int, sockaddr*, socklen_t*) {
    return unsupported();
}
int rgetsockname(int, sockaddr*, socklen_t*) {
    return unsupported();
}
int rsetsockopt(int, int, int, const void*, socklen_t) {
    return unsupported();
}
int rgetsockopt(int, int, int, void*, socklen_t*) {
    return unsupported();
}
int rfcntl(int, int, ...) {
    return unsupported();
}
off_t riomap(int, void*, size_t, int, int, off_t) {
    return unsupported();
}
int riounmap(int, void*, size_t) {
    return unsupported();
}
size_t riowrite(int, const void*, size_t, off_t, int) {
    return static_cast<size_t>(unsupported());
}

int rpoll(pollfd* fds, nfds_t nfds, int timeout) {
    return poll(fds, nfds, timeout);
}

int rselect(int nfds, fd_set* readfds, fd_set* writefds, fd_set* exceptfds, timeval* timeout) {
    return select(nfds, readfds, writefds, exceptfds, timeout);
}

}  // extern "C"
