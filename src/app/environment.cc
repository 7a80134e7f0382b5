// SPDX-License-Identifier: BSD-2-Clause
#include "app/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace softib::app {

namespace {

constexpr char kPreloadName[] = "libsoftib_fs.so";
constexpr char kSocketsName[] = "rsocket/librspreload.so";
constexpr char kVerbsName[] = "libibverbs.so.1";

std::string inherited(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

/// Takes `entry` out of a list separated by colons (LD_PRELOAD also allows spaces).
std::string without(std::string_view list, std::string_view entry) {
    std::string rest;
    while (!list.empty()) {
        const std::size_t cut = list.find_first_of(": ");
        const std::string_view item = list.substr(0, cut);
        if (!item.empty() && item != entry) {
            rest += rest.empty() ? "" : ":";
            rest += item;
        }
        list.remove_prefix(cut == std::string_view::npos ? list.size() : cut + 1);
    }
    return rest;
}

std::string put_first(const std::string& entry, const std::string& list) {
    const std::string rest = without(list, entry);
    return rest.empty() ? entry : entry + ":" + rest;
}

std::string path_put_first(const std::string& entry, const std::string& list) {
    // Unlike the loader's lists, PATH may hold spaces; leave it alone if we are in it.
    const std::string framed = ":" + list + ":";
    return framed.find(":" + entry + ":") != std::string::npos ? list : entry + ":" + list;
}

bool exists(const std::string& path) {
    return access(path.c_str(), F_OK) == 0;
}

std::string preload_list(const HostEnvironment& wanted, const std::string& lib_dir) {
    std::string list = inherited("LD_PRELOAD");
    if (wanted.rsockets) {
        list = put_first(lib_dir + "/" + kSocketsName, list);
    }
    const std::string files = lib_dir + "/" + kPreloadName;
    if (!wanted.preload) {
        return without(list, files);
    }
    if (exists(files)) {
        list = put_first(files, list);
    }
#ifdef SOFTIB_SANITIZER_LIBRARY
    // A sanitizer's run-time must be the first library of all.
    list = put_first(SOFTIB_SANITIZER_LIBRARY, list);
#endif
    return list;
}

std::vector<std::string> inherited_environment() {
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        all.emplace_back(*entry);
    }
    return all;
}

void set_variable(std::vector<std::string>& environment, const std::string& name,
                  const std::string& value) {
    std::erase_if(environment,
                  [&](const std::string& entry) { return entry.starts_with(name + "="); });
    if (!value.empty()) {
        environment.push_back(name + "=" + value);
    }
}

}  // namespace

std::string own_bin_dir() {
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

std::string library_dir() {
    return (std::filesystem::path(own_bin_dir()) / SOFTIB_RELATIVE_LIBDIR)
        .lexically_normal()
        .string();
}

std::string hostname_of(const HostEnvironment& wanted) {
    return wanted.host.substr(0, wanted.host.find(','));
}

std::vector<std::pair<std::string, std::string>> host_variables(const HostEnvironment& wanted) {
    const std::string lib_dir = library_dir();
    std::vector<std::pair<std::string, std::string>> variables{
        {"SOFTIB_FABRIC", wanted.fabric.name},
        {"SOFTIB_DIR", wanted.fabric.dir},
        {"SOFTIB_HOST", wanted.host},
        {"SOFTIB_SYSROOT", wanted.preload ? wanted.sysroot : std::string()},
        {"SOFTIB_HOSTNAME",
         wanted.preload && !wanted.real_hostname ? hostname_of(wanted) : std::string()},
        {"LD_LIBRARY_PATH", put_first(lib_dir, inherited("LD_LIBRARY_PATH"))},
        {"NCCL_IBVERBS_LIB", lib_dir + "/" + kVerbsName},
        {"PATH", path_put_first(own_bin_dir(), inherited("PATH"))},
    };
    // Shells take it for the name where it is set.
    if (!wanted.real_hostname && !inherited("HOSTNAME").empty()) {
        variables.emplace_back("HOSTNAME", hostname_of(wanted));
    }
    // NCCL 2.28.9 asks for adapters that a GPU can drive by itself, and crashes where there are
    // none; its proxy (2) needs no such thing.
    if (inherited("NCCL_GIN_TYPE").empty()) {
        variables.emplace_back("NCCL_GIN_TYPE", "2");
    }
    variables.emplace_back("LD_PRELOAD", preload_list(wanted, lib_dir));
    return variables;
}

std::vector<std::string> host_environment(const HostEnvironment& wanted) {
    std::vector<std::string> environment = inherited_environment();
    for (const auto& [name, value] : host_variables(wanted)) {
        set_variable(environment, name, value);
    }
    return environment;
}

std::vector<std::string> daemon_environment() {
    std::vector<std::string> environment = inherited_environment();
    const std::string rest = without(inherited("LD_PRELOAD"), library_dir() + "/" + kPreloadName);
    set_variable(environment, "LD_PRELOAD", without(rest, library_dir() + "/" + kSocketsName));
    return environment;
}

std::string find_in_path(const std::string& program, const std::string& more) {
    const std::string places = inherited("PATH") + ":" + more;
    for (std::size_t begin = 0; begin <= places.size();) {
        const std::size_t end = std::min(places.find(':', begin), places.size());
        const std::string file = places.substr(begin, end - begin) + "/" + program;
        if (file.front() == '/' && access(file.c_str(), X_OK) == 0) {
            return file;
        }
        begin = end + 1;
    }
    return "";
}

std::vector<char*> to_argv(const std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    for (const std::string& string : strings) {
        pointers.push_back(const_cast<char*>(string.c_str()));
    }
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace softib::app
