// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Style and script of reports, as embed_report.py packed them into the program.

#include <string_view>

namespace softib::page {

std::string_view report_style();
std::string_view report_script();

}  // namespace softib::page
