// SPDX-License-Identifier: BSD-2-Clause
// What the page knows of the fabric: nodes and ports in columns, as the server numbers them, and
// the current values of each port. While the time bar shows a moment of the past, the values of
// that moment are shown instead.
//
// Events: "fabric" (numbered anew), "change" (detail: ports, or null for all), "events",
// "connection", "time".

import {get, listen} from "./api.js";
import {ago, clock, dateTime, virtualTime} from "./format.js";

export const SWITCH = 2;
export const ACTIVE = 4;
const LOAD_AGAIN_MS = 1000;

/// The values of all ports: state, the load of what the port sends and its waiting (both per mille),
/// and errors a second.
class Numbers {
  constructor(ports) {
    this.state = Uint8Array.from(ports.state);
    this.load = Uint16Array.from(ports.load);
    this.wait = Uint16Array.from(ports.wait);
    this.errors = Uint32Array.from(ports.errors);
  }
}

export class Model extends EventTarget {
  constructor() {
    super();
    this.ready = false;
    this.number = 0;
    this.revision = 0;
    this.timeUs = 0;
    this.past = 0;          // The moment that is shown, in seconds; 0: now.
    this.trouble = "";
    this.connected = false;
    this.events = new Map();
    this.about = {};
    this.delays = [];       // How long the last samples took, in ms.
    this.early = [];        // Samples that arrived while the snapshot was being loaded.
  }

  tell(type, detail = null) { this.dispatchEvent(new CustomEvent(type, {detail})); }

  async start() {
    listen({
      open: () => this.setConnected(true),
      lost: () => this.setConnected(false),
      sample: (text) => this.takeSample(text),
      event: (event) => this.takeEvent(event),
      resync: () => this.load(),
    });
    await this.load();
  }

  setConnected(connected) {
    if (connected && !this.connected && this.ready) this.load();  // Samples may have been missed.
    this.connected = connected;
    this.tell("connection");
  }

  /// Loads everything anew. The first time, a failure is thrown; later it is tried again, since
  /// samples are kept back until it succeeds.
  async load() {
    this.loading = true;
    let answers;
    try {
      answers = await Promise.all([
        get("/api/v1/fabric"), get("/api/v1/snapshot"), get("/api/v1/events")]);
    } catch (error) {
      if (!this.ready) throw error;
      this.early = [];  // The next snapshot will have them.
      setTimeout(() => this.load(), LOAD_AGAIN_MS);
      return;
    }
    const [about, snapshot, events] = answers;
    const {past} = this;
    this.about = about;
    this.take(snapshot);
    this.events = new Map(events.events.map((event) => [event.id, event]));
    this.loading = false;
    this.ready = true;
    const early = this.early.filter((sample) => sample.number > this.number);
    this.early = [];
    early.forEach((sample) => this.apply(sample));
    this.tell("fabric");
    this.tell("events");
    if (past) await this.show(past).catch(() => this.show(0));  // Ports have new numbers.
  }

  take(snapshot) {
    const {nodes, ports} = snapshot;
    this.fabric = snapshot.fabric;
    this.number = snapshot.number;
    this.revision = snapshot.revision;
    this.timeUs = snapshot.time_us;
    this.trouble = snapshot.trouble;
    this.nodes = nodes;
    this.nodeCount = nodes.name.length;
    this.portCount = ports.node.length;
    this.portNode = Int32Array.from(ports.node);
    this.portNumber = Uint8Array.from(ports.number);
    this.peer = Int32Array.from(ports.peer);
    this.mbps = Uint32Array.from(ports.mbps);
    this.speed = ports.speed;
    this.now = new Numbers(ports);
    this.shown = this.now;
    this.past = 0;
    this.first = new Int32Array(this.nodeCount + 1);
    for (let i = 0; i < this.portCount; ++i) ++this.first[this.portNode[i] + 1];
    for (let i = 0; i < this.nodeCount; ++i) this.first[i + 1] += this.first[i];
    this.byName = new Map();
    for (let i = 0; i < this.nodeCount; ++i) this.byName.set(nodes.name[i], i);
    this.isHostPort = Uint8Array.from(this.portNode, (node) => (this.isSwitch(node) ? 0 : 1));
    this.hostCount = nodes.kind.reduce((sum, kind) => sum + (kind === SWITCH ? 0 : 1), 0);
    this.tierMax = nodes.tier.reduce((most, tier) => Math.max(most, tier), 0);
  }

  takeSample(text) {
    const begin = performance.now();
    const sample = JSON.parse(text);
    if (this.loading || !this.ready) {
      this.early.push(sample);
      return;
    }
    if (sample.revision !== this.revision) {
      this.load();
      return;
    }
    this.apply(sample);
    this.delays.push(performance.now() - begin);
    if (this.delays.length > 600) this.delays.shift();
  }

  apply(sample) {
    this.number = sample.number;
    this.timeUs = sample.time_us;
    const changedTrouble = this.trouble !== sample.trouble;
    this.trouble = sample.trouble;
    const {state, load, wait, errors} = this.now;
    const {ports} = sample;
    const changed = ports.port;
    for (let i = 0; i < changed.length; ++i) {
      const port = changed[i];
      state[port] = ports.state[i];
      load[port] = ports.load[i];
      wait[port] = ports.wait[i];
      errors[port] = ports.errors[i];
    }
    if (changedTrouble) this.tell("connection");
    if (!this.past) {
      this.tell("change", changed);
      this.tell("time");
    }
  }

  takeEvent(event) {
    this.events.set(event.id, event);
    this.tell("events");
  }

  /// Shows a moment of the past, or, with 0, the present.
  async show(timeS) {
    if (!timeS) {
      this.past = 0;
      this.shown = this.now;
      this.shownUs = this.timeUs;
    } else {
      const moment = await get(`/api/v1/moment?time=${timeS}`);
      this.past = timeS;
      this.shown = new Numbers(moment.ports);
      this.shownUs = moment.time_us;
    }
    this.tell("change", null);
    this.tell("time");
  }

  // Times. In the history of a simulation, readings are a second apart, no matter how far apart
  // they are in virtual time.

  get isSimulation() { return this.about.virtual_step_ns > 0; }

  /// Returns the latest time that can be shown, in seconds.
  endS() { return this.isSimulation ? this.timeUs / 1e6 : Date.now() / 1000; }

  virtualNs(us) {
    return ((us - this.timeUs) / 1e6 + this.number - 1) * this.about.virtual_step_ns;
  }

  timeText(us) { return this.isSimulation ? virtualTime(this.virtualNs(us)) : dateTime(us); }
  clockText(us) { return this.isSimulation ? virtualTime(this.virtualNs(us)) : clock(us); }

  /// Returns a span of time as text.
  spanText(seconds) {
    return this.isSimulation ? virtualTime(seconds * this.about.virtual_step_ns) : ago(seconds);
  }

  /// Returns the load of what a port receives: what the other end sends.
  received(port) { return this.peer[port] < 0 ? 0 : this.shown.load[this.peer[port]]; }

  // Names and neighbours.

  isSwitch(node) { return this.nodes.kind[node] === SWITCH; }
  nodeName(node) { return this.nodes.name[node]; }
  portName(port) { return `${this.nodes.name[this.portNode[port]]}:${this.portNumber[port]}`; }
  peerName(port) { return this.peer[port] < 0 ? "-" : this.portName(this.peer[port]); }
  peerNode(port) { return this.peer[port] < 0 ? -1 : this.portNode[this.peer[port]]; }

  /// Returns the node of a name; for a host, its first HCA; -1 if there is none.
  findNode(name) {
    const exact = this.byName.get(name);
    if (exact !== undefined) return exact;
    return this.nodes.name.findIndex((each) => each.startsWith(name + "/"));
  }

  findPort(name) {
    const colon = name.lastIndexOf(":");
    const node = this.byName.get(name.slice(0, colon));
    if (colon < 0 || node === undefined) return -1;
    const number = Number(name.slice(colon + 1));
    for (let port = this.first[node]; port < this.first[node + 1]; ++port) {
      if (this.portNumber[port] === number) return port;
    }
    return -1;
  }

  /// Returns all cables, each once, as the port at its lower end.
  cables() {
    const found = [];
    for (let port = 0; port < this.portCount; ++port) {
      if (this.peer[port] < 0 || this.peer[port] > port) found.push(port);
    }
    return Int32Array.from(found);
  }

  alarms() {
    return [...this.events.values()].filter((event) => event.alarm && event.active)
      .sort((a, b) => b.last_us - a.last_us);
  }
}
