// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The speeds of links, by generation and width. Libraries in programs need no more of a topology.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace softib::topo {

/// The speed generation of a link, by its marketing name. The numbers are used in shared memory and
/// must not change, so they are not in the order of the speeds.
enum class Generation : std::uint8_t {
    kEdr,
    kHdr,
    kNdr,
    kXdr,
    kSdr,
    kDdr,
    kQdr,
    kFdr10,
    kFdr,
    kGdr,
};

/// Everything that differs between generations: the one table of them.
struct GenerationRow {
    Generation generation{};
    const char* name = "";           ///< "EDR", as sysfs prints it after the rate.
    std::uint32_t mbps = 0;          ///< Rate of a lane as it is sold: 2500 is 1x SDR.
    std::uint32_t active_speed = 0;  ///< ibv_port_attr.active_speed_ex bit: SDR 1 … GDR 512.

    std::uint64_t signalling_kbps = 0;  ///< Rate of a lane on the wire, before line code and FEC.
    std::uint16_t code_payload = 0;     ///< Data bits in each code_total bits of the line code.
    std::uint16_t code_total = 0;
    std::uint16_t fec_payload = 1;  ///< Data symbols in each fec_total; 1 of 1: there is no FEC.
    std::uint16_t fec_total = 1;

    std::uint8_t speed = 0;      ///< PortInfo.LinkSpeed*: 1 SDR, 2 DDR, 4 QDR and faster.
    std::uint8_t speed_ext = 0;  ///< PortInfo.LinkSpeedExt*: 1 FDR, 2 EDR, 4 HDR, 8 NDR and faster.
    std::uint8_t speed_ext2 = 0;  ///< PortInfo.LinkSpeedExt*2: 1 XDR, 2 GDR.

    std::uint32_t radix = 0;      ///< Ports of its common switch.
    std::uint32_t switch_ps = 0;  ///< Latency of that switch: see net/plant/latency.h.
    const char* pcie_speed = "";  ///< PCI Express of 16 lanes that suffices for a 4x port.
};

// Sources. Rates, line codes and PortInfo: IBA vol. 1 and 2, Linux, rdma-core. HDR and later have
// 256b/257b and Reed-Solomon (544, 514), which leave 50 Gb/s of 53.125.
//
// Latencies of switches: product briefs of InfiniScale III (SDR, DDR), InfiniScale IV (QDR),
// SwitchX (FDR), Switch-IB 2 (EDR) and Quantum (HDR: less than this). For Quantum-2 resellers say
// 150 to 330 ns, and the maker says nothing.
//
// GDR is on the InfiniBand Trade Association's roadmap with 1,600 Gb/s for four lanes; no product
// is public. Everything else in its row continues XDR's: twice the signalling rate with the same
// codes, the next bit of each encoding, and XDR's switches.
inline constexpr std::array kGenerationRows{
    GenerationRow{Generation::kSdr, "SDR", 2500, 1, 2'500'000, 8, 10, 1, 1, 1, 0, 0, 24, 140'000,
                  "2.5 GT/s PCIe"},
    GenerationRow{Generation::kDdr, "DDR", 5000, 2, 5'000'000, 8, 10, 1, 1, 2, 0, 0, 24, 140'000,
                  "2.5 GT/s PCIe"},
    GenerationRow{Generation::kQdr, "QDR", 10'000, 4, 10'000'000, 8, 10, 1, 1, 4, 0, 0, 36, 100'000,
                  "5.0 GT/s PCIe"},
    GenerationRow{Generation::kFdr10, "FDR10", 10'000, 8, 10'312'500, 64, 66, 1, 1, 4, 0, 0, 36,
                  100'000, "5.0 GT/s PCIe"},
    GenerationRow{Generation::kFdr, "FDR", 14'000, 16, 14'062'500, 64, 66, 1, 1, 4, 1, 0, 36,
                  170'000, "8.0 GT/s PCIe"},
    GenerationRow{Generation::kEdr, "EDR", 25'000, 32, 25'781'250, 64, 66, 1, 1, 4, 2, 0, 36,
                  90'000, "8.0 GT/s PCIe"},
    GenerationRow{Generation::kHdr, "HDR", 50'000, 64, 53'125'000, 256, 257, 514, 544, 4, 4, 0, 40,
                  130'000, "16.0 GT/s PCIe"},
    GenerationRow{Generation::kNdr, "NDR", 100'000, 128, 106'250'000, 256, 257, 514, 544, 4, 8, 0,
                  64, 200'000, "32.0 GT/s PCIe"},
    GenerationRow{Generation::kXdr, "XDR", 200'000, 256, 212'500'000, 256, 257, 514, 544, 4, 8, 1,
                  144, 200'000, "64.0 GT/s PCIe"},
    GenerationRow{Generation::kGdr, "GDR", 400'000, 512, 425'000'000, 256, 257, 514, 544, 4, 8, 2,
                  144, 200'000, "128.0 GT/s PCIe"}};

/// Returns the row of a generation; that of SDR for a number that stands for none.
constexpr const GenerationRow& row_of(Generation generation) {
    for (const GenerationRow& row : kGenerationRows) {
        if (row.generation == generation) {
            return row;
        }
    }
    return kGenerationRows[0];
}

/// All generations, from the slowest to the fastest.
inline constexpr std::array kGenerations = [] {
    std::array<Generation, kGenerationRows.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = kGenerationRows[i].generation;
    }
    return all;
}();

/// Returns the names of all generations, with `last_word` before the last: "SDR, … XDR or GDR".
std::string generation_names(const char* last_word);

/// Returns the fastest generation among bits of the three fields of PortInfo.
Generation fastest_of(std::uint8_t speed, std::uint8_t ext, std::uint8_t ext2);

/// The width of a link in lanes; the values are those of PortInfo.LinkWidthActive and
/// ibv_port_attr.
enum class Width : std::uint8_t { k1x = 1, k4x = 2, k8x = 4, k12x = 8, k2x = 16 };
/// All widths, from the narrowest to the widest.
inline constexpr std::array kWidths{Width::k1x, Width::k2x, Width::k4x, Width::k8x, Width::k12x};
std::uint32_t lanes(Width width);

struct LinkSpeed {
    std::uint32_t gbps;          ///< Nominal data rate, rounded down: 4x EDR 100, 4x NDR 400.
    std::uint32_t active_speed;  ///< ibv_port_attr.active_speed_ex bit: SDR 1 … GDR 512.
    std::uint8_t active_width;   ///< ibv_port_attr.active_width: 2 is 4X.
    const char* name;            ///< "EDR", as sysfs prints it after the rate.
    std::uint32_t mbps;          ///< Nominal data rate, not rounded: 1x SDR 2500.
};

LinkSpeed link_speed(Generation generation, Width width = Width::k4x);

}  // namespace softib::topo
