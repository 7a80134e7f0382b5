// SPDX-License-Identifier: BSD-2-Clause
// The view of paths: the path between two nodes, the trees of multicast groups and of SHARP jobs.

import {h, link, panel} from "./dom.js";
import {get} from "./api.js";
import {count, percent, stateName} from "./format.js";
import {NodeMap} from "./map.js";
import {remember} from "./route.js";

const SUGGESTED = 400;

/// Returns the names for the list of an input, hosts first.
function suggestions(model, id) {
  const names = [];
  for (let node = 0; node < model.nodeCount && names.length < SUGGESTED; ++node) {
    if (!model.isSwitch(node)) names.push(model.nodeName(node));
  }
  return h("datalist", {id}, names.map((value) => h("option", {value})));
}

function hopTable(model, path) {
  const rows = path.hops.map((hop, i) => {
    const port = hop.out ? model.findPort(`${hop.node}:${hop.out}`) : -1;
    const {state, load, wait} = model.shown;
    return h("tr", {}, h("td", {class: "number"}, String(i)),
      h("th", {scope: "row"}, link(`#/node/${hop.node}`, hop.node)),
      h("td", {class: "number"}, hop.in ? String(hop.in) : "–"),
      h("td", {class: "number"}, port < 0 ? "–" : link(`#/port/${model.portName(port)}`,
                                                       String(hop.out))),
      h("td", {}, port < 0 ? "" : stateName(state[port])),
      h("td", {class: "number"}, port < 0 ? "" : percent(load[port])),
      h("td", {class: "number"}, port < 0 ? "" : percent(wait[port])));
  });
  return h("table", {class: "plain-table hops"},
    h("thead", {}, h("tr", {}, ["Hop", "Node", "In", "Out", "State", "Load out", "Waiting"].map(
      (name) => h("th", {scope: "col", class: /Node|State/.test(name) ? "" : "number"}, name)))),
    h("tbody", {}, rows));
}

/// Returns the cables of a tree, each once, as the ports in the switches' tables.
function treeCables(model, tree) {
  const seen = new Set();
  return tree.ports.map((name) => model.findPort(name)).filter((port) => {
    const cable = Math.min(port, model.peer[port] < 0 ? port : model.peer[port]);
    return port >= 0 && !seen.has(cable) && seen.add(cable);
  });
}

function treeTable(model, tree) {
  const ranks = new Map(tree.members.map(({port, rank}) => [port, `rank ${rank}`]));
  const {state, load, wait} = model.shown;
  const rows = treeCables(model, tree).map((port) => {
    const name = model.portName(port);
    const peer = model.peerName(port);
    return h("tr", {}, h("th", {scope: "row"}, link(`#/port/${name}`, name)), h("td", {}, peer),
      tree.members.length ? h("td", {}, ranks.get(name) || "to its parent") : null,
      h("td", {}, stateName(state[port])), h("td", {class: "number"}, percent(load[port])),
      h("td", {class: "number"}, percent(wait[port])));
  });
  const heads = ["Port", "Cable to", ...(tree.members.length ? ["Who"] : []), "State", "Load",
                 "Waiting"];
  return h("table", {class: "plain-table tree-cables"},
    h("thead", {}, h("tr", {}, heads.map((name) =>
      h("th", {scope: "col", class: /Load|Waiting/.test(name) ? "number" : ""}, name)))),
    h("tbody", {}, rows));
}

export function pathsView(model, {query}) {
  const from = h("input", {id: "path-from", list: "path-names", value: query.get("from") || "",
                           placeholder: "h0", spellcheck: false, autocomplete: "off"});
  const to = h("input", {id: "path-to", list: "path-names", value: query.get("to") || "",
                         placeholder: "h1", spellcheck: false, autocomplete: "off"});
  const result = h("div", {class: "path-result", "aria-live": "polite"});
  const trees = h("div", {});
  const treePicture = h("div", {class: "tree-picture"});
  let maps = [];
  let shownPath = null;
  const addMap = (map) => { maps.push(map); return map.element; };
  const drop = (kind) => {
    maps.filter((map) => map.kind === kind).forEach((map) => map.close());
    maps = maps.filter((map) => map.kind !== kind);
  };
  const drawPath = () => {
    drop("path");
    const path = shownPath;
    const ports = path.hops.map((hop) => (hop.out ? model.findPort(`${hop.node}:${hop.out}`) : -1))
      .filter((port) => port >= 0);
    const nodes = path.hops.map((hop) => model.findNode(hop.node)).filter((node) => node >= 0);
    const map = new NodeMap(model, `Path from ${path.from} to ${path.to}`, nodes, ports);
    map.kind = "path";
    const sentence = path.trouble
      ? h("p", {class: "problem"}, `× ${path.trouble}.`)
      : h("p", {class: "good"}, `✓ ${path.hops.length - 1} cables from ${path.from} to ` +
                                `${path.to} (LID ${path.lid}).`);
    result.replaceChildren(sentence, addMap(map), hopTable(model, path));
  };
  const trace = async () => {
    remember({from: from.value, to: to.value});
    if (!from.value || !to.value) return;
    try {
      shownPath = await get(`/api/v1/path?from=${encodeURIComponent(from.value)}` +
                            `&to=${encodeURIComponent(to.value)}`);
      drawPath();
    } catch (error) {
      drop("path");
      shownPath = null;
      result.replaceChildren(h("p", {class: "problem"}, error.message));
    }
  };
  let shownTree = null;
  const showTree = (tree) => {
    remember({tree: tree.id});
    drop("tree");
    shownTree = tree;
    const cables = treeCables(model, tree);
    const nodes = cables.flatMap((port) => [model.portNode[port], model.peerNode(port)])
      .filter((node) => node >= 0);
    const map = new NodeMap(model, `Tree of ${tree.id}`, nodes, cables);
    map.kind = "tree";
    treePicture.replaceChildren(h("h3", {}, `${tree.kind} ${tree.id}`),
      h("p", {class: "muted"}, [tree.text, tree.root && `root ${tree.root}`].filter(Boolean)
        .join("; ")), addMap(map), treeTable(model, tree));
    markTree();
  };
  const markTree = () => trees.querySelectorAll("tr").forEach((row) =>
    row.classList.toggle("current", shownTree !== null && row.dataset.id === shownTree.id));
  let known = "";
  const loadTrees = async () => {
    try {
      const list = (await get("/api/v1/trees")).trees;
      const text = JSON.stringify(list);
      if (text === known) return;
      known = text;
      if (shownTree && !list.some((tree) => tree.id === shownTree.id)) {
        drop("tree");
        treePicture.replaceChildren(h("p", {class: "muted"}, `${shownTree.id} is over.`));
        shownTree = null;
      }
      if (!list.length) {
        trees.replaceChildren(h("p", {class: "muted"},
                                "No multicast group and no SHARP job has a tree now."));
        return;
      }
      trees.replaceChildren(h("table", {class: "plain-table"},
        h("thead", {}, h("tr", {}, ["Kind", "Which", "Ports", "About"].map((name) =>
          h("th", {scope: "col", class: name === "Ports" ? "number" : ""}, name)))),
        h("tbody", {}, list.slice(0, 200).map((tree) => {
          const row = h("tr", {}, h("td", {}, tree.kind),
            h("th", {scope: "row"}, h("button", {type: "button", class: "plain link",
                                                 onclick: () => showTree(tree)}, tree.id)),
            h("td", {class: "number"}, count(tree.ports.length)), h("td", {}, tree.text));
          row.dataset.id = tree.id;
          return row;
        }))));
      const id = shownTree ? shownTree.id : query.get("tree");
      const wanted = list.find((tree) => tree.id === id);
      if (wanted && JSON.stringify(wanted) !== JSON.stringify(shownTree)) showTree(wanted);
      markTree();
    } catch (error) {
      trees.replaceChildren(h("p", {class: "muted"}, error.message));
    }
  };
  trace();
  loadTrees();
  let beats = 0;
  return {
    element: h("div", {class: "view"}, h("h1", {}, "Paths and trees"),
      panel("Path between two nodes", {class: "wide"},
        h("form", {class: "bar", onsubmit: (event) => { event.preventDefault(); trace(); }},
          h("label", {htmlFor: "path-from"}, "From"), from,
          h("label", {htmlFor: "path-to"}, "To"), to,
          h("button", {type: "submit", class: "primary"}, "Trace"),
          suggestions(model, "path-names")),
        result),
      panel("Multicast and SHARP trees", {class: "wide"}, trees, treePicture)),
    title: "Paths",
    change: () => {
      maps.forEach((map) => map.update());
      if (shownPath) result.querySelector(".hops").replaceWith(hopTable(model, shownPath));
      if (shownTree) {
        treePicture.querySelector(".tree-cables").replaceWith(treeTable(model, shownTree));
      }
    },
    time: () => { if (++beats % 2 === 0) loadTrees(); },
    theme: () => maps.forEach((map) => map.update()),
    close: () => maps.forEach((map) => map.close()),
  };
}
