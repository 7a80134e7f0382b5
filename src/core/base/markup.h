// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Text inside of HTML and SVG.

#include <string>
#include <string_view>

namespace softib {

/// Returns a text in which the characters that would end a text or an attribute are entities.
inline std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '&':
                out += "&amp;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

}  // namespace softib
