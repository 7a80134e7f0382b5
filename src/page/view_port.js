// SPDX-License-Identifier: BSD-2-Clause
// The view of one port: its state, both ends, its rates now and in the past, counters and events.

import {h, button, link, panel} from "./dom.js";
import {get, inPath} from "./api.js";
import {ask, setLink, startCapture} from "./control.js";
import {bits, count, gbps, percent, short, stateName} from "./format.js";
import {ACTIVE} from "./model.js";
import {Plot} from "./plot.js";
import {remember} from "./route.js";
import {severity} from "./view_health.js";

const RINGS = [{name: "10 minutes", seconds: 600, slot: 1},
               {name: "2 hours", seconds: 7200, slot: 10},
               {name: "30 days", seconds: 2592000, slot: 300}];
const BYTES_PER_WORD = 4;

/// Returns the points of an answer with the slots that were sampled but in which nothing grew,
/// which the server leaves out, as zeros.
function withZeros(answer, factor) {
  const known = new Map(answer.points.map((p) => [p[0], p]));
  return answer.seen.map((time) => {
    const [, mean, min, max] = known.get(time) || [time, 0, 0, 0];
    return [time, mean * factor, min * factor, max * factor];
  });
}

class PortPlots {
  constructor(model, name, ring) {
    this.model = model;
    this.name = name;
    this.ring = ring;
    this.plots = {
      traffic: new Plot(model, "Traffic", (value) => short(value, "b/s")),
      wait: new Plot(model, "Waiting for credits", (value) => `${+value.toPrecision(3)} %`),
      errors: new Plot(model, "Errors", (value) => short(value, "/s")),
    };
    this.element = h("div", {}, Object.values(this.plots).map((plot) => plot.element));
  }

  close() { Object.values(this.plots).forEach((plot) => plot.close()); }

  async history(counter, factor) {
    const {seconds} = RINGS[this.ring];
    const to = Math.floor((this.model.past || this.model.endS()) + 1);
    const answer = await get(`/api/v1/ports/${inPath(this.name)}/history?counter=${counter}` +
                             `&ring=${this.ring}&from=${to - seconds}&to=${to}`);
    const first = answer.seen.length ? answer.seen[0] : to;
    const begin = this.model.isSimulation ? first
                                          : Math.min(first, to - 60 * RINGS[this.ring].slot);
    return {points: withZeros(answer, factor), range: [Math.max(to - seconds, begin), to]};
  }

  async load(mbps) {
    const [sent, received, waited, ...errors] = await Promise.all([
      this.history("xmit_words", 8 * BYTES_PER_WORD), this.history("rcv_words", 8 * BYTES_PER_WORD),
      this.history("xmit_wait", 100 * 32 / (mbps * 1e6)),
      ...["symbol_errors", "rcv_errors", "xmit_discards", "link_downed"].map((each) =>
        this.history(each, 1))]);
    const {slot} = RINGS[this.ring];
    this.plots.traffic.set([
      {name: "sent", colour: "--series-a", mark: "a", points: sent.points},
      {name: "received", colour: "--series-b", mark: "b", dashed: true, points: received.points}],
      sent.range, slot);
    this.plots.wait.set([{name: "waiting", colour: "--series-c", mark: "c",
                          points: waited.points}], waited.range, slot);
    const names = ["symbol errors", "receive errors", "discards", "link downed"];
    this.plots.errors.set(errors.map((each, i) => ({
      name: names[i], colour: `--series-${"abcd"[i]}`, mark: "abcd"[i], dashed: i % 2 === 1,
      points: each.points})), errors[0].range, slot);
  }
}

function eventList(model, name, peer) {
  const events = [...model.events.values()]
    .filter((event) => event.object === name || event.object === peer)
    .sort((a, b) => b.last_us - a.last_us).slice(0, 12);
  if (!events.length) return h("p", {class: "muted"}, "Nothing has happened here.");
  return h("ul", {class: "alarms"}, events.map((event) => h("li", {},
    severity(event.severity), " ", h("span", {class: "muted"}, model.timeText(event.last_us)),
    h("p", {}, event.text, event.active ? h("strong", {}, " (active)") : ""))));
}

export function portView(model, {name, query}) {
  const port = model.findPort(name);
  if (port < 0) {
    return {element: h("div", {class: "view"}, h("h1", {}, `There is no port ${name}`))};
  }
  const peer = model.peerName(port);
  let ring = Math.min(2, Math.max(0, Number(query.get("ring")) || 0));
  const plots = new PortPlots(model, name, ring);
  const now = h("div", {class: "tiles"});
  const counters = h("div", {}, h("p", {class: "muted"}, "Loading…"));
  const events = h("div", {}, eventList(model, name, peer));
  const controls = h("div", {class: "bar"});
  const tile = (title, value, note, bad) => h("div", {class: "tile" + (bad ? " alert" : "")},
    h("span", {class: "muted"}, title), h("strong", {}, value), h("small", {class: "muted"}, note));
  // Replaced only when the cable comes or goes: a button that is replaced loses keyboard focus.
  let drawnUp = null;
  const drawControls = (up) => {
    if (up === drawnUp) return;
    drawnUp = up;
    controls.replaceChildren(...[
      model.isSwitch(model.portNode[port]) || peer !== "-"
        ? link(`#/whatif?down=${encodeURIComponent(name)}`, "What if this cable fails?",
               {class: "like-button"}) : null,
      model.about.control ? button(up ? "Pull this cable" : "Put the cable back",
                                   () => setLink(name, !up), {class: up ? "danger" : "primary"})
                          : null,
      model.about.control ? button("Capture…", async () => {
        const packets = await ask(`Capture at ${name}`, "Packets", "1000");
        if (packets !== null) startCapture([name], Number(packets) || 1000);
      }) : null,
    ].filter(Boolean));
  };
  const drawNow = (rates) => {
    const {state, load, wait, errors} = model.shown;
    const up = state[port] === ACTIVE;
    now.replaceChildren(
      tile("State", up ? "Active" : `× ${stateName(state[port])}`,
           `${model.speed[port]}, ${gbps(model.mbps[port])} Gb/s`, !up),
      tile("Load", percent(load[port]), `sent; ${percent(model.received(port))} received`),
      tile("Sends", rates ? bits(rates.xmit_bytes) : "–",
           rates ? `${short(rates.xmit_packets)} packets/s` : ""),
      tile("Receives", rates ? bits(rates.rcv_bytes) : "–",
           rates ? `${short(rates.rcv_packets)} packets/s` : ""),
      tile("Waiting", percent(wait[port]), "of the time without credits", wait[port] >= 100),
      tile("Errors", short(errors[port], "/s"), "of all kinds", errors[port] > 0));
    drawControls(model.now.state[port] === ACTIVE);
  };
  // History has the growth of counters, not their values.
  const drawCounters = (all, past) => counters.replaceChildren(
    h("table", {class: "plain-table counters"},
      h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "Counter"), h("th",
        {scope: "col", class: "number"}, past ? `Per second, ${model.timeText(model.shownUs)}`
                                              : "Value"))),
      h("tbody", {}, Object.entries(all).map(([key, value]) => h("tr", {class: value ? "" : "zero"},
        h("th", {scope: "row"}, key),
        h("td", {class: "number"}, past ? short(value) : count(value)))))));
  let closed = false;
  const look = async () => {
    const {past} = model;
    const about = await get(`/api/v1/ports/${inPath(name)}${past ? `?time=${past}` : ""}`);
    if (closed || past !== model.past) return;
    drawNow(past ? {...about.rates, xmit_packets: about.counters.xmit_packets,
                    rcv_packets: about.counters.rcv_packets} : about.rates);
    drawCounters(about.counters, past);
  };
  const plot = () => plots.load(model.mbps[port]).catch((error) => {
    plots.element.replaceChildren(h("p", {class: "muted"}, error.message));
  });
  let beats = 0;
  const refresh = () => {
    look().catch((error) => {
      if (!closed && model.past) {
        counters.replaceChildren(h("p", {class: "muted"}, error.message));
      }
    });
    if (plots.ring === 0 || beats++ % 10 === 0) plot();
  };
  const choice = h("div", {class: "choice", role: "group", "aria-label": "Time shown"},
    RINGS.map((each, i) => button(model.isSimulation ? model.spanText(each.seconds) : each.name,
                                  () => {
      ring = i;
      plots.ring = i;
      remember({ring: i || ""});
      choice.querySelectorAll("button").forEach((b, k) =>
        b.setAttribute("aria-pressed", String(k === i)));
      plot();
    }, {"aria-pressed": String(i === ring)})));
  drawNow(null);
  refresh();
  const node = model.nodeName(model.portNode[port]);
  return {
    element: h("div", {class: "view"},
      h("p", {class: "crumbs"}, link("#/overview", "Overview"), " / ",
        link(`#/node/${node}`, node)),
      h("div", {class: "bar"},
        h("h1", {}, name, h("span", {class: "muted"}, " – "),
          peer === "-" ? "nothing" : link(`#/port/${peer}`, peer)),
        h("span", {class: "space"}), controls),
      now,
      h("div", {class: "columns"},
        h("div", {class: "main-column"},
          panel("History", {}, h("div", {class: "bar"}, choice), plots.element)),
        h("div", {class: "side-column"},
          panel("Events of this cable", {}, events), panel("Counters", {}, counters)))),
    title: name,
    time: refresh,
    change: (ports) => { if (ports === null || ports.includes(port)) drawNow(null); refresh(); },
    events: () => events.replaceChildren(eventList(model, name, peer)),
    theme: () => Object.values(plots.plots).forEach((each) => each.draw()),
    close: () => { closed = true; plots.close(); },
  };
}
