// SPDX-License-Identifier: BSD-2-Clause
// The view of a node, with its neighbours and the cables between them.

import {h, button, link, panel} from "./dom.js";
import {get, inPath} from "./api.js";
import {portColumns} from "./columns.js";
import {ask, setRoute, setSwitch} from "./control.js";
import {count} from "./format.js";
import {Grid} from "./grid.js";
import {NodeMap} from "./map.js";
import {ACTIVE} from "./model.js";
import {remember} from "./route.js";
import {tierName} from "./tiers.js";
import {alarmList} from "./view_health.js";

const portsOf = (model, node) => Array.from({length: model.first[node + 1] - model.first[node]},
                                            (_, i) => model.first[node] + i);

/// Returns the cables between some nodes, each once.
export function cablesAmong(model, nodes) {
  const inside = new Set(nodes);
  const found = [];
  for (const node of inside) {
    for (const port of portsOf(model, node)) {
      const other = model.peerNode(port);
      if (inside.has(other) && model.peer[port] > port) found.push(port);
    }
  }
  return found;
}

function facts(model, node) {
  const rows = [["GUID", model.nodes.guid[node]], ["LID", model.nodes.lid[node] || "none"],
                ["Kind", model.isSwitch(node) ? tierName(model, model.nodes.tier[node]) : "HCA"],
                ["Ports with a cable", count(model.first[node + 1] - model.first[node])]];
  return h("dl", {class: "facts"}, rows.map(([name, value]) => [h("dt", {}, name),
                                                                h("dd", {}, String(value))]));
}

/// Shows the forwarding table of a switch, whose entries can be changed.
function routesPanel(model, name) {
  const box = h("div", {}, h("p", {class: "muted"}, "Loading…"));
  let grid = null;
  const change = async (row) => {
    const text = await ask(`Route of ${name} to ${row[1]}`,
                           `Port for LID ${row[0]} (empty: drop packets)`, row[2] ?? "");
    if (text === null) return;
    await setRoute(name, row[0], text.trim() === "" ? null : Number(text), row[2]);
    load();
  };
  const load = async () => {
    try {
      const {routes} = await get(`/api/v1/routes/${inPath(name)}`);
      const columns = [
        {key: "lid", title: "LID", number: true, width: "80px", value: (row) => row[0]},
        {key: "node", title: "Node", width: "1.4fr", value: (row) => row[1]},
        {key: "port", title: "Out port", number: true, width: "100px",
         value: (row) => row[2] ?? "dropped"},
        {key: "next", title: "Next", width: "1.4fr", value: (row) => {
          const port = row[2] === null ? -1 : model.findPort(`${name}:${row[2]}`);
          return row[2] === 0 ? "itself" : port < 0 ? "-" : model.peerName(port);
        }},
      ];
      if (!grid) {
        grid = new Grid(`Routes of ${name}`, columns);
        box.replaceChildren(grid.element);
        if (model.about.control) {
          box.append(h("div", {class: "bar"}, button("Change the route of this row", () => {
            if (grid.shown.length) change(grid.shown[grid.at]);
          })));
        }
      }
      grid.setRows(routes);
    } catch (error) {
      box.replaceChildren(h("p", {class: "muted"}, error.message));
    }
  };
  load();
  return {element: panel(`Routes of ${name}`, {}, box), close: () => grid && grid.close()};
}

export function nodeView(model, {name, query}) {
  const node = model.findNode(name);
  if (node < 0) {
    return {element: h("div", {class: "view"}, h("h1", {}, `There is no node ${name}`))};
  }
  const full = model.nodeName(node);
  const neighbours = portsOf(model, node).map((port) => model.peerNode(port))
    .filter((other) => other >= 0);
  const map = new NodeMap(model, `${full} and its neighbours`, [node, ...neighbours],
                          portsOf(model, node).filter((port) => model.peer[port] >= 0));
  const ports = new Grid(`Ports of ${full}`, portColumns(model).filter((c) => c.key !== "node" &&
                                                                     c.key !== "kind" &&
                                                                     c.key !== "lid"),
                         {filter: query.get("q") || ""}, (next) => remember({q: next.filter}));
  ports.setRows(portsOf(model, node));
  const routes = model.isSwitch(node) ? routesPanel(model, full) : null;
  const controls = h("div", {class: "bar"});
  const drawControls = () => {
    const alive = portsOf(model, node).some((port) => model.now.state[port] === ACTIVE);
    controls.replaceChildren(...[
      model.isSwitch(node) ? null
        : link(`#/paths?from=${encodeURIComponent(full)}`, "Trace from here",
               {class: "like-button"}),
      model.isSwitch(node) ? link(`#/whatif?down=${encodeURIComponent(full)}`, "What if it fails?",
                                  {class: "like-button"}) : null,
      model.about.control && model.isSwitch(node)
        ? button(alive ? "Turn this switch off" : "Turn this switch on",
                 () => setSwitch(full, !alive), {class: alive ? "danger" : "primary"}) : null,
    ].filter(Boolean));
  };
  drawControls();
  const own = h("div", {}, alarmList(model, 10, (event) =>
    [event.object, event.peer ?? ""].some((each) =>
      each === full || each.startsWith(full + ":"))));
  return {
    element: h("div", {class: "view"},
      h("p", {class: "crumbs"}, link("#/overview", "Overview"), " / ",
        tierName(model, model.nodes.tier[node])),
      h("div", {class: "bar"}, h("h1", {}, full), h("span", {class: "space"}), controls),
      panel("Cables by load", {class: "wide"}, map.element),
      h("div", {class: "columns even"},
        h("div", {}, panel("Node", {}, facts(model, node)), panel("Alarms here", {}, own)),
        h("div", {}, panel("Ports", {}, ports.element))),
      routes && routes.element),
    title: full,
    change: () => { map.update(); ports.refresh(); drawControls(); },
    theme: () => map.update(),
    close: () => { map.close(); ports.close(); if (routes) routes.close(); },
  };
}
