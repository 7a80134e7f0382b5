// SPDX-License-Identifier: BSD-2-Clause
//
// The name of the virtual host ($SOFTIB_HOSTNAME), and the addresses of the fabric's hosts by name.
// Programs tell machines apart by their names, and look up the address of their own: each name
// gives an address of this machine that no other virtual host has.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "abi/sysfs/ask_daemon.h"
#include "abi/sysfs/next.h"
#include "abi/sysfs/redirect.h"

namespace softib::sysfs {

namespace {

constexpr std::size_t kNameMax = 64;  ///< The longest name of a host, as in Linux.
constexpr std::size_t kAddressMax = INET6_ADDRSTRLEN;
constexpr char kLoopback[] = "127.0.0.1";

using GetHostByNameR = int(const char*, hostent*, char*, size_t, hostent**, int*);
using GetHostByName2R = int(const char*, int, hostent*, char*, size_t, hostent**, int*);

constinit Next<int(char*, size_t)> next_gethostname{"gethostname"};
constinit Next<int(utsname*)> next_uname{"uname"};
constinit Next<int(const char*, const char*, const addrinfo*, addrinfo**)> next_getaddrinfo{
    "getaddrinfo"};
constinit Next<hostent*(const char*)> next_gethostbyname{"gethostbyname"};
constinit Next<hostent*(const char*, int)> next_gethostbyname2{"gethostbyname2"};
constinit Next<GetHostByNameR> next_gethostbyname_r{"gethostbyname_r"};
constinit Next<GetHostByName2R> next_gethostbyname2_r{"gethostbyname2_r"};

/// Looks up early what signal handlers and forked children may call.
__attribute__((constructor)) void find_early() {
    next_uname.get();
    next_gethostname.get();
}

int gethostname_common(char* to, size_t size) {
    const std::string_view name = settings().hostname;
    if (name.empty() || to == nullptr) {
        return next_gethostname(to, size);
    }
    std::memcpy(to, name.data(), std::min(name.size() + 1, size));
    if (name.size() >= size) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return 0;
}

/// Returns whether a text may be the name of a host. The daemon is not asked about numbers, nor
/// about names with other characters.
bool may_be_host(std::string_view name) {
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    const auto fits = [&](char c) {
        return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
    };
    return !name.empty() && name.size() <= kNameMax && name != "localhost" &&
           std::ranges::all_of(name, fits) && std::ranges::any_of(name, is_letter);
}

/// Writes the address of a host of the fabric as text. Returns false if no host has this name.
__attribute__((noinline)) bool find_host(const char* asked, char (&address)[kAddressMax]) {
    const std::string_view own = settings().hostname;
    const std::string_view name = asked != nullptr ? asked : "";
    if (own.empty() || !may_be_host(name)) {
        return false;
    }
    const int saved_errno = errno;
    shm::Message message;
    shm::request::FindHost::Reply reply;
    const bool found = ask_daemon(shm::request::FindHost{.name = name}, message, reply) &&
                       !reply.address.empty() && reply.address.size() < sizeof address;
    errno = saved_errno;
    if (found) {
        std::memcpy(address, reply.address.data(), reply.address.size());
        address[reply.address.size()] = '\0';
        return true;
    }
    // The program's own name must have an address, even if the daemon does not answer.
    std::memcpy(address, kLoopback, sizeof kLoopback);
    return name == own;
}

/// Replaces the canonical name in a result by the name that the program asked for: the C library
/// was asked for an address.
void show_name(addrinfo* first, const char* name) {
    if (first->ai_canonname == nullptr) {
        return;
    }
    if (char* const copy = strdup(name); copy != nullptr) {
        std::free(first->ai_canonname);
        first->ai_canonname = copy;
    }
}

/// Replaces the name in a hostent by the name that the program asked for, which is copied to
/// `room`.
void show_name(hostent* entry, char* room, const char* name) {
    if (entry != nullptr) {
        entry->h_name = std::strcpy(room, name);
    }
}

/// The name that gethostbyname() and gethostbyname2() have returned; valid until their next call.
constinit char shown_name[kNameMax + 1]{};

}  // namespace

extern "C" {

int fs_gethostname(char* to, size_t size) SOFTIB_FS_EXPORT("gethostname");
int fs_gethostname_chk(char* to, size_t size, size_t room) SOFTIB_FS_EXPORT("__gethostname_chk");
int fs_uname(utsname* to) SOFTIB_FS_EXPORT("uname");
int fs_getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** result)
    SOFTIB_FS_EXPORT("getaddrinfo");
hostent* fs_gethostbyname(const char* name) SOFTIB_FS_EXPORT("gethostbyname");
hostent* fs_gethostbyname2(const char* name, int family) SOFTIB_FS_EXPORT("gethostbyname2");
int fs_gethostbyname_r(const char* name, hostent* entry, char* buffer, size_t bytes,
                       hostent** result, int* error) SOFTIB_FS_EXPORT("gethostbyname_r");
int fs_gethostbyname2_r(const char* name, int family, hostent* entry, char* buffer, size_t bytes,
                        hostent** result, int* error) SOFTIB_FS_EXPORT("gethostbyname2_r");

int fs_gethostname(char* to, size_t size) {
    return gethostname_common(to, size);
}

int fs_gethostname_chk(char* to, size_t size, size_t room) {
    if (room < size) {
        std::abort();
    }
    return gethostname_common(to, size);
}

int fs_uname(utsname* to) {
    const int rc = next_uname(to);
    const std::string_view name = settings().hostname;
    if (rc == 0 && !name.empty() && name.size() < sizeof to->nodename) {
        std::memset(to->nodename, 0, sizeof to->nodename);
        std::memcpy(to->nodename, name.data(), name.size());
    }
    return rc;
}

int fs_getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                   addrinfo** result) {
    char address[kAddressMax];
    const bool numeric = hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0;
    if (numeric || !find_host(node, address)) {
        return next_getaddrinfo(node, service, hints, result);
    }
    const int rc = next_getaddrinfo(address, service, hints, result);
    if (rc == 0) {
        show_name(*result, node);
    }
    return rc;
}

hostent* fs_gethostbyname(const char* name) {
    char address[kAddressMax];
    if (!find_host(name, address)) {
        return next_gethostbyname(name);
    }
    hostent* const entry = next_gethostbyname(address);
    show_name(entry, shown_name, name);
    return entry;
}

hostent* fs_gethostbyname2(const char* name, int family) {
    char address[kAddressMax];
    if (!find_host(name, address)) {
        return next_gethostbyname2(name, family);
    }
    hostent* const entry = next_gethostbyname2(address, family);
    show_name(entry, shown_name, name);
    return entry;
}

int fs_gethostbyname_r(const char* name, hostent* entry, char* buffer, size_t bytes,
                       hostent** result, int* error) {
    char address[kAddressMax];
    const std::size_t kept = name != nullptr ? std::strlen(name) + 1 : 0;
    if (kept > bytes || !find_host(name, address)) {
        return next_gethostbyname_r(name, entry, buffer, bytes, result, error);
    }
    // The name goes into the last bytes of the buffer; the C library gets the rest.
    const int rc = next_gethostbyname_r(address, entry, buffer, bytes - kept, result, error);
    show_name(*result, buffer + bytes - kept, name);
    return rc;
}

int fs_gethostbyname2_r(const char* name, int family, hostent* entry, char* buffer, size_t bytes,
                        hostent** result, int* error) {
    char address[kAddressMax];
    const std::size_t kept = name != nullptr ? std::strlen(name) + 1 : 0;
    if (kept > bytes || !find_host(name, address)) {
        return next_gethostbyname2_r(name, family, entry, buffer, bytes, result, error);
    }
    const int rc =
        next_gethostbyname2_r(address, family, entry, buffer, bytes - kept, result, error);
    show_name(*result, buffer + bytes - kept, name);
    return rc;
}

}  // extern "C"

}  // namespace softib::sysfs
