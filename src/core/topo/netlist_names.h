// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Names for the nodes of a dump that people can type, made from the node descriptions. Internal to
// this folder.

#include "core/topo/graph.h"

namespace softib::topo {

/// Adds the hosts to a fabric, and names hosts, devices and nodes. Needs the nodes' kinds,
/// descriptions, GUIDs and adapters. Afterwards all names are unique and consist of letters,
/// digits, '.', '_' and '-', with one '/' between a host and its device.
///
/// - The first word of an HCA's description names its host ("node001 mlx5_0", "node001 HCA-1").
///   Two systems with exactly the same description are two different hosts.
/// - If the description is the vendor's default, adapters with the same system image GUID are one
///   host; if one of them names a host, it is that host. HCAs that name different hosts stay apart
///   even if they share a system image GUID, since several hosts can share an adapter.
/// - The second word names the device if it looks like a device name; other devices are numbered
///   from mlx5_0 on.
/// - A switch is named by its description: "leaf1" for "MF0;leaf1:MQM8700/U1". If several switches
///   have the same description, each name is followed by the GUID.
void name_nodes(Fabric& fabric);

}  // namespace softib::topo
