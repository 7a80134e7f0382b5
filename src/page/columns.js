// SPDX-License-Identifier: BSD-2-Clause
// The columns of ports and cables, for tables and for the filter of maps.

import {gbps, percent, short, stateName} from "./format.js";
import {ACTIVE} from "./model.js";

const stateMark = (model, port) => (model.shown.state[port] === ACTIVE ? "" : "bad");

export function portColumns(model) {
  const numbers = () => model.shown;
  return [
    {key: "name", title: "Port", width: "minmax(130px, 1.4fr)",
     value: (p) => model.portName(p), href: (p) => `#/port/${model.portName(p)}`},
    {key: "peer", title: "Other end", width: "minmax(130px, 1.4fr)",
     value: (p) => model.peerName(p),
     href: (p) => (model.peer[p] < 0 ? null : `#/port/${model.peerName(p)}`)},
    {key: "node", title: "Node", width: "minmax(90px, 1fr)",
     value: (p) => model.nodeName(model.portNode[p]),
     href: (p) => `#/node/${model.nodeName(model.portNode[p])}`},
    {key: "kind", title: "Kind", width: "80px",
     value: (p) => (model.isSwitch(model.portNode[p]) ? "switch" : "host")},
    {key: "lid", title: "LID", width: "72px", number: true,
     value: (p) => model.nodes.lid[model.portNode[p]]},
    {key: "state", title: "State", width: "90px", value: (p) => stateName(numbers().state[p]),
     text: (p) => (numbers().state[p] === ACTIVE ? "Active"
                                                 : `× ${stateName(numbers().state[p])}`),
     mark: (p) => stateMark(model, p)},
    {key: "rate", title: "Gb/s", help: "Speed of the cable", width: "76px", number: true,
     value: (p) => model.mbps[p] / 1000, text: (p) => gbps(model.mbps[p])},
    {key: "load", title: "Load", help: "Of what the port sends", width: "80px", number: true,
     value: (p) => numbers().load[p] / 10, text: (p) => percent(numbers().load[p])},
    {key: "wait", title: "Waiting", width: "92px", number: true,
     value: (p) => numbers().wait[p] / 10, text: (p) => percent(numbers().wait[p])},
    {key: "errors", title: "Errors/s", width: "92px", number: true,
     value: (p) => numbers().errors[p], text: (p) => short(numbers().errors[p]),
     mark: (p) => (numbers().errors[p] ? "bad" : "")},
  ];
}

/// Columns of cables. A row is the number of the port at the cable's lower end.
export function cableColumns(model) {
  const both = (column, p) => Math.max(column[p], model.peer[p] < 0 ? 0 : column[model.peer[p]]);
  const isUp = (p) => model.shown.state[p] === ACTIVE &&
                      (model.peer[p] < 0 || model.shown.state[model.peer[p]] === ACTIVE);
  return [
    {key: "a", title: "One end", width: "minmax(140px, 1.4fr)", value: (p) => model.portName(p),
     href: (p) => `#/port/${model.portName(p)}`},
    {key: "b", title: "Other end", width: "minmax(140px, 1.4fr)", value: (p) => model.peerName(p),
     href: (p) => (model.peer[p] < 0 ? null : `#/port/${model.peerName(p)}`)},
    {key: "state", title: "State", width: "100px", value: (p) => (isUp(p) ? "up" : "down"),
     text: (p) => (isUp(p) ? "up" : "× down"), mark: (p) => (isUp(p) ? "" : "bad")},
    {key: "speed", title: "Speed", width: "80px", value: (p) => model.speed[p]},
    {key: "rate", title: "Gb/s", width: "80px", number: true, value: (p) => model.mbps[p] / 1000,
     text: (p) => gbps(model.mbps[p])},
    {key: "load", title: "Load", width: "80px", number: true,
     value: (p) => both(model.shown.load, p) / 10, text: (p) => percent(both(model.shown.load, p))},
    {key: "wait", title: "Waiting", width: "92px", number: true,
     value: (p) => both(model.shown.wait, p) / 10, text: (p) => percent(both(model.shown.wait, p))},
    {key: "errors", title: "Errors/s", width: "92px", number: true,
     value: (p) => both(model.shown.errors, p), text: (p) => short(both(model.shown.errors, p))},
  ];
}
