/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* The version of the SHARP interface that softib's libsharp_coll implements. */

#define SHARP_VERNO_MAJOR 3
#define SHARP_VERNO_MINOR 7
#define SHARP_VERNO_REV "0"
#define SHARP_VERNO_STRING "3.7"

#define SHARP_MINOR_BIT (16UL)
#define SHARP_MAJOR_BIT (24UL)
#define SHARP_VERSION(major, minor) (((major) << SHARP_MAJOR_BIT) | ((minor) << SHARP_MINOR_BIT))
#define SHARP_API ((3L << SHARP_MAJOR_BIT) | (7L << SHARP_MINOR_BIT))
