// SPDX-License-Identifier: BSD-2-Clause
// The view of tables: all ports, cables, events, partitions and jobs.

import {h} from "./dom.js";
import {get} from "./api.js";
import {cableColumns, portColumns} from "./columns.js";
import {count, short} from "./format.js";
import {Grid} from "./grid.js";
import {remember} from "./route.js";
import {SHAPES, objectAddress} from "./view_health.js";

/// Returns a column of times. Times of a simulation are filtered and sorted by microseconds.
function timeColumn(model, key, title, field) {
  const text = (event) => model.timeText(event[field]);
  return {key, title, width: "170px", text, number: model.isSimulation,
          value: model.isSimulation ? (event) => model.virtualNs(event[field]) / 1000 : text};
}

const eventColumns = (model) => [
  timeColumn(model, "last", "Last seen", "last_us"),
  {key: "severity", title: "Severity", width: "110px", value: (e) => e.severity,
   text: (e) => `${SHAPES[e.severity]} ${e.severity}`,
   mark: (e) => `severity ${e.severity.toLowerCase()}`},
  {key: "kind", title: "Kind", width: "150px", value: (e) => e.kind},
  {key: "object", title: "Where", width: "minmax(110px, 1fr)", value: (e) => e.object,
   href: (e) => objectAddress(model, e.object)},
  {key: "text", title: "What", width: "minmax(200px, 2.4fr)", value: (e) => e.text},
  {key: "count", title: "Times", width: "80px", number: true, value: (e) => e.count},
  {key: "active", title: "Active", width: "80px", value: (e) => (e.active ? "yes" : "no")},
  timeColumn(model, "first", "First seen", "first_us"),
];

const pkeyColumns = [
  {key: "pkey", title: "P_Key", width: "100px", value: (row) => row.pkey},
  {key: "node", title: "Node", width: "1fr", value: (row) => row.node,
   href: (row) => `#/node/${row.node}`},
  {key: "membership", title: "Membership", width: "140px", value: (row) => row.membership},
];

const jobColumns = [
  {key: "kind", title: "Kind", width: "100px", value: (row) => row.kind},
  {key: "id", title: "Id", width: "90px", number: true, value: (row) => row.id},
  {key: "name", title: "Name", width: "minmax(140px, 2fr)", value: (row) => row.name},
  {key: "host", title: "Host", width: "minmax(90px, 1fr)", value: (row) => row.host},
  {key: "state", title: "State", width: "110px", value: (row) => row.state},
  {key: "qps", title: "QPs", width: "90px", number: true, value: (row) => row.qps,
   text: (row) => count(row.qps)},
  {key: "mrs", title: "MRs", width: "90px", number: true, value: (row) => row.mrs,
   text: (row) => count(row.mrs)},
  {key: "bytes", title: "Registered", width: "120px", number: true, value: (row) => row.bytes,
   text: (row) => short(row.bytes, "B")},
];

/// Returns the table of a name: its columns, its rows, and the event on which it is brought up to
/// date.
function tableOf(model, name) {
  const tables = {
    ports: {title: "Ports", columns: portColumns(model), on: "change",
            rows: () => Int32Array.from({length: model.portCount}, (_, i) => i)},
    cables: {title: "Cables", columns: cableColumns(model), on: "change",
             rows: () => model.cables()},
    events: {title: "Events", columns: eventColumns(model), on: "events",
             rows: () => [...model.events.values()].sort((a, b) => b.last_us - a.last_us)},
    pkeys: {title: "P_Keys", columns: pkeyColumns, rows: async () =>
      (await get("/api/v1/pkeys")).pkeys.flatMap((key) => [
        ...key.full.map((node) => ({pkey: key.pkey, node, membership: "full"})),
        ...key.limited.map((node) => ({pkey: key.pkey, node, membership: "limited"}))])},
    jobs: {title: "Jobs", columns: jobColumns, every: 2,
           rows: async () => (await get("/api/v1/jobs")).jobs},
  };
  return tables[name];
}

export function tableView(model, {name, query}) {
  const table = tableOf(model, name);
  if (!table) return {element: h("div", {class: "view"}, h("h1", {}, `There is no table ${name}`))};
  const grid = new Grid(table.title, table.columns,
    {filter: query.get("q") || "", sort: query.get("sort") || "",
     descending: query.get("descending") === "1"},
    (next) => remember({q: next.filter, sort: next.sort, descending: next.descending ? 1 : ""}));
  const problem = h("p", {class: "problem", role: "alert", hidden: true});
  const load = async () => {
    try {
      grid.setRows(await table.rows());
      problem.hidden = true;
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  };
  load();
  let beats = 0;
  // A table that is sorted or filtered by values that change is sorted again, at most once a
  // second; rows in view always show the last numbers.
  let waiting = 0;
  const again = () => {
    waiting = 0;
    grid.refresh();
  };
  const refresh = (ports) => {
    if (ports === null) again();
    else if (!ports.length) return;
    else if (!grid.settings.filter && !grid.settings.sort) grid.draw();
    else if (!waiting) waiting = setTimeout(again, 900);
  };
  return {
    element: h("div", {class: "view tall"}, h("h1", {}, table.title), problem, grid.element),
    title: table.title,
    change: table.on === "change" ? refresh : undefined,
    events: table.on === "events" ? load : undefined,
    time: table.every ? () => { if (++beats % table.every === 0) load(); } : undefined,
    close: () => {
      clearTimeout(waiting);
      grid.close();
    },
  };
}
