// SPDX-License-Identifier: BSD-2-Clause
// Divides the fabric into parts that can be shown: switches by tier, and the cables between two
// tiers by blocks. A block is a set of lower and upper switches that have cables to each other and
// to no other switch of these tiers: a pod of a fat tree, or all leafs and spines of a small one.

/// Returns the nodes by tier, the hosts' tier first.
export function nodesByTier(model) {
  const tiers = Array.from({length: model.tierMax + 1}, () => []);
  for (let node = 0; node < model.nodeCount; ++node) tiers[model.nodes.tier[node]].push(node);
  return tiers;
}

export function tierName(model, tier) {
  if (tier === 0) return "Hosts";
  if (model.tierMax === 1) return "Switches";
  if (tier === 1) return "Leaf switches";
  if (tier === model.tierMax) return model.tierMax === 2 ? "Spine switches" : "Core switches";
  return model.tierMax === 3 ? "Aggregation switches" : `Switches of tier ${tier}`;
}

function find(parents, node) {
  while (parents[node] !== node) {
    parents[node] = parents[parents[node]];
    node = parents[node];
  }
  return node;
}

/// Returns the blocks of cables from one tier to the next: {rows, columns, cells}. Rows are the
/// lower switches, columns the upper ones; cells is a Map from row * columns.length + column to
/// ports.
export function blocksAbove(model, tier) {
  const parents = Int32Array.from({length: model.nodeCount}, (_, i) => i);
  const cables = [];
  for (let port = 0; port < model.portCount; ++port) {
    const node = model.portNode[port];
    const other = model.peerNode(port);
    if (model.nodes.tier[node] !== tier || other < 0 || model.nodes.tier[other] !== tier + 1) {
      continue;
    }
    cables.push(port);
    parents[find(parents, other)] = find(parents, node);
  }
  const blocks = new Map();
  const placeOf = new Map();  // From a node to its row or column.
  for (const port of cables) {
    const node = model.portNode[port];
    const other = model.peerNode(port);
    const root = find(parents, node);
    if (!blocks.has(root)) blocks.set(root, {tier, rows: [], columns: [], cables: []});
    const block = blocks.get(root);
    if (!placeOf.has(node)) { placeOf.set(node, block.rows.length); block.rows.push(node); }
    if (!placeOf.has(other)) {
      placeOf.set(other, block.columns.length);
      block.columns.push(other);
    }
    block.cables.push(port);
  }
  for (const block of blocks.values()) {
    block.columns.sort((a, b) => a - b);
    block.columns.forEach((node, place) => placeOf.set(node, place));
    block.cells = new Map();
    for (const port of block.cables) {
      const at = placeOf.get(model.portNode[port]) * block.columns.length +
                 placeOf.get(model.peerNode(port));
      if (block.cells.has(at)) block.cells.get(at).push(port);
      else block.cells.set(at, [port]);
    }
  }
  return [...blocks.values()];
}

/// Returns the cables between switches of one tier (a torus, a dragonfly): a row per switch, a
/// column per cable.
export function blockWithin(model, tier) {
  const rows = [];
  const cables = [];
  let width = 0;
  for (let node = 0; node < model.nodeCount; ++node) {
    if (model.nodes.tier[node] !== tier) continue;
    const ports = [];
    for (let port = model.first[node]; port < model.first[node + 1]; ++port) {
      const other = model.peerNode(port);
      if (other >= 0 && model.nodes.tier[other] === tier) ports.push(port);
    }
    if (ports.length) {
      rows.push(node);
      cables.push(ports);
      width = Math.max(width, ports.length);
    }
  }
  if (!rows.length) return null;
  const cells = new Map();
  cables.forEach((ports, row) => ports.forEach((port, at) => cells.set(row * width + at, [port])));
  return {tier, within: true, rows, columns: Array.from({length: width}, (_, i) => -1 - i), cells};
}

/// Returns all blocks of a fabric as [{title, blocks}], from the hosts up.
export function levels(model) {
  const found = [];
  for (let tier = 1; tier <= model.tierMax; ++tier) {
    const within = blockWithin(model, tier);
    if (within) {
      found.push({tier, title: `${tierName(model, tier)} by cable`, blocks: [within]});
    }
    const blocks = blocksAbove(model, tier);
    if (blocks.length) {
      const upper = tierName(model, tier + 1).toLowerCase();
      found.push({tier, title: `${tierName(model, tier)} by ${upper}`, blocks});
    }
  }
  return found;
}

export const blockName = (block, number) => `${block.tier === 1 ? "Pod" : "Plane"} ${number}`;
