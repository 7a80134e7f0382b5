// SPDX-License-Identifier: BSD-2-Clause
// A table of any length. Only the rows in view are in the document. Columns are {key, title, value,
// text, href, number, width, mark}; rows are numbers or objects, which the columns' functions take.

import {h, onceAFrame, button, announce} from "./dom.js";
import {compile, example} from "./filter.js";
import {count} from "./format.js";

const ROW = 30;
const EXTRA = 8;

export class Grid {
  /// `settings` has filter, sort, descending; `onSettings` is called when the user changes them.
  constructor(title, columns, settings, onSettings) {
    this.columns = columns;
    this.title = title;
    this.settings = {filter: "", sort: "", descending: false, ...settings};
    this.onSettings = onSettings || (() => {});
    this.rows = [];
    this.shown = [];
    this.at = 0;
    this.input = h("input", {type: "search", value: this.settings.filter, spellcheck: false,
                             placeholder: `Filter, as in  ${example(columns)}`,
                             "aria-label": `Filter ${title}`, class: "filter",
                             oninput: () => this.setFilter(this.input.value)});
    this.problem = h("p", {class: "problem", role: "alert", hidden: true});
    this.total = h("span", {class: "muted total", role: "status"});
    this.head = h("div", {role: "row", class: "grid-head", "aria-rowindex": 1});
    this.body = h("div", {class: "grid-body", role: "presentation"});
    this.view = h("div", {class: "grid-view", tabIndex: 0, role: "grid", "aria-label": title,
                          onkeydown: (event) => this.key(event)},
                  h("div", {role: "rowgroup", class: "grid-top"}, this.head),
                  h("div", {role: "rowgroup", class: "grid-rows"}, this.body));
    this.draw = onceAFrame(() => this.drawRows());
    this.view.addEventListener("scroll", this.draw);
    this.element = h("div", {class: "grid"},
                     h("div", {class: "bar"}, this.input, this.total,
                       button("Download CSV", () => this.download())),
                     this.problem, this.view);
    this.view.style.setProperty("--columns", columns.map((c) => c.width || "1fr").join(" "));
    this.observer = new ResizeObserver(this.draw);
    this.observer.observe(this.view);
    this.drawHead();
  }

  close() { this.observer.disconnect(); }

  setRows(rows) {
    this.rows = rows;
    this.refresh();
  }

  setFilter(text) {
    this.settings.filter = text;
    this.onSettings(this.settings);
    this.refresh();
  }

  sortBy(key) {
    const {settings} = this;
    const numeric = this.columns.find((column) => column.key === key).number;
    settings.descending = settings.sort === key ? !settings.descending : Boolean(numeric);
    settings.sort = key;
    this.onSettings(settings);
    this.drawHead();
    this.refresh();
  }

  drawHead() {
    this.head.replaceChildren(...this.columns.map((column) => {
      const sorted = this.settings.sort === column.key;
      const arrow = sorted ? (this.settings.descending ? " ▾" : " ▴") : "";
      return h("div", {role: "columnheader", class: column.number ? "number" : "",
                       "aria-sort": sorted ? (this.settings.descending ? "descending"
                                                                       : "ascending") : "none"},
               button(column.title + arrow, () => this.sortBy(column.key),
                      {class: "plain", title: column.help || `Sort by ${column.title}`}));
    }));
  }

  /// Filters and sorts all rows again.
  refresh() {
    try {
      const test = compile(this.settings.filter, this.columns);
      this.shown = Array.from(this.rows).filter(test);
      this.problem.hidden = true;
    } catch (error) {
      this.problem.textContent = error.message;
      this.problem.hidden = false;
      this.shown = [];  // A filter that is wrong matches nothing.
    }
    const column = this.columns.find((each) => each.key === this.settings.sort);
    if (column) {
      const sign = this.settings.descending ? -1 : 1;
      const keyed = this.shown.map((row) => [column.value(row), row]);
      const collator = new Intl.Collator("en", {numeric: true});
      keyed.sort(column.number ? (a, b) => sign * (a[0] - b[0])
                               : (a, b) => sign * collator.compare(a[0], b[0]));
      this.shown = keyed.map((each) => each[1]);
    }
    this.at = Math.min(this.at, Math.max(0, this.shown.length - 1));
    this.total.textContent = this.shown.length === this.rows.length
      ? `${count(this.rows.length)} rows`
      : `${count(this.shown.length)} of ${count(this.rows.length)} rows`;
    this.view.setAttribute("aria-rowcount", this.shown.length + 1);
    this.body.style.height = `${this.shown.length * ROW}px`;
    this.drawRows();
  }

  drawRows() {
    const top = this.view.scrollTop;
    const from = Math.max(0, Math.floor(top / ROW) - EXTRA);
    const to = Math.min(this.shown.length, Math.ceil((top + this.view.clientHeight) / ROW) + EXTRA);
    const rows = [];
    for (let at = from; at < to; ++at) rows.push(this.rowElement(at));
    this.body.replaceChildren(...rows);
  }

  rowElement(at) {
    const row = this.shown[at];
    const element = h("div", {role: "row", "aria-rowindex": at + 2, id: `row-${at}`,
                              class: "grid-row" + (at === this.at ? " current" : ""),
                              onclick: () => { this.at = at; this.drawRows(); }},
                      this.columns.map((column) => this.cellElement(column, row)));
    element.style.transform = `translateY(${at * ROW}px)`;
    return element;
  }

  cellElement(column, row) {
    const text = column.text ? column.text(row) : String(column.value(row));
    const href = column.href && column.href(row);
    const mark = column.mark && column.mark(row);
    return h("div", {role: "gridcell", title: text,
                     class: (column.number ? "number " : "") + (mark || "")},
             href ? h("a", {href, tabIndex: -1}, text) : text);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.view.clientHeight / ROW) - 2);
    const moves = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
                   Home: -this.shown.length, End: this.shown.length};
    if (event.target !== this.view) return;
    if (event.key === "Enter" && this.shown.length) {
      const column = this.columns.find((each) => each.href && each.href(this.shown[this.at]));
      if (column) location.hash = column.href(this.shown[this.at]);
    }
    if (!(event.key in moves) || !this.shown.length) return;
    event.preventDefault();
    this.at = Math.max(0, Math.min(this.shown.length - 1, this.at + moves[event.key]));
    const top = this.at * ROW;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    const bottom = top + 2 * ROW - this.view.clientHeight;
    if (bottom > this.view.scrollTop) this.view.scrollTop = bottom;
    this.drawRows();
    this.view.setAttribute("aria-activedescendant", `row-${this.at}`);
    announce(this.columns.map((column) => `${column.title} ${column.value(this.shown[this.at])}`)
      .join(", "));
  }

  csv() {
    const quote = (value) => (/[",\n]/.test(String(value))
      ? `"${String(value).replaceAll('"', '""')}"` : String(value));
    const lines = [this.columns.map((column) => column.key).join(",")];
    for (const row of this.shown) {
      lines.push(this.columns.map((column) => quote(column.value(row))).join(","));
    }
    return lines.join("\n") + "\n";
  }

  download() {
    const href = URL.createObjectURL(new Blob([this.csv()], {type: "text/csv"}));
    h("a", {href, download: `${this.title.toLowerCase().replaceAll(" ", "-")}.csv`}).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  }
}
