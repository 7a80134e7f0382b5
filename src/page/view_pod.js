// SPDX-License-Identifier: BSD-2-Clause
// The view of a block of switches that have cables to each other: a pod of a fat tree, or a whole
// small one. If the block has few hosts, they are shown too.

import {h, link, panel} from "./dom.js";
import {cableColumns} from "./columns.js";
import {Grid} from "./grid.js";
import {NodeMap} from "./map.js";
import {remember} from "./route.js";
import {blockName, levels} from "./tiers.js";
import {cablesAmong} from "./view_node.js";

const HOSTS_MAX = 64;

/// Returns the hosts at some switches.
function hostsAt(model, switches) {
  const found = [];
  for (const node of switches) {
    for (let port = model.first[node]; port < model.first[node + 1]; ++port) {
      const other = model.peerNode(port);
      if (other >= 0 && !model.isSwitch(other)) found.push(other);
    }
  }
  return found;
}

/// Shows a block. `name` is TIER/NUMBER, as in the links of the overview.
export function podView(model, {name, query}) {
  const [tier, number] = name.split("/").map(Number);
  const level = levels(model).find((each) => each.tier === tier && each.blocks[number]);
  if (!level) return {element: h("div", {class: "view"}, h("h1", {}, `There is no pod ${name}`))};
  const block = level.blocks[number];
  const switches = [...block.rows, ...block.columns.filter((node) => node >= 0)];
  const hosts = hostsAt(model, switches);
  const nodes = hosts.length <= HOSTS_MAX ? [...switches, ...hosts] : switches;
  const title = level.blocks.length > 1 ? blockName(block, number) : level.title;
  const map = new NodeMap(model, `${title}: cables by load`, nodes, cablesAmong(model, nodes));
  const grid = new Grid(`Cables of ${title}`, cableColumns(model),
                        {filter: query.get("q") || "", sort: "load", descending: true},
                        (next) => remember({q: next.filter}));
  grid.setRows(cablesAmong(model, [...switches, ...hosts]));
  return {
    element: h("div", {class: "view"},
      h("p", {class: "crumbs"}, link("#/overview", "Overview"), " / ", level.title),
      h("h1", {}, title, h("span", {class: "muted"},
        ` ${switches.length} switches, ${hosts.length} hosts`)),
      panel("Cables by load", {}, map.element), panel("Cables", {}, grid.element)),
    title,
    change: () => { map.update(); grid.refresh(); },
    theme: () => map.update(),
    close: () => { map.close(); grid.close(); },
  };
}
