// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The text of a netlist as people have it: a log of a terminal with banners and prompts around the
// dump, escape sequences and pagers in it, tabs lost, long lines wrapped. Internal to this folder.
//
// A reader takes the text line by line, as a terminal would show it. A line of a dump that is not
// whole is put together with the lines behind it if they are no lines of their own and the whole is
// one. What is no line of a netlist at all is left to the reader as a ForeignLine.

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "core/topo/netlist_lines.h"

namespace softib::topo::netlist {

class TextLines {
  public:
    /// The text outlives this object.
    explicit TextLines(std::string_view text) : rest_(text) {}

    /// The next line, put together where it was wrapped; nothing at the end of the text. Views in
    /// it are good until the next call.
    std::optional<std::expected<Line, std::string>> next();

    std::size_t number() const { return number_; }    ///< Of the line that `next` gave, from 1 on.
    std::string_view shown() const { return line_; }  ///< That line, as a terminal shows it.
    std::size_t joined() const { return joined_; }    ///< Lines that were parts of the one before.

  private:
    std::optional<std::string> take_raw();
    bool join(const std::expected<Line, std::string>& parsed);

    std::string_view rest_;
    std::string line_;
    std::size_t number_ = 0;
    std::size_t taken_ = 0;  ///< Lines of the text until now.
    std::size_t joined_ = 0;
};

}  // namespace softib::topo::netlist
