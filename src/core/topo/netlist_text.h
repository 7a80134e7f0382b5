// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The lines of a netlist in the log of a terminal, which may have banners and prompts around the
// dump, escape sequences and output of pagers in it, lost tabs and wrapped lines. Internal to this
// folder.
//
// Lines are taken as a terminal would show them. An incomplete line of a dump is joined with the
// lines after it if these are no lines of a dump themselves and the result is a complete line. A
// line that does not belong to a netlist is returned as a ForeignLine.

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "core/topo/netlist_lines.h"

namespace softib::topo::netlist {

class TextLines {
  public:
    /// The text must outlive this object.
    explicit TextLines(std::string_view text) : rest_(text) {}

    /// Returns the next line, joined if it was wrapped; std::nullopt at the end of the text. String
    /// views in the line are valid until the next call.
    std::optional<std::expected<Line, std::string>> next();

    /// Returns the number of the line that next() returned last, counted from 1.
    std::size_t number() const { return number_; }
    /// Returns the line that next() returned last, as a terminal shows it.
    std::string_view shown() const { return line_; }
    /// Returns how many lines were joined to the line before them.
    std::size_t joined() const { return joined_; }

  private:
    std::optional<std::string> take_raw();
    bool join(const std::expected<Line, std::string>& parsed);

    std::string_view rest_;
    std::string line_;
    std::size_t number_ = 0;
    std::size_t taken_ = 0;  ///< Lines of the text that were taken so far.
    std::size_t joined_ = 0;
};

}  // namespace softib::topo::netlist
