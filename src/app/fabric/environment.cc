// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/environment.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>

namespace softib::app {

namespace {

constexpr char kPreloadName[] = "libsoftib_fs.so";
/// The file in the folder of the libraries that names a sanitizer's run-time library, which must be
/// loaded before all else. It is there only if the libraries were built with a sanitizer.
constexpr char kFirstLibraryFile[] = "first_library";
constexpr char kSocketsName[] = "rsocket/librspreload.so";
constexpr char kVerbsName[] = "libibverbs.so.1";
constexpr char kEnforceMemlock[] = "SOFTIB_ENFORCE_MEMLOCK";
constexpr char kPathDefault[] = "/usr/local/bin:/usr/bin:/bin";  // For a caller without PATH.
constexpr std::array kAdminDirs{"/usr/sbin", "/sbin"};

std::string inherited(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

// The characters that end an entry of the loader's lists (ld.so(8)).
constexpr char kPreloadSeparators[] = ": ";
constexpr char kLibraryPathSeparators[] = ":;";

/// Returns whether two paths lead to the same file: a fabric may have a link to our libraries.
bool same_file(std::string_view entry, const std::string& path) {
    std::error_code unknown;
    return entry == path || std::filesystem::equivalent(entry, path, unknown);
}

/// Returns a list of the loader's (LD_PRELOAD, LD_LIBRARY_PATH) without `path`.
std::string without(std::string_view list, const std::string& path, const char* separators) {
    std::string rest;
    while (!list.empty()) {
        const std::size_t cut = list.find_first_of(separators);
        const std::string_view item = list.substr(0, cut);
        if (!item.empty() && !same_file(item, path)) {
            rest += rest.empty() ? "" : ":";
            rest += item;
        }
        list.remove_prefix(cut == std::string_view::npos ? list.size() : cut + 1);
    }
    return rest;
}

std::string put_first(const std::string& path, const std::string& list, const char* separators) {
    const std::string rest = without(list, path, separators);
    return rest.empty() ? path : path + ":" + rest;
}

/// Returns the caller's PATH with our programs first, and with the sbin directories last if they
/// are not in it: Debian has ibnetdiscover, ibstat and opensm there, but not in the PATH of a plain
/// user. Unlike the loader's lists, PATH may have spaces.
std::string search_path(const std::string& own, const std::string& inherited_path) {
    std::string path = inherited_path.empty() ? kPathDefault : inherited_path;
    const auto has = [&](const std::string& entry) {
        return (":" + path + ":").find(":" + entry + ":") != std::string::npos;
    };
    if (!has(own)) {
        path = own + ":" + path;
    }
    for (const char* const entry : kAdminDirs) {
        if (!has(entry)) {
            path += std::string(":") + entry;
        }
    }
    return path;
}

bool exists(const std::string& path) {
    return access(path.c_str(), F_OK) == 0;
}

std::string preload_list(const HostEnvironment& wanted) {
    const auto add = [](const std::string& path, const std::string& list) {
        return put_first(path, list, kPreloadSeparators);
    };
    std::string list = inherited("LD_PRELOAD");
    if (wanted.rsockets) {
        list = add(wanted.libraries + "/" + kSocketsName, list);
    }
    const std::string files = wanted.libraries + "/" + kPreloadName;
    if (!wanted.preload) {
        return without(list, files, kPreloadSeparators);
    }
    if (exists(files)) {
        list = add(files, list);
    }
    std::ifstream told(wanted.libraries + "/" + kFirstLibraryFile);
    if (std::string first; std::getline(told, first)) {
        list = add(first, list);
    }
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

std::expected<std::string, std::string> loadable_library_dir(const std::string& link_dir) {
    constexpr char kSeparators[] = " :;";
    const std::string dir = library_dir();
    if (dir.find_first_of(kSeparators) == std::string::npos) {
        return dir;
    }
    // There is one link for each installation of softib that runs programs on the fabric.
    const std::string link = fmt::format("{}/.lib-{:x}", link_dir, std::hash<std::string>{}(dir));
    if (link.find_first_of(kSeparators) != std::string::npos) {
        return std::unexpected(fmt::format(
            "the loader takes no path with a space, colon or semicolon, and there is one "
            "both in {} and in {}; set SOFTIB_RUNTIME_DIR to a directory without",
            dir, link_dir));
    }
    if (symlink(dir.c_str(), link.c_str()) != 0 && errno != EEXIST) {
        return std::unexpected(fmt::format("cannot make {}: {}", link, std::strerror(errno)));
    }
    return link;
}

std::string hostname_of(const HostEnvironment& wanted) {
    return wanted.host.substr(0, wanted.host.find(','));
}

std::vector<std::pair<std::string, std::string>> host_variables(const HostEnvironment& wanted) {
    std::vector<std::pair<std::string, std::string>> variables{
        {"SOFTIB_FABRIC", wanted.fabric.name},
        {"SOFTIB_DIR", wanted.fabric.dir},
        {"SOFTIB_HOST", wanted.host},
        {"SOFTIB_SYSROOT", wanted.preload ? wanted.sysroot : std::string()},
        {"SOFTIB_HOSTNAME",
         wanted.preload && !wanted.real_hostname ? hostname_of(wanted) : std::string()},
        {"LD_LIBRARY_PATH",
         put_first(wanted.libraries, inherited("LD_LIBRARY_PATH"), kLibraryPathSeparators)},
        {"NCCL_IBVERBS_LIB", wanted.libraries + "/" + kVerbsName},
        {"PATH", search_path(wanted.programs, inherited("PATH"))},
    };
    // Shells take HOSTNAME for the machine's name if it is set.
    if (!wanted.real_hostname && !inherited("HOSTNAME").empty()) {
        variables.emplace_back("HOSTNAME", hostname_of(wanted));
    }
    // NCCL 2.28.9 looks for HCAs that a GPU can drive by itself, and crashes if there are none. Its
    // proxy (2) does not need them.
    if (inherited("NCCL_GIN_TYPE").empty()) {
        variables.emplace_back("NCCL_GIN_TYPE", "2");
    }
    variables.emplace_back("LD_PRELOAD", preload_list(wanted));
    if (wanted.enforce_memlock) {
        variables.emplace_back(kEnforceMemlock, "1");
    }
    return variables;
}

void lift_memlock(const HostEnvironment& wanted) {
    rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
    if (wanted.enforce_memlock || !inherited(kEnforceMemlock).empty() ||
        setrlimit(RLIMIT_MEMLOCK, &limit) == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
        return;
    }
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_MEMLOCK, &limit);
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
    std::string list = inherited("LD_PRELOAD");
    for (const char* const name : {kPreloadName, kSocketsName}) {
        list = without(list, library_dir() + "/" + name, kPreloadSeparators);
    }
    set_variable(environment, "LD_PRELOAD", list);
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
