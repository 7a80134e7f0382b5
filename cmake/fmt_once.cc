// SPDX-License-Identifier: BSD-2-Clause
// The formatting library's own code, compiled once for all of softib: its packaged shared library
// would become a dependency of every program that loads a drop-in library, and its header-only
// form costs seconds in every source file.
#include <fmt/format-inl.h>

// What its headers declare as instantiated elsewhere.
template void fmt::detail::buffer<char>::append(const char*, const char*);
template fmt::detail::dragonbox::decimal_fp<float> fmt::detail::dragonbox::to_decimal(float);
template fmt::detail::dragonbox::decimal_fp<double> fmt::detail::dragonbox::to_decimal(double);
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl(
    fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl(fmt::detail::locale_ref);
template void fmt::detail::vformat_to(buffer<char>&, string_view,
                                      basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
