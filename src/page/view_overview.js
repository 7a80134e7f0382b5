// SPDX-License-Identifier: BSD-2-Clause
// The view of the whole fabric: what is wrong, the tiers, and the matrix of cables between them.

import {h, button, link, panel, onceAFrame, renew} from "./dom.js";
import {CellCanvas} from "./cells.js";
import {METRICS, scale} from "./colour.js";
import {portColumns} from "./columns.js";
import {compile} from "./filter.js";
import {count, percent, short} from "./format.js";
import {ACTIVE} from "./model.js";
import {remember} from "./route.js";
import {blockName, levels, nodesByTier, tierName} from "./tiers.js";
import {alarmList} from "./view_health.js";

const LABELLED = 48;  // At most this many cells have names in them.
const RANKED = 8;     // Length of the list of the busiest ports.

/// Lays out cells in lines; cells with a label are larger.
function stripLayout(cells) {
  return (width) => {
    const labelled = cells.length <= LABELLED;
    const size = labelled ? 0 : cells.length > 1500 ? 6 : cells.length > 200 ? 9 : 16;
    const perLine = labelled ? Math.max(1, Math.min(cells.length, Math.floor(width / 112)))
                             : Math.floor(width / (size + 2));
    const w = labelled ? Math.min(180, Math.floor(width / perLine) - 4) : size;
    const height = labelled ? 42 : size;
    const step = [w + (labelled ? 4 : 2), height + (labelled ? 4 : 2)];
    const items = cells.map((cell, i) => ({
      ...cell, x: (i % perLine) * step[0] + 1, y: Math.floor(i / perLine) * step[1] + 1, w,
      h: height, oneEnd: true, label: labelled ? cell.short : undefined}));
    return {height: Math.ceil(cells.length / perLine) * step[1] + 4, items};
  };
}

function tierCells(model, tier, nodes) {
  const portsOf = (node) => Array.from({length: model.first[node + 1] - model.first[node]},
                                       (_, i) => model.first[node] + i);
  if (tier > 0) {
    return nodes.map((node) => ({ports: portsOf(node), name: model.nodeName(node),
                                 short: model.nodeName(node),
                                 href: `#/node/${model.nodeName(node)}`}));
  }
  if (nodes.length <= LABELLED) {
    return nodes.map((node) => ({ports: portsOf(node), name: model.nodeName(node),
                                 short: model.nodeName(node).replace(/\/mlx5_0$/, ""),
                                 href: `#/node/${model.nodeName(node)}`}));
  }
  const byLeaf = new Map();
  for (const node of nodes) {
    const leaf = model.first[node] < model.first[node + 1] ? model.peerNode(model.first[node]) : -1;
    if (!byLeaf.has(leaf)) byLeaf.set(leaf, []);
    byLeaf.get(leaf).push(...portsOf(node));
  }
  return [...byLeaf].sort((a, b) => a[0] - b[0]).map(([leaf, ports]) => ({
    ports, name: leaf < 0 ? `${ports.length} hosts without a cable`
                          : `${ports.length} hosts at ${model.nodeName(leaf)}`,
    short: leaf < 0 ? "no cable" : model.nodeName(leaf),
    href: leaf < 0 ? null : `#/node/${model.nodeName(leaf)}`}));
}

/// Lays out the blocks of a level; small blocks have names at their edges.
function matrixLayout(model, level) {
  return (width) => {
    const {blocks} = level;
    const cells = blocks.reduce((sum, b) => sum + b.rows.length * b.columns.length, 0);
    const single = blocks.length === 1;
    const named = single && blocks[0].rows.length <= 40 && blocks[0].columns.length <= 40;
    const widest = Math.max(...blocks.map((b) => b.columns.length));
    const nameWidth = named
      ? Math.max(...blocks[0].rows.map((node) => model.nodeName(node).length)) * 7 + 14 : 0;
    let size = cells > 30000 ? 5 : cells > 8000 ? 7 : cells > 1500 ? 11 : 26;
    size = Math.max(3, Math.min(size, Math.floor((width - nameWidth) / widest) - 1));
    const wide = named ? Math.max(size, Math.min(96, Math.floor((width - nameWidth) / widest) - 3))
                       : size;
    const gap = size > 8 ? 2 : 1;
    const items = [];
    const texts = [];
    let [x, y, lineHeight] = [0, 0, 0];
    blocks.forEach((block, number) => {
      const w = nameWidth + block.columns.length * (wide + gap);
      const head = named ? 22 : single ? 0 : 16;
      if (x > 0 && x + w > width) { x = 0; y += lineHeight + 14; lineHeight = 0; }
      if (!single) texts.push({x, y: y + 7, text: blockName(block, number)});
      block.columns.forEach((node, c) => {
        if (named) {
          texts.push({x: x + nameWidth + c * (wide + gap) + wide / 2, y: y + 10, align: "center",
                      text: columnName(model, node, wide)});
        }
      });
      block.rows.forEach((node, r) => {
        if (named) {
          texts.push({x: x + nameWidth - 8, y: y + head + r * (size + gap) + size / 2,
                      align: "right", text: model.nodeName(node)});
        }
      });
      for (const [at, ports] of block.cells) {
        const r = Math.floor(at / block.columns.length);
        const c = at % block.columns.length;
        const other = model.peerNode(ports[0]);
        items.push({x: x + nameWidth + c * (wide + gap), y: y + head + r * (size + gap), w: wide,
                    h: size, ports, label: named && wide >= 40 ? " " : undefined,
                    name: `${model.nodeName(block.rows[r])} – ${model.nodeName(other)}` +
                          (ports.length > 1 ? `, ${ports.length} cables` : ""),
                    href: ports.length === 1 ? `#/port/${model.portName(ports[0])}`
                                             : `#/node/${model.nodeName(block.rows[r])}`});
      }
      lineHeight = Math.max(lineHeight, head + block.rows.length * (size + gap));
      x += w + 14;
    });
    return {height: y + lineHeight + 4, items, texts};
  };
}

function columnName(model, node, room) {
  if (node < 0) return String(-node);
  const name = model.nodeName(node);
  const fits = Math.floor(room / 6.2);
  return name.length <= fits ? name : (name.match(/\d+$/) || [name.slice(0, fits)])[0];
}

/// Returns links to drawings of the blocks.
function podLinks(level) {
  return h("p", {class: "pods"}, level.blocks.map((block, number) =>
    link(`#/pod/${level.tier}/${number}`,
         level.blocks.length > 1 ? blockName(block, number) : "As a picture")));
}

function legend(metric) {
  const steps = metric === "errors"
    ? ["none", "1/s", "", "4", "", "16", "", "64", "", "256", "512+"]
    : ["idle", "", "10 %", "", "30 %", "", "50 %", "", "70 %", "", "90 %+"];
  return h("div", {class: "scale", role: "img",
                   "aria-label": "Scale from idle to full; × is down, a dot is errors"},
           scale().map((colour, i) => {
             const swatch = h("span", {class: "swatch"});
             swatch.style.background = colour;
             return h("span", {class: "step"}, swatch, h("small", {}, steps[i]));
           }),
           h("span", {class: "step"}, h("span", {class: "swatch down"}, "×"),
             h("small", {}, "down")),
           h("span", {class: "step"}, h("span", {class: "swatch dot"}), h("small", {}, "errors")));
}

/// Makes the numbers at the top. Returns {element, update}.
function tiles(model) {
  const parts = ["Hosts", "Cables", "Traffic", "Waiting", "Errors", "Alarms"].map((name) => {
    const [value, note] = [h("strong", {}), h("small", {class: "muted"})];
    return {value, note, tile: h("a", {}, h("span", {class: "muted"}, name), value, note)};
  });
  const update = () => tileTexts(model).forEach(([value, note, bad, href], i) => {
    renew(parts[i].value, value);
    renew(parts[i].note, note);
    renew(parts[i].tile, null, {class: "tile" + (bad ? " alert" : ""), href});
  });
  update();
  return {element: h("div", {class: "tiles"}, parts.map((part) => part.tile)), update};
}

/// Returns [value, note, whether it is bad, address] for each number at the top.
function tileTexts(model) {
  const {state, load, wait, errors} = model.shown;
  const {peer: peers, mbps, isHostPort, hostCount: hosts} = model;
  const switches = model.nodeCount - hosts;
  let [down, cables, bytes, waiting, bad] = [0, 0, 0, 0, 0];
  for (let port = 0; port < model.portCount; ++port) {
    const peer = peers[port];
    if (peer > port || peer < 0) {
      ++cables;
      if (state[port] !== ACTIVE || (peer >= 0 && state[peer] !== ACTIVE)) ++down;
    }
    if (isHostPort[port]) bytes += load[port] * mbps[port] * 1e3;
    if (wait[port] >= 100) ++waiting;
    if (errors[port]) ++bad;
  }
  const alarms = model.alarms().length;
  return [
    [count(hosts), `${count(switches)} switches`, false, "#/table/ports?q=kind:host"],
    [count(cables), down ? `× ${count(down)} down` : "all up", down > 0,
     down ? "#/table/cables?q=state:down" : "#/table/cables"],
    [short(bytes, "b/s"), "sent by the hosts, about", false,
     "#/table/ports?q=kind:host&sort=load&descending=1"],
    [count(waiting), "ports wait 10 % or more", waiting > 0,
     "#/table/ports?q=wait>=10&sort=wait&descending=1"],
    [count(bad), "ports count errors now", bad > 0, "#/table/ports?q=errors>0"],
    [count(alarms), alarms ? "active" : "none", alarms > 0, "#/health"],
  ];
}

/// Returns the ports with the largest values, the largest first.
function busiestPorts(model, metric) {
  const values = model.shown[metric];
  const ports = [];
  let least = 0;
  for (let port = 0; port < model.portCount; ++port) {
    if (values[port] <= least) continue;
    ports.push(port);
    if (ports.length > 64) {
      ports.sort((a, b) => values[b] - values[a]).length = RANKED;
      least = values[ports[RANKED - 1]];
    }
  }
  ports.sort((a, b) => values[b] - values[a]);
  ports.length = Math.min(RANKED, ports.length);
  return ports;
}

/// Makes the list of the busiest ports. Returns {element, update}.
function ranking(model) {
  const rows = Array.from({length: RANKED}, () => {
    const [name, to, value] = [h("a", {}), h("span", {class: "muted"}),
                               h("span", {class: "value"})];
    const meter = h("meter", {min: 0, max: 1});
    return {name, to, meter, value, row: h("li", {}, name, to, meter, value)};
  });
  const list = h("ol", {class: "ranking"});
  const idle = h("p", {class: "muted"}, "Nothing: all ports are idle.");
  const element = h("div", {});
  const update = (metric) => {
    const values = model.shown[metric];
    const ports = busiestPorts(model, metric);
    ports.forEach((port, i) => {
      const {name, to, meter, value} = rows[i];
      const share = metric === "errors" ? 0 : values[port] / 1000;
      renew(name, model.portName(port), {href: `#/port/${model.portName(port)}`});
      renew(to, ` to ${model.peerName(port)}`);
      renew(meter, null, {value: String(share), "aria-label": METRICS[metric].name});
      renew(value, metric === "errors" ? short(values[port], "/s") : percent(values[port]));
    });
    if (list.children.length !== ports.length) {
      list.replaceChildren(...rows.slice(0, ports.length).map((each) => each.row));
    }
    const shown = ports.length ? list : idle;
    if (element.firstChild !== shown) element.replaceChildren(shown);
  };
  return {element, update};
}

export function overview(model, {query}) {
  let metric = METRICS[query.get("by")] ? query.get("by") : "load";
  const canvases = [];
  const add = (title, layout) => {
    const canvas = new CellCanvas(model, title, layout);
    canvas.metric = metric;
    canvases.push(canvas);
    return canvas.element;
  };
  const top = tiles(model);
  const scaleBox = h("div", {}, legend(metric));
  const ranked = ranking(model);
  ranked.update(metric);
  const alarms = h("div", {}, alarmList(model, 8));
  const problem = h("p", {class: "problem", role: "alert", hidden: true});
  const columns = portColumns(model);
  const refilter = (text) => {
    remember({q: text});
    try {
      const test = compile(text, columns);
      const mask = text.trim() ? new Uint8Array(model.portCount) : null;
      for (let port = 0; mask && port < model.portCount; ++port) mask[port] = test(port) ? 1 : 0;
      problem.hidden = true;
      canvases.forEach((canvas) => { canvas.mask = mask; canvas.update(null); });
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
      const none = new Uint8Array(model.portCount);  // A filter that is wrong matches nothing.
      canvases.forEach((canvas) => { canvas.mask = none; canvas.update(null); });
    }
  };
  const choose = (next) => {
    metric = next;
    remember({by: next === "load" ? "" : next});
    switcher.querySelectorAll("button").forEach((each) =>
      each.setAttribute("aria-pressed", String(each.dataset.metric === next)));
    scaleBox.replaceChildren(legend(metric));
    ranked.update(metric);
    canvases.forEach((canvas) => { canvas.metric = metric; canvas.update(null); });
  };
  const switcher = h("div", {class: "choice", role: "group", "aria-label": "Colour by"},
    Object.entries(METRICS).map(([key, {name, help}]) => {
      const each = button(name, () => choose(key), {title: help,
                                                    "aria-pressed": String(key === metric)});
      each.dataset.metric = key;
      return each;
    }));
  const filter = h("input", {type: "search", class: "filter", value: query.get("q") || "",
                             placeholder: "Filter, as in  state:down name~leaf load>50",
                             "aria-label": "Filter the map", spellcheck: false,
                             oninput: (event) => refilter(event.target.value)});
  const tiers = nodesByTier(model).map((nodes, tier) => ({nodes, tier})).reverse()
    .filter(({nodes}) => nodes.length);
  const element = h("div", {class: "view"},
    h("h1", {class: "unseen"}, `Overview of ${model.fabric}`), top.element,
    h("div", {class: "bar"}, switcher, filter, scaleBox), problem,
    h("div", {class: "columns"},
      h("div", {class: "main-column"},
        panel("Tiers, by the worst port", {}, tiers.map(({nodes, tier}) => h("div",
          {class: "tier"}, h("h3", {}, tierName(model, tier), " ",
            h("span", {class: "muted"}, count(nodes.length))),
          add(`${tierName(model, tier)}: ${nodes.length}`,
              stripLayout(tierCells(model, tier, nodes)))))),
        levels(model).map((level) => panel(`${level.title}, by the busiest cable`,
          {class: "matrix"},
          add(`Matrix of ${level.title}`, matrixLayout(model, level)), podLinks(level)))),
      h("div", {class: "side-column"},
        panel("Alarms", {}, alarms),
        panel("Busiest ports", {}, ranked.element))));
  if (filter.value) refilter(filter.value);
  const refreshNumbers = onceAFrame(() => {
    top.update();
    ranked.update(metric);
  });
  return {
    element,
    title: "Overview",
    change: (ports) => {
      canvases.forEach((canvas) => canvas.update(ports));
      if (ports === null || ports.length) refreshNumbers();
    },
    events: () => {
      alarms.replaceChildren(alarmList(model, 8));
      refreshNumbers();
    },
    theme: () => {
      scaleBox.replaceChildren(legend(metric));
      canvases.forEach((canvas) => canvas.update(null));
    },
    close: () => canvases.forEach((canvas) => canvas.close()),
  };
}
