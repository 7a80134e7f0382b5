// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// From what a dump says about its nodes to names that people type. Internal to this folder.

#include "core/topo/fabric.h"

namespace softib::topo {

/// Makes the hosts, and names hosts, devices and nodes. Expects the nodes' kinds, descriptions,
/// GUIDs and adapters; afterwards all names are unique and have nothing but letters, digits, '.',
/// '_' and '-', with one '/' between a host and its device.
///
/// - The first word of an HCA's description names its host ("node001 mlx5_0", "node001 HCA-1").
///   Two systems with the same description word by word are two hosts of the same name.
/// - Where the description is the vendor's, adapters with one system image GUID are one host; if
///   one of them does name a host, it is that one. HCAs that name different hosts stay apart even
///   if they share a system image: several hosts can share an adapter.
/// - The second word names the device if it looks like one; the others count up from mlx5_0.
/// - A switch is called by its description, "leaf1" if that is "MF0;leaf1:MQM8700/U1". Where
///   several have the same, all of them get their GUID behind it.
void name_nodes(Fabric& fabric);

}  // namespace softib::topo
