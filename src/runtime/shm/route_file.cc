// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/route_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <type_traits>

namespace softib::shm {

namespace {

using routing::SlMap;
using routing::SlToVl;

class Writer {
  public:
    template <typename T>
        requires std::is_trivially_copyable_v<T>
    void list(std::span<const T> items) {
        const std::uint64_t bytes = items.size_bytes();
        append(&bytes, sizeof bytes);
        append(items.data(), items.size_bytes());
    }
    void append(const void* from, std::size_t bytes) {
        const auto* const first = static_cast<const char*>(from);
        bytes_.insert(bytes_.end(), first, first + bytes);
    }
    std::span<const char> bytes() const { return bytes_; }

  private:
    std::vector<char> bytes_;
};

class Reader {
  public:
    explicit Reader(std::span<const char> bytes) : left_(bytes) {}

    template <typename T>
        requires std::is_trivially_copyable_v<T>
    std::vector<T> list() {
        std::uint64_t bytes = 0;
        if (!take(&bytes, sizeof bytes) || bytes > left_.size() || bytes % sizeof(T) != 0) {
            good_ = false;
            return {};
        }
        std::vector<T> items(bytes / sizeof(T));
        take(items.data(), bytes);
        return items;
    }
    bool good() const { return good_; }

  private:
    bool take(void* to, std::size_t bytes) {
        if (!good_ || bytes > left_.size()) {
            good_ = false;
            return false;
        }
        if (bytes != 0) {
            std::memcpy(to, left_.data(), bytes);
        }
        left_ = left_.subspan(bytes);
        return true;
    }

    std::span<const char> left_;
    bool good_ = true;
};

/// Cuts `row_of` into the tables of the file. Returns false if an index is out of range.
bool cut_tables(const std::vector<std::uint32_t>& ports, std::span<const std::uint16_t> row_of,
                RouteFile& file) {
    for (const std::uint32_t n : ports) {
        const std::size_t count = std::size_t{n} * n;
        if (n > 256 || count > row_of.size()) {
            return false;
        }
        file.tables.push_back(
            {n, {row_of.begin(), row_of.begin() + static_cast<std::ptrdiff_t>(count)}});
        row_of = row_of.subspan(count);
    }
    const auto exists = [](std::size_t count) {
        return [count](std::size_t number) { return number < count; };
    };
    return row_of.empty() && std::ranges::all_of(file.tables_of, exists(file.tables.size())) &&
           std::ranges::all_of(file.tables, [&](const SlToVl::PortTables& tables) {
               return std::ranges::all_of(tables.row_of, exists(file.rows.size()));
           });
}

std::expected<std::vector<char>, std::string> read_all(int fd) {
    struct stat st{};
    if (fstat(fd, &st) != 0) {
        return std::unexpected(std::strerror(errno));
    }
    std::vector<char> bytes(static_cast<std::size_t>(st.st_size));
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t n =
            pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return std::unexpected(n == 0 ? "softibd sent less than it announced"
                                          : std::strerror(errno));
        }
        done += n < 0 ? 0 : static_cast<std::size_t>(n);
    }
    return bytes;
}

}  // namespace

int write_routes(const RouteFile& routes) {
    Writer writer;
    writer.list(std::span(routes.engine));
    std::vector<std::uint8_t> sls;
    if (!routes.sls.uniform()) {
        const auto count = static_cast<std::uint32_t>(routes.tables_of.size());
        sls.reserve(std::size_t{count} * count);
        for (std::uint32_t a = 0; a < count; ++a) {
            for (std::uint32_t b = 0; b < count; ++b) {
                sls.push_back(routes.sls.at(a, b));
            }
        }
    }
    writer.list(std::span<const std::uint8_t>(sls));
    writer.list(std::span(routes.rows));
    writer.list(std::span(routes.tables_of));
    writer.list(std::span(routes.multicast));
    std::vector<std::uint32_t> ports;
    std::vector<std::uint16_t> row_of;
    for (const SlToVl::PortTables& tables : routes.tables) {
        ports.push_back(tables.ports);
        row_of.insert(row_of.end(), tables.row_of.begin(), tables.row_of.end());
    }
    writer.list(std::span<const std::uint32_t>(ports));
    writer.list(std::span<const std::uint16_t>(row_of));
    const int fd = memfd_create("softib-routes", MFD_CLOEXEC);
    std::span<const char> left = writer.bytes();
    while (fd >= 0 && !left.empty()) {
        const ssize_t n = write(fd, left.data(), left.size());
        if (n < 0 && errno != EINTR) {
            const int error = errno;
            close(fd);
            errno = error;
            return -1;
        }
        left = left.subspan(n < 0 ? 0 : static_cast<std::size_t>(n));
    }
    return fd;
}

std::expected<RouteFile, std::string> read_routes(int fd) {
    const auto bytes = read_all(fd);
    if (!bytes) {
        return std::unexpected(bytes.error());
    }
    Reader reader(*bytes);
    RouteFile file;
    const auto engine = reader.list<char>();
    file.engine.assign(engine.begin(), engine.end());
    const auto sls = reader.list<std::uint8_t>();
    file.rows = reader.list<SlToVl::Row>();
    file.tables_of = reader.list<std::uint32_t>();
    file.multicast = reader.list<RouteFile::Multicast>();
    const auto ports = reader.list<std::uint32_t>();
    const auto row_of = reader.list<std::uint16_t>();
    const std::size_t count = file.tables_of.size();
    if (!reader.good() || !cut_tables(ports, row_of, file) ||
        (!sls.empty() && sls.size() != count * count) ||
        std::ranges::any_of(sls, [](std::uint8_t sl) { return sl >= routing::kSlCount; })) {
        return std::unexpected(
            "softibd wrote them in a form that this softib does not read: use one version of both");
    }
    if (!sls.empty()) {
        const auto switches = static_cast<std::uint32_t>(count);
        file.sls = SlMap::by_pair(switches);
        for (std::uint32_t a = 0; a < switches; ++a) {
            for (std::uint32_t b = 0; b < switches; ++b) {
                file.sls.set(a, b, sls[a * count + b], switches);
            }
        }
    }
    return file;
}

}  // namespace softib::shm
