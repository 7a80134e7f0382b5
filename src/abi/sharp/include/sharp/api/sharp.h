/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* All of the SHARP interface. */

#include <sharp/api/sharp_coll.h>
#include <sharp/api/version.h>
