// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a key acts in: which kinds of run, models, link layers and patterns of traffic. Every table
// of keys and options has a Serves in each row, and one loop (run/check.h) refuses by it what a
// user gave and what would change nothing.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "core/hca/vocabulary.h"
#include "net/model.h"
#include "plan/traffic.h"

namespace softib::spec {

struct Scenario;
struct TrafficWish;

enum class RunKind : std::uint8_t {
    kSingle,   ///< One simulation.
    kCompare,  ///< The same traffic on several networks.
    kWhatIf,   ///< The same traffic on the fabric as it is and on damaged ones.
    kSweep,    ///< One simulation for each combination of lists of values.
    kSharp,    ///< An all-reduce that switches compute.
};
inline constexpr std::array kAllKinds{RunKind::kSingle, RunKind::kCompare, RunKind::kWhatIf,
                                      RunKind::kSweep, RunKind::kSharp};
/// Returns the name of a kind: "compare".
std::string_view to_string(RunKind kind);
/// Returns what a kind is called in a sentence: "a comparison (compare)".
std::string_view described(RunKind kind);

/// A set of values of an enum.
template <typename Enum>
class EnumSet {
  public:
    constexpr EnumSet(std::initializer_list<Enum> values) {
        for (const Enum value : values) {
            bits_ |= bit(value);
        }
    }
    static constexpr EnumSet all() { return EnumSet(~std::uint32_t{0}); }
    static constexpr EnumSet but(std::initializer_list<Enum> values) {
        return EnumSet(~EnumSet(values).bits_);
    }
    constexpr bool has(Enum value) const { return (bits_ & bit(value)) != 0; }
    friend constexpr bool operator==(const EnumSet&, const EnumSet&) = default;

  private:
    explicit constexpr EnumSet(std::uint32_t bits) : bits_(bits) {}
    static constexpr std::uint32_t bit(Enum value) {
        return std::uint32_t{1} << static_cast<unsigned>(value);
    }

    std::uint32_t bits_ = 0;
};
using Kinds = EnumSet<RunKind>;
using Models = EnumSet<net::ModelKind>;
using Layers = EnumSet<hca::LinkLayer>;
using Patterns = EnumSet<plan::Pattern>;

struct Serves {
    Kinds kinds = Kinds::all();
    Models models = Models::all();
    Layers layers = Layers::all();
    Patterns patterns = Patterns::all();  ///< Keys of a traffic.
    /// What would act where this key does not: "take ecmp=load instead".
    std::string_view instead = {};
    /// Returns whether the key acts beside the rest of the scenario; `traffic` is that of a key of
    /// traffic, else nullptr. A key without this function always does.
    bool (*acts)(const Scenario& scenario, const TrafficWish* traffic) = nullptr;
    /// What must be there so that it acts, as the rest of a sentence: "contexts or context_cache".
    std::string_view acts_with = {};
};

/// All kinds that simulate messages.
inline constexpr Kinds kOfMessages = Kinds::but({RunKind::kSharp});
inline constexpr Models kPackets{net::ModelKind::kPacket};

}  // namespace softib::spec
