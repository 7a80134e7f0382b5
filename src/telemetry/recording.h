// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A recording of a simulation, in a file that grows while the simulation runs: the inventory of its
// fabric, and a reading for every step of virtual time. A reading has the ports whose counters or
// state changed.
//
// The file begins with kRecordingMagic. Then come frames: the kind, the length (32 bits each), and
// that many bytes. All numbers are little-endian. A reader ignores a frame that is not whole yet.

#include <cstdint>
#include <cstdio>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/source.h"

namespace softib::telemetry {

inline constexpr char kRecordingMagic[] = "softib recording 1\n";

enum class FrameKind : std::uint32_t { kInventory = 1, kSample = 2, kEnd = 3 };

/// Writes a recording. Thread rule: one thread.
class RecordingWriter {
  public:
    /// Makes the file and writes the inventory. The error says what cannot be written.
    static std::expected<RecordingWriter, std::string> create(const std::string& path,
                                                              const Inventory& inventory);

    /// Adds a reading: the counters and states of all ports at a virtual time, which must be later
    /// than that of the last call.
    std::expected<void, std::string> add(std::uint64_t time_ns,
                                         const std::vector<PortCounts>& counts,
                                         const std::vector<PortState>& states);
    /// Marks the recording as complete.
    std::expected<void, std::string> finish();

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    RecordingWriter(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
    std::expected<void, std::string> write(FrameKind kind, const std::string& bytes);

    std::unique_ptr<std::FILE, Close> file_;
    std::string path_;
    std::vector<PortCounts> counts_;
    std::vector<PortState> states_;
};

/// Reads a recording that is being written, or is finished, one reading after the other.
class RecordingSource final : public Source {
  public:
    explicit RecordingSource(std::string path);
    ~RecordingSource() override;

    /// Returns the next reading; the last one again while there is no other.
    std::expected<Reading, std::string> read() override;
    std::expected<void, std::string> check() override;
    std::string name() const override;
    Pace pace() const override { return Pace::kRecorded; }
    bool has_more() const override { return more_; }

  private:
    struct Frame {
        FrameKind kind;
        std::string bytes;
    };
    std::expected<void, std::string> open_file();
    std::expected<std::optional<Frame>, std::string> next_frame();
    bool take_inventory(const std::string& bytes);
    bool take_sample(const std::string& bytes);
    std::unexpected<std::string> damaged() const;

    std::string path_;
    int fd_ = -1;
    std::uint64_t at_ = 0;  ///< Number of bytes that were read.
    bool more_ = false;
    std::uint64_t begin_s_ = 0;  ///< When this object was made, in seconds since 1970.
    std::uint64_t samples_ = 0;
    std::shared_ptr<const Inventory> inventory_;
    Sample last_;
};

}  // namespace softib::telemetry
