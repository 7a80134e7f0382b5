// SPDX-License-Identifier: BSD-2-Clause
// What a report does beyond its pictures, which need none of this: another theme, timelines that
// zoom.
"use strict";

const root = document.documentElement;

function addTheme() {
  const button = document.getElementById("theme");
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches
    ? "dark" : "light")) === "dark";
  const show = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; show(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  button.hidden = false;
  show();
}

/// Returns a time in a unit of its size.
function timeText(seconds) {
  const [factor, unit] = seconds >= 1 ? [1, "s"] : seconds >= 1e-3 ? [1e3, "ms"]
    : seconds >= 1e-6 ? [1e6, "us"] : [1e9, "ns"];
  return `${Number((seconds * factor).toPrecision(4))} ${unit}`;
}

class Timeline {
  constructor(figure) {
    this.figure = figure;
    this.seconds = Number(figure.dataset.seconds);
    this.units = Number(figure.dataset.units);
    this.lanes = figure.querySelector(".lanes");
    this.reading = figure.querySelector(".reading");
    this.times = figure.querySelector(".times");
    this.rows = [...this.lanes.querySelectorAll(".lane")].map((lane) => this.row(lane));
    this.from = 0;
    this.wide = this.units;
    this.pointers = new Map();
    this.listen();
    figure.querySelector(".tools").hidden = false;
  }

  /// Reads the events of a lane from its paths.
  row(lane) {
    const events = [];
    for (const path of lane.querySelectorAll("path")) {
      const names = (path.dataset.n || "").split(" ");
      let at = 0;
      [...path.getAttribute("d").matchAll(/[Mm](\d+) \d+h(\d+)/g)].forEach((found, i) => {
        at += Number(found[1]);
        events.push({start: at, wide: Number(found[2]), name: names[i] || "",
                     what: path.dataset.what, below: path.classList.contains("below")});
        at += Number(found[2]);
      });
    }
    events.sort((a, b) => a.start - b.start);
    return {events, name: lane.dataset.name, box: lane.querySelector("div"),
            svg: lane.querySelector("svg")};
  }

  listen() {
    this.lanes.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
    this.lanes.addEventListener("keydown", (event) => this.key(event));
    this.lanes.addEventListener("dblclick", () => this.show(0, this.units));
    this.lanes.addEventListener("pointerdown", (event) => this.down(event));
    this.lanes.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) {
      this.lanes.addEventListener(end, (event) => this.pointers.delete(event.pointerId));
    }
    const [closer, wider, all] = this.figure.querySelectorAll("button");
    closer.addEventListener("click", () => this.zoom(0.5, 0.5));
    wider.addEventListener("click", () => this.zoom(2, 0.5));
    all.addEventListener("click", () => this.show(0, this.units));
  }

  /// Returns where a pointer is, as a part of what is shown.
  part(event) {
    const box = this.rows[0].box.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  }

  wheel(event) {
    if (event.deltaY > 0 && this.wide >= this.units) return;  // The page scrolls on.
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.show(this.from + this.wide * (event.deltaX || event.deltaY) / 800, this.wide);
    } else this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 250), this.part(event));
  }

  key(event) {
    const acts = {
      ArrowLeft: () => this.show(this.from - this.wide / 8, this.wide),
      ArrowRight: () => this.show(this.from + this.wide / 8, this.wide),
      "+": () => this.zoom(0.5, 0.5), "=": () => this.zoom(0.5, 0.5),
      "-": () => this.zoom(2, 0.5), "0": () => this.show(0, this.units),
      Home: () => this.show(0, this.wide), End: () => this.show(this.units, this.wide),
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    acts[event.key]();
    this.reading.textContent = `${this.text(this.from)} to ${this.text(this.from + this.wide)}`;
  }

  down(event) {
    this.pointers.set(event.pointerId, this.part(event));
    this.lanes.setPointerCapture(event.pointerId);
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (before === undefined) {
      this.read(event);
      return;
    }
    const now = this.part(event);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId);
    if (other) {
      const apart = Math.max(0.02, Math.abs(now - other[1]));
      this.zoom(Math.max(0.02, Math.abs(before - other[1])) / apart, other[1]);
    } else this.show(this.from - (now - before) * this.wide, this.wide);
    this.pointers.set(event.pointerId, now);
  }

  zoom(factor, part) {
    const wide = Math.min(this.units, Math.max(this.units / 5000, this.wide * factor));
    this.show(this.from + (this.wide - wide) * part, wide);
  }

  show(from, wide) {
    this.wide = wide;
    this.from = Math.max(0, Math.min(this.units - wide, from));
    if (!this.asked) this.asked = requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.asked = 0;
    const marks = this.times.children;
    for (let i = 0; i < marks.length; ++i) {
      marks[i].textContent = this.text(this.from + this.wide * i / (marks.length - 1));
    }
    const room = this.rows[0].box.clientWidth;
    for (const row of this.rows) {
      row.svg.setAttribute("viewBox", `${this.from} 0 ${this.wide} 20`);
      row.box.querySelectorAll("em").forEach((each) => each.remove());
      for (const each of row.events) {
        const pixels = each.wide / this.wide * room;
        if (pixels < 26 || !each.name || each.start > this.from + this.wide ||
            each.start + each.wide < this.from) continue;
        const label = document.createElement("em");
        label.textContent = each.name;
        label.style.left = `${(each.start - this.from) / this.wide * 100}%`;
        label.style.width = `${each.wide / this.wide * 100}%`;
        row.box.append(label);
      }
    }
  }

  text(at) { return at <= 0 ? "0" : timeText(at / this.units * this.seconds); }

  read(event) {
    const row = this.rows.find((each) => {
      const box = each.box.getBoundingClientRect();
      return event.clientY >= box.top && event.clientY < box.bottom;
    });
    const at = this.from + this.part(event) * this.wide;
    const low = row && event.clientY > row.box.getBoundingClientRect().top + 18;
    const found = row && row.events.find((each) => each.below === low && each.start <= at &&
                                                   at < each.start + each.wide);
    this.reading.textContent = !row ? ""
      : `${row.name}, at ${this.text(at)}: ${found ? `${`${found.what} ${found.name}`.trim()}, ` +
        timeText(found.wide / this.units * this.seconds) : low ? "nothing is sent" : "waits"}`;
  }
}

addTheme();
for (const figure of document.querySelectorAll(".timeline")) new Timeline(figure);
