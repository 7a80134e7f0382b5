// SPDX-License-Identifier: BSD-2-Clause
// The view of changes: how routes would change without some cables or switches; the changes that
// were made from this page, to undo them; captures.

import {h, button, link, panel} from "./dom.js";
import {get} from "./api.js";
import {actions, ask, onActions, setLink, setSwitch, startCapture, stopCapture, undoLast}
  from "./control.js";
import {count, percent, short} from "./format.js";
import {Grid} from "./grid.js";
import {remember} from "./route.js";

/// Returns the load that a port would have if traffic followed the routes: it grows in proportion
/// to the number of routes through the port.
function predicted(load, before, after) {
  return before === 0 ? null : load * after / before;
}

function resultTable(model, ports) {
  const rows = ports.map(([name, before, after]) => {
    const port = model.findPort(name);
    const load = port < 0 ? 0 : model.shown.load[port];
    return {name, before, after, load, then: predicted(load, before, after)};
  });
  const grid = new Grid("Ports whose routes change", [
    {key: "port", title: "Port", width: "1.4fr", value: (row) => row.name,
     href: (row) => `#/port/${row.name}`},
    {key: "before", title: "Routes now", number: true, value: (row) => row.before,
     text: (row) => count(row.before)},
    {key: "after", title: "Routes then", number: true, value: (row) => row.after,
     text: (row) => count(row.after)},
    {key: "factor", title: "Times", number: true, width: "90px",
     value: (row) => (row.before ? row.after / row.before : Infinity),
     text: (row) => (row.before ? `× ${(row.after / row.before).toFixed(2)}` : "new")},
    {key: "load", title: "Load now", number: true, value: (row) => row.load / 10,
     text: (row) => percent(row.load)},
    {key: "then", title: "Load then", number: true,
     value: (row) => (row.then === null ? 0 : row.then / 10),
     help: "If traffic stays as it is and spreads as routes do",
     text: (row) => (row.then === null ? "?" : percent(row.then)),
     mark: (row) => (row.then > 900 ? "bad" : "")},
  ], {sort: "after", descending: true});
  grid.setRows(rows);
  return grid;
}

function capturesPanel(model) {
  const list = h("div", {});
  const load = async () => {
    const {captures} = await get("/api/v1/captures");
    list.replaceChildren(captures.length ? h("ul", {class: "alarms"}, captures.map((each) => h(
      "li", {},
      `Capture ${each.id}: ${each.ports.join(", ") || "all HCAs"}, `,
      each.running ? `runs, ${short(each.bytes, "B")} ` : `${short(each.bytes, "B")} `,
      each.trouble ? h("span", {class: "problem"}, each.trouble) : null,
      each.running ? button("Stop", () => stopCapture(each.id).then(load)) : null,
      each.bytes ? h("a", {href: `/api/v1/captures/${each.id}`,
                           download: `capture-${each.id}.pcap`}, "Download") : null)))
      : h("p", {class: "muted"}, "None yet. Ports start one too."));
  };
  load().catch(() => {});
  return {
    load: () => load().catch(() => {}),
    element: panel("Captures", {}, list, h("div", {class: "bar"},
      button("Capture what all HCAs send…", async () => {
        const packets = await ask("Capture", "Packets", "1000");
        if (packets !== null) startCapture([], Number(packets) || 1000).then(load);
      }))),
  };
}

export function whatIfView(model, {query}) {
  const input = h("input", {id: "whatif-input", class: "filter", value: query.get("down") || "",
                            placeholder: "spine0, or leaf0:3, or several by commas",
                            spellcheck: false, autocomplete: "off"});
  const result = h("div", {"aria-live": "polite"});
  let grid = null;
  const wanted = () => input.value.split(/[\s,]+/).filter(Boolean);
  const apply = async () => {
    for (const name of wanted()) {
      await (name.includes(":") ? setLink(name, false) : setSwitch(name, false));
    }
  };
  const compute = async () => {
    remember({down: wanted().join(",")});
    if (!wanted().length) return;
    result.replaceChildren(h("p", {class: "muted"}, "Routing what would be left…"));
    try {
      const answer = await get(`/api/v1/whatif?down=${encodeURIComponent(wanted().join(","))}`);
      if (grid) grid.close();
      grid = resultTable(model, answer.ports);
      const lost = answer.pairs_before - answer.pairs_after;
      const tile = (name, value, note, bad) => h("div", {class: "tile" + (bad ? " alert" : "")},
        h("span", {class: "muted"}, name), h("strong", {}, value),
        h("small", {class: "muted"}, note));
      result.replaceChildren(
        h("div", {class: "tiles"},
          tile("Pairs of hosts cut off", count(lost), `of ${count(answer.pairs_before)}`, lost > 0),
          tile("Table entries", count(answer.entries_changed),
               `change, in ${count(answer.switches_changed)} switches`),
          tile("Ports", count(answer.ports.length), "get more or fewer routes"),
          tile("Engine", answer.engine, "routed what is left")),
        grid.element,
        model.about.control ? h("div", {class: "bar"},
          button(`Do it: ${wanted().join(", ")} off`, apply, {class: "danger"})) : null);
    } catch (error) {
      result.replaceChildren(h("p", {class: "problem"}, error.message));
    }
  };
  const doneList = h("div", {});
  const drawDone = () => doneList.replaceChildren(actions().length
    ? h("ol", {class: "alarms"}, [...actions()].reverse().map((each, i) => h("li", {},
        each.text, " ", i === 0 ? button("Undo", undoLast) : null)))
    : h("p", {class: "muted"}, model.about.control
        ? "Nothing was changed from this page."
        : "This server only shows. Start it with softib serve --allow-control to change things."));
  drawDone();
  const captures = model.about.control ? capturesPanel(model) : null;
  const stop = onActions(() => {
    drawDone();
    if (captures) captures.load();
  });
  compute();
  let beats = 0;
  return {
    element: h("div", {class: "view"}, h("h1", {}, "What if"),
      panel("Without these cables and switches", {class: "wide"},
        h("form", {class: "bar", onsubmit: (event) => { event.preventDefault(); compute(); }},
          h("label", {htmlFor: "whatif-input"}, "Down"), input,
          h("button", {type: "submit", class: "primary"}, "Predict")),
        h("p", {class: "muted"}, "Nothing in the fabric changes: the manager's routing engine " +
          "routes what would be left. ", link("#/overview", "The map"), " shows what is."),
        result),
      h("div", {class: "columns even"}, panel("Changed from here", {}, doneList),
        captures ? captures.element : null)),
    title: "What if",
    time: () => { if (captures && ++beats % 2 === 0) captures.load(); },
    close: () => { stop(); if (grid) grid.close(); },
  };
}
