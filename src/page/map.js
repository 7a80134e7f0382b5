// SPDX-License-Identifier: BSD-2-Clause
// A drawing (SVG) of some nodes and the cables between them: a row per tier, the hosts at the
// bottom. The colour of a cable shows its load, the width its speed; a cable that is down is
// dashed. Every node and cable is a link to its view.

import {h, s} from "./dom.js";
import {bucket, downColour, scale} from "./colour.js";
import {gbps, percent, stateName} from "./format.js";
import {ACTIVE} from "./model.js";

const BOX = 28;
const GAP = 120;
const MARKS_MAX = 2500;

export class NodeMap {
  /// `nodes` are indices of nodes, `cables` are ports, one of each cable. `marked` is a Set of
  /// ports: cables of other ports are faint.
  constructor(model, title, nodes, cables, marked = null) {
    this.model = model;
    this.title = title;
    this.nodes = [...new Set(nodes)];
    this.cables = cables;
    this.marked = marked;
    this.metric = "load";
    this.element = h("div", {class: "map"});
    this.observer = new ResizeObserver(() => this.place());
    this.observer.observe(this.element);
  }

  close() { this.observer.disconnect(); }

  place() {
    const width = Math.max(320, this.element.clientWidth);
    if (width === this.width) return;
    this.width = width;
    if (this.nodes.length + this.cables.length > MARKS_MAX) {
      this.element.replaceChildren(h("p", {class: "muted"},
        `${this.nodes.length} nodes and ${this.cables.length} cables are too many for a picture; ` +
        "take one of its switches."));
      return;
    }
    if (this.nodes.length === 0) {
      this.element.replaceChildren(h("p", {class: "muted"}, "There is nothing to draw here."));
      return;
    }
    this.positions();
    this.lines = new Map();
    const cables = s("g", {}, this.cables.map((port) => this.cable(port)));
    const boxes = s("g", {}, this.nodes.map((node) => this.box(node)));
    this.element.replaceChildren(
      s("svg", {viewBox: `0 0 ${width} ${this.height}`, width, height: this.height, role: "group",
                "aria-label": this.title}, cables, boxes));
    this.update(null);
  }

  positions() {
    const {model} = this;
    const rows = new Map();
    for (const node of this.nodes) {
      const tier = model.nodes.tier[node];
      if (!rows.has(tier)) rows.set(tier, []);
      rows.get(tier).push(node);
    }
    const tiers = [...rows.keys()].sort((a, b) => b - a);
    this.at = new Map();
    let y = 12;
    for (const tier of tiers) {
      const row = rows.get(tier).sort((a, b) => a - b);
      const widest = Math.max(...row.map((node) => this.label(node).length)) * 7.2 + 18;
      const fits = Math.floor(this.width / (Math.min(widest, 110) + 6));
      const upright = row.length > fits;
      const perLine = upright ? Math.floor(this.width / 22) : Math.max(1, row.length);
      const lineHeight = upright ? Math.min(widest, 130) : BOX;
      const lines = Math.ceil(row.length / perLine);
      row.forEach((node, i) => {
        const inLine = Math.min(perLine, row.length - Math.floor(i / perLine) * perLine);
        const step = this.width / inLine;
        this.at.set(node, {x: step * (i % perLine) + step / 2,
                           y: y + Math.floor(i / perLine) * (lineHeight + 10) + lineHeight / 2,
                           w: upright ? 18 : Math.min(step - 6, Math.min(widest, 160)),
                           h: lineHeight, upright});
      });
      y += lines * (lineHeight + 10) + GAP;
    }
    this.height = y - GAP + 6;
  }

  label(node) {
    const name = this.model.nodeName(node);
    return this.model.isSwitch(node) ? name : name.replace(/\/mlx5_0$/, "");
  }

  box(node) {
    const {x, y, w, h: height, upright} = this.at.get(node);
    const name = this.label(node);
    const room = Math.max(1, Math.floor(((upright ? height : w) - 10) / 7));
    const text = name.length > room ? name.slice(0, room - 1) + "…" : name;
    const turn = upright ? `rotate(-90 ${x} ${y})` : undefined;
    return s("a", {href: `#/node/${this.model.nodeName(node)}`,
                   "aria-label": this.model.nodeName(node)},
             s("title", {}, this.model.nodeName(node)),
             s("rect", {x: x - w / 2, y: y - height / 2, width: w, height, rx: 5,
                        class: this.model.isSwitch(node) ? "box" : "box host"}),
             s("text", {x, y: y + 0.5, "text-anchor": "middle", "dominant-baseline": "middle",
                        transform: turn}, text));
  }

  cable(port) {
    const {model} = this;
    const from = this.at.get(model.portNode[port]);
    const to = this.at.get(model.peerNode(port));
    if (!from || !to) return null;
    const [upper, lower] = from.y <= to.y ? [from, to] : [to, from];
    const twins = this.cables.filter((other) => model.portNode[other] === model.portNode[port] &&
                                                model.peerNode(other) === model.peerNode(port));
    const shift = twins.length > 1 ? (twins.indexOf(port) - (twins.length - 1) / 2) * 5 : 0;
    const y1 = upper.y + upper.h / 2;
    const y2 = lower.y - lower.h / 2;
    const same = upper.y === lower.y;
    const middle = (y1 + y2) / 2;
    const path = same
      ? `M${upper.x} ${upper.y} Q${(upper.x + lower.x) / 2} ${upper.y + 70} ${lower.x} ${lower.y}`
      : `M${upper.x + shift} ${y1} C${upper.x + shift} ${middle} ${lower.x + shift} ${middle} ` +
        `${lower.x + shift} ${y2}`;
    const line = s("path", {d: path, class: "cable", "stroke-width":
      Math.max(1.2, Math.min(4.5, Math.log2(model.mbps[port] / 12500 + 1) * 0.65))});
    const title = s("title", {});
    const element = s("a", {href: `#/port/${model.portName(port)}`}, title,
                      s("path", {d: path, class: "grip"}), line);
    this.lines.set(port, {line, title, element});
    return element;
  }

  update() {
    if (!this.lines) return;
    const {model} = this;
    const {state, load, wait, errors} = model.shown;
    const values = this.metric === "wait" ? wait : this.metric === "errors" ? errors : load;
    const colours = scale();
    for (const [port, {line, title, element}] of this.lines) {
      const peer = model.peer[port];
      const up = state[port] === ACTIVE && (peer < 0 || state[peer] === ACTIVE);
      const value = Math.max(values[port], peer < 0 ? 0 : values[peer]);
      const step = bucket(this.metric, value);
      line.setAttribute("stroke", up ? (step === 0 ? "var(--idle)" : colours[step]) : downColour());
      line.setAttribute("stroke-dasharray", up ? "none" : "4 5");
      const faint = this.marked && !this.marked.has(port) && !this.marked.has(peer);
      line.setAttribute("opacity", faint ? 0.25 : 1);
      const text = `${model.portName(port)} – ${model.peerName(port)}: ` +
        (up ? `load ${percent(load[port])} and back ${percent(model.received(port))}, waiting ${percent(wait[port])}, ` +
              `${gbps(model.mbps[port])} Gb/s` : stateName(state[port]));
      title.textContent = text;
      element.setAttribute("aria-label", text);
    }
  }
}
