// SPDX-License-Identifier: BSD-2-Clause
// A plot of one quantity over time on a canvas: the mean as a line, minimum and maximum as a band
// around it. Times that were not sampled are left empty. Arrow keys and the mouse read values.

import {h, onceAFrame, announce} from "./dom.js";

const LEFT = 74;
const BOTTOM = 22;
const TOP = 10;

/// Returns round numbers for an axis up to `most`.
function ticks(most) {
  if (!(most > 0)) return [0, 1];
  const rough = most / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const found = [];
  for (let at = 0; at < most + step; at += step) found.push(at);
  return found;
}

export class Plot {
  /// `series` are {name, colour (a custom property), points: [[time, mean, min, max]]}.
  /// `times` has clockText and timeText, as the model does; `text` formats a value.
  constructor(times, title, text) {
    this.times = times;
    this.title = title;
    this.text = text;
    this.series = [];
    this.range = [0, 1];
    this.cursor = -1;
    this.canvas = h("canvas", {tabIndex: 0, role: "application", "aria-label": `${title}, a plot`,
                               "aria-roledescription": "plot"});
    this.caption = h("figcaption", {}, h("span", {class: "plot-title"}, title),
                     this.legend = h("span", {class: "legend"}),
                     this.reading = h("span", {class: "muted reading"}));
    this.element = h("figure", {class: "plot"}, this.caption, this.canvas);
    this.draw = onceAFrame(() => this.drawAll());
    this.observer = new ResizeObserver(this.draw);
    this.observer.observe(this.element);
    this.canvas.addEventListener("mousemove", (event) => this.hover(event.offsetX));
    this.canvas.addEventListener("mouseleave", () => this.hover(-1));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  close() { this.observer.disconnect(); }

  set(series, range, slotS) {
    this.series = series;
    this.range = range;
    this.slotS = slotS;
    this.legend.replaceChildren(...series.map((each) => h("span", {class: `key ${each.mark}`},
                                                          each.name)));
    this.draw();
  }

  x(time) {
    return LEFT + (this.width - LEFT - 8) * (time - this.range[0]) /
           Math.max(1, this.range[1] - this.range[0]);
  }

  y(value) { return TOP + (this.height - TOP - BOTTOM) * (1 - value / this.most); }

  drawAll() {
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    if (!this.width) return;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    this.style = getComputedStyle(this.element);
    let most = 0;
    for (const each of this.series) {
      for (const point of each.points) most = Math.max(most, point[3]);
    }
    const marks = ticks(most);
    this.most = marks[marks.length - 1];
    this.drawAxes(context, marks);
    for (const each of this.series) this.drawSeries(context, each);
    this.drawCursor(context);
  }

  drawAxes(context, marks) {
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.lineWidth = 1;
    for (const mark of marks) {
      const y = Math.round(this.y(mark)) + 0.5;
      context.strokeStyle = this.style.getPropertyValue("--line");
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(this.width - 8, y);
      context.stroke();
      context.fillStyle = this.style.getPropertyValue("--muted");
      context.textAlign = "right";
      context.fillText(this.text(mark), LEFT - 8, y);
    }
    const parts = Math.max(2, Math.floor(this.width / 170));
    for (let i = 0; i <= parts; ++i) {
      const time = this.range[0] + (this.range[1] - this.range[0]) * i / parts;
      context.textAlign = i === 0 ? "left" : i === parts ? "right" : "center";
      const long = !this.times.isSimulation && this.range[1] - this.range[0] > 86400;
      context.fillText(long ? this.times.timeText(time * 1e6).slice(5, 16)
                            : this.times.clockText(time * 1e6),
                       this.x(time), this.height - 9);
    }
  }

  /// Returns the runs of points without a gap.
  runs(points) {
    const runs = [];
    let last = -Infinity;
    for (const point of points) {
      if (point[0] - last > 2.5 * this.slotS) runs.push([]);
      runs[runs.length - 1].push(point);
      last = point[0];
    }
    return runs;
  }

  drawSeries(context, series) {
    const colour = this.style.getPropertyValue(series.colour);
    for (const run of this.runs(series.points)) {
      context.fillStyle = colour;
      context.globalAlpha = 0.22;
      context.beginPath();
      run.forEach((p, i) => (i ? context.lineTo(this.x(p[0]), this.y(p[3]))
                               : context.moveTo(this.x(p[0]), this.y(p[3]))));
      [...run].reverse().forEach((p) => context.lineTo(this.x(p[0]), this.y(p[2])));
      context.fill();
      context.globalAlpha = 1;
      context.strokeStyle = colour;
      context.lineWidth = 1.75;
      context.setLineDash(series.dashed ? [5, 3] : []);
      context.beginPath();
      run.forEach((p, i) => (i ? context.lineTo(this.x(p[0]), this.y(p[1]))
                               : context.moveTo(this.x(p[0]), this.y(p[1]))));
      if (run.length === 1) context.arc(this.x(run[0][0]), this.y(run[0][1]), 1.5, 0, 7);
      context.stroke();
      context.setLineDash([]);
    }
  }

  drawCursor(context) {
    const time = this.cursor;
    if (time < 0) { this.reading.textContent = ""; return; }
    const x = Math.round(this.x(time)) + 0.5;
    context.strokeStyle = this.style.getPropertyValue("--muted");
    context.beginPath();
    context.moveTo(x, TOP);
    context.lineTo(x, this.height - BOTTOM);
    context.stroke();
    this.reading.textContent = this.describe(time);
  }

  describe(time) {
    const parts = this.series.map((each) => {
      const point = each.points.find((p) => p[0] <= time && time < p[0] + this.slotS);
      if (!point) return `${each.name} –`;
      const range = point[2] === point[3] ? ""
        : ` (${this.text(point[2])} to ${this.text(point[3])})`;
      return `${each.name} ${this.text(point[1])}${range}`;
    });
    return `${this.times.timeText(time * 1e6)}  ${parts.join(", ")}`;
  }

  hover(x) {
    const part = (x - LEFT) / (this.width - LEFT - 8);
    const time = this.range[0] + part * (this.range[1] - this.range[0]);
    this.cursor = x < LEFT || part > 1 ? -1 : Math.floor(time / this.slotS) * this.slotS;
    this.draw();
  }

  key(event) {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step) return;
    event.preventDefault();
    const from = this.cursor < 0 ? this.range[1] : this.cursor;
    this.cursor = Math.max(this.range[0], Math.min(this.range[1], from + step * this.slotS));
    announce(this.describe(this.cursor));
    this.draw();
  }
}
