// SPDX-License-Identifier: BSD-2-Clause
// Many coloured cells on a canvas: the strips of tiers, the matrix of cables. Each cell stands for
// some ports and shows the worst of them, in either direction. Once a frame, cells whose ports changed
// are drawn again if they look different now, all of one colour together. Arrow keys move from cell
// to cell, Enter opens a cell, and the cell under the cursor is described in words.

import {h, announce, onceAFrame} from "./dom.js";
import {bucket, downColour, inkOn, scale} from "./colour.js";
import {percent, short} from "./format.js";
import {ACTIVE} from "./model.js";

const ROUND_ABOVE = 26;  // Wider cells have round corners.
const OFTEN = -1;        // The look of cells with more than a colour, which are always drawn.

export class CellCanvas {
  /// `layout(width)` returns {height, items, texts}: items are {x, y, w, h, ports, name, href,
  /// label}, texts {x, y, text, vertical}.
  constructor(model, title, layout) {
    this.model = model;
    this.layout = layout;
    this.metric = "load";
    this.mask = null;       // By port: 0 if the filter leaves it out.
    this.at = -1;
    this.canvas = h("canvas", {tabIndex: 0, role: "application", "aria-label": title,
                               "aria-roledescription": "map of cells"});
    this.tip = h("div", {class: "tip", hidden: true});
    this.element = h("div", {class: "cells"}, this.canvas, this.tip);
    this.canvas.addEventListener("mousemove", (event) => this.hover(event));
    this.canvas.addEventListener("mouseleave", () => this.select(-1));
    this.canvas.addEventListener("click", () => this.open());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("blur", () => this.select(-1));
    this.redraw = onceAFrame(() => this.drawAll());
    this.drawSoon = onceAFrame(() => this.drawChanged());
    this.observer = new ResizeObserver(() => this.place());
    this.observer.observe(this.element);
    // Cells that cannot be seen are drawn when they come into view.
    this.inView = true;
    this.stale = false;
    this.watcher = new IntersectionObserver(([entry]) => {
      this.inView = entry.isIntersecting;
      if (this.inView && this.stale) this.drawAll();
    });
    this.watcher.observe(this.element);
  }

  close() {
    this.observer.disconnect();
    this.watcher.disconnect();
  }

  place() {
    const width = this.element.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    const {height, items, texts} = this.layout(width);
    this.items = items;
    this.texts = texts || [];
    this.height = height;
    this.changed = [];                              // Items to look at again.
    this.isChanged = new Uint8Array(items.length);
    this.looks = new Int16Array(items.length);
    this.itemOf = new Int32Array(this.model.portCount).fill(-1);
    items.forEach((item, at) => {
      for (const port of item.ports) {
        this.itemOf[port] = at;
        if (this.model.peer[port] >= 0 && !item.oneEnd) this.itemOf[this.model.peer[port]] = at;
      }
    });
    const ratio = devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.height = `${height}px`;
    this.context = this.canvas.getContext("2d");
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawAll();
  }

  /// Returns what an item shows: the value of its worst port, how many ports are
  /// down, and their errors.
  sum(item) {
    const {state, load, wait, errors} = this.model.shown;
    const {mask, model: {peer: peers}} = this;
    const values = this.metric === "wait" ? wait : this.metric === "errors" ? errors : load;
    const {ports, oneEnd} = item;
    let [worst, down, bad] = [0, 0, 0];
    let matches = mask === null;
    for (let i = 0; i < ports.length; ++i) {
      const port = ports[i];
      const value = values[port];
      if (state[port] !== ACTIVE) ++down;
      else if (value > worst) worst = value;
      bad += errors[port];
      const other = peers[port];
      const isLoad = values === load;  // What the other end sends is what this port receives.
      if (other >= 0 && (isLoad || !oneEnd) && state[other] === ACTIVE && values[other] > worst) {
        worst = values[other];
      }
      const peer = oneEnd ? -1 : other;
      if (peer >= 0) {
        bad += errors[peer];
        matches = matches || mask[peer] === 1;
      }
      matches = matches || mask[port] === 1;
    }
    return {value: worst, down, bad, matches, step: bucket(this.metric, worst)};
  }

  /// Draws items, except those that look as before. Most are plain squares; those of one colour are
  /// drawn together, because a change of colour costs more than a square.
  drawItems(items, always) {
    const plain = scale().map(() => []);
    for (const at of items) {
      const item = this.items[at];
      const sum = this.sum(item);
      const look = item.label || sum.down ? OFTEN
        : sum.step * 4 + (sum.bad ? 2 : 0) + (sum.matches ? 1 : 0);
      if (!always && look !== OFTEN && look === this.looks[at]) continue;
      this.looks[at] = look;
      if (look === OFTEN || sum.bad || !sum.matches || item.w > ROUND_ABOVE) {
        this.drawItem(item, sum);
      } else {
        plain[sum.step].push(item);
      }
    }
    const {context} = this;
    plain.forEach((cells, step) => {
      if (!cells.length) return;
      context.fillStyle = scale()[step];
      for (const {x, y, w, h: height} of cells) context.fillRect(x, y, w, height);
    });
  }

  drawChanged() {
    const items = this.changed;
    this.changed = [];
    this.isChanged.fill(0);
    if (this.inView) this.drawItems(items, false);
    else this.stale = true;
  }

  drawItem(item, sum) {
    const {context} = this;
    const allDown = sum.down > 0 && sum.down === item.ports.length;
    const colours = scale();
    context.globalAlpha = sum.matches ? 1 : 0.18;
    context.clearRect(item.x, item.y, item.w, item.h);
    context.fillStyle = allDown ? downColour() : colours[sum.step];
    if (item.w > ROUND_ABOVE) {
      context.beginPath();
      context.roundRect(item.x, item.y, item.w, item.h, 4);
      context.fill();
    } else {
      context.fillRect(item.x, item.y, item.w, item.h);
    }
    if (sum.down && item.label && !allDown) {  // A narrow bar: a cross would hide the label.
      context.fillStyle = downColour();
      context.fillRect(item.x, item.y + 2, 4, item.h - 4);
    } else if (sum.down) {
      this.drawDown(item, allDown);
    }
    if (sum.bad && this.metric !== "errors") {
      context.fillStyle = downColour();
      const r = Math.min(3.5, item.w / 4);
      context.beginPath();
      context.arc(item.x + item.w - r - 1, item.y + r + 1, r, 0, 7);
      context.fill();
    }
    if (item.label) this.drawLabel(item, sum, allDown);
    context.globalAlpha = 1;
  }

  drawDown(item, all) {
    const {context} = this;
    const size = all ? Math.min(item.w, item.h) - 2 : Math.max(4, Math.min(item.w, item.h) / 3);
    const [x, y] = all ? [item.x + (item.w - size) / 2, item.y + (item.h - size) / 2]
                       : [item.x + 1, item.y + 1];
    context.fillStyle = downColour();
    if (!all) context.fillRect(x - 1, y - 1, size + 2, size + 2);
    if (all && item.label) return;
    context.strokeStyle = "#ffffff";
    context.lineWidth = Math.max(1, size / 7);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + size, y + size);
    context.moveTo(x + size, y);
    context.lineTo(x, y + size);
    context.stroke();
  }

  drawLabel(item, sum, allDown) {
    const {context} = this;
    context.fillStyle = allDown ? (scale()[0] === "#202b36" ? "#10161c" : "#ffffff")
                                : inkOn(sum.step);
    context.font = "600 12px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "middle";
    const value = allDown ? "down ×" : this.valueText(sum);
    if (item.h >= 34) {
      context.fillText(item.label, item.x + 8, item.y + item.h / 2 - 8, item.w - 14);
      context.font = "12px system-ui, sans-serif";
      context.fillText(sum.down && !allDown ? `${value}, ${sum.down} down ×` : value,
                       item.x + 8, item.y + item.h / 2 + 8, item.w - 14);
    } else {
      context.textAlign = "center";
      context.fillText(value, item.x + item.w / 2, item.y + item.h / 2 + 0.5, item.w - 4);
    }
  }

  valueText({value}) { return this.metric === "errors" ? short(value, "/s") : percent(value); }

  drawAll() {
    if (!this.context) return;
    const {context} = this;
    const style = getComputedStyle(this.element);
    context.clearRect(0, 0, this.width, this.height);
    this.drawItems(this.items.keys(), true);
    this.changed = [];
    this.isChanged.fill(0);
    this.stale = false;
    context.fillStyle = style.getPropertyValue("--muted");
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const each of this.texts) {
      context.save();
      context.translate(each.x, each.y);
      if (each.vertical) context.rotate(-Math.PI / 2);
      context.textAlign = each.align || "left";
      context.fillText(each.text, 0, 0);
      context.restore();
    }
    this.drawCursor();
  }

  drawCursor() {
    const item = this.items[this.at];
    if (!item) return;
    this.context.strokeStyle = getComputedStyle(this.element).getPropertyValue("--text");
    this.context.lineWidth = 2;
    this.context.strokeRect(item.x - 1, item.y - 1, item.w + 2, item.h + 2);
  }

  /// Draws the cells of ports that changed; all cells if `ports` is null.
  update(ports) {
    if (!this.context) return;
    if (!this.inView) {
      this.stale = true;
      return;
    }
    if (ports === null) {
      this.redraw();
      return;
    }
    const {itemOf, isChanged, changed} = this;
    const look = (at) => {
      if (at >= 0 && isChanged[at] === 0) {
        isChanged[at] = 1;
        changed.push(at);
      }
    };
    for (let i = 0; i < ports.length; ++i) {
      look(itemOf[ports[i]]);
      const peer = this.model.peer[ports[i]];
      if (peer >= 0) look(itemOf[peer]);
    }
    if (this.at >= 0) this.redraw();
    else if (changed.length) this.drawSoon();
  }

  describe(item) {
    const sum = this.sum(item);
    const down = sum.down ? `, ${sum.down} of ${item.ports.length} down` : "";
    const errors = sum.bad ? `, ${short(sum.bad)} errors/s` : "";
    return `${item.name}: ${this.valueText(sum)}${down}${errors}`;
  }

  hover(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    this.select(this.items.findIndex((item) => x >= item.x && x < item.x + item.w + 1 &&
                                               y >= item.y && y < item.y + item.h + 1));
  }

  select(at) {
    if (at === this.at) return;
    this.at = at;
    const item = this.items && this.items[at];
    this.tip.hidden = !item;
    this.canvas.style.cursor = item && item.href ? "pointer" : "default";
    if (item) {
      this.tip.textContent = this.describe(item);
      const right = item.x > this.width - 260;
      this.tip.style.left = right ? "auto" : `${item.x}px`;
      this.tip.style.right = right ? `${this.width - item.x - item.w}px` : "auto";
      this.tip.style.top = `${item.y + item.h + 6}px`;
    }
    this.drawAll();
  }

  open() {
    const item = this.items[this.at];
    if (item && item.href) location.hash = item.href;
  }

  key(event) {
    const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
    if (event.key === "Enter") this.open();
    const step = steps[event.key];
    if (!step || !this.items.length) return;
    event.preventDefault();
    this.select(this.at < 0 ? 0 : this.nearest(step));
    announce(this.describe(this.items[this.at]));
  }

  /// Returns the next cell in a direction; distance to the side counts three times.
  nearest([dx, dy]) {
    const from = this.items[this.at];
    let best = this.at;
    let distance = Infinity;
    this.items.forEach((item, at) => {
      const along = (item.x - from.x) * dx + (item.y - from.y) * dy;
      const off = Math.abs((item.x - from.x) * dy) + Math.abs((item.y - from.y) * dx);
      if (along > 0 && along + 3 * off < distance) {
        distance = along + 3 * off;
        best = at;
      }
    });
    return best;
  }
}
