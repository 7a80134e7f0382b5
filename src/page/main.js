// SPDX-License-Identifier: BSD-2-Clause
// The page: one model, one view at a time, and the header around it.

import {h} from "./dom.js";
import {setTheme} from "./colour.js";
import {undoLast} from "./control.js";
import {Model} from "./model.js";
import {addressOf, here} from "./route.js";
import {openSearch} from "./search.js";
import {timeBar} from "./timebar.js";
import {overview} from "./view_overview.js";
import {health} from "./view_health.js";
import {nodeView} from "./view_node.js";
import {pathsView} from "./view_paths.js";
import {podView} from "./view_pod.js";
import {portView} from "./view_port.js";
import {tableView} from "./view_tables.js";
import {whatIfView} from "./view_whatif.js";

const VIEWS = {overview, health, node: nodeView, pod: podView, port: portView, paths: pathsView,
               table: tableView, whatif: whatIfView};
const THEMES = ["auto", "dark", "light"];
const KEYS = {o: "#/overview", p: "#/paths", t: "#/table/ports", c: "#/table/cables",
              e: "#/table/events", h: "#/health", w: "#/whatif"};

const model = new Model();
const content = document.getElementById("content");
let view = null;
let shownPath = "";

function show() {
  const place = here();
  const make = VIEWS[place.view] || overview;
  if (view && view.close) view.close();
  view = make(model, place);
  content.replaceChildren(view.element);
  document.title = `${view.title || "softib"} – ${model.fabric}`;
  if (place.path !== shownPath) window.scrollTo(0, 0);
  shownPath = place.path;
  for (const each of document.querySelectorAll("nav a")) {
    const current = place.path === each.dataset.view || place.view === each.dataset.view;
    if (current) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
}

/// Shows what the address names: a view, and perhaps a moment of the past (t).
async function navigate() {
  if (!model.ready) return;
  const {path, query} = here();
  if (!query.has("t") && model.past) {  // A link without a time stays at the moment that is shown.
    query.set("t", model.past);
    history.replaceState(null, "", addressOf(path, query));
  }
  show();
}

function drawConnection() {
  const element = document.getElementById("connection");
  const [mark, text] = model.trouble ? ["bad", `▲ ${model.trouble}`]
    : !model.connected ? ["warn", "◆ reconnecting"]
    : ["good", model.isSimulation ? "● simulation" : "● live"];
  element.className = mark;
  element.textContent = text;
  document.getElementById("fabric-name").textContent = model.fabric || "";
}

function themes() {
  const chooser = document.getElementById("theme");
  const apply = (theme) => {
    setTheme(theme);
    chooser.textContent = {auto: "◐ Auto", dark: "● Dark", light: "○ Light"}[theme];
    chooser.setAttribute("aria-label", `Theme: ${theme}; change it`);
    if (view && view.theme) view.theme();
  };
  const current = () => localStorage.getItem("softib-theme") || "auto";
  chooser.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length];
    localStorage.setItem("softib-theme", next);
    apply(next);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(current()));
  apply(current());
}

function keys(event) {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) &&
                 event.target.type !== "range";
  if (typing || event.ctrlKey || event.metaKey || event.altKey ||
      document.querySelector("dialog[open]")) return;
  if (event.key === "/") {
    event.preventDefault();
    openSearch(model);
  } else if (event.key === "l") {
    model.show(0);
  } else if (event.key === "u") {
    undoLast();
  } else if (event.key in KEYS) {
    location.hash = KEYS[event.key];
  }
}

async function start() {
  themes();
  document.getElementById("open-search").addEventListener("click", () => openSearch(model));
  document.addEventListener("keydown", keys);
  addEventListener("hashchange", navigate);
  model.addEventListener("connection", drawConnection);
  model.addEventListener("change", ({detail}) => { if (view && view.change) view.change(detail); });
  model.addEventListener("events", () => { if (view && view.events) view.events(); });
  model.addEventListener("time", () => { if (view && view.time) view.time(); });
  model.addEventListener("fabric", () => { show(); drawConnection(); });
  const wanted = Number(here().query.get("t")) || 0;
  try {
    await model.start();
  } catch (error) {
    content.replaceChildren(h("p", {class: "problem"},
                              `The server does not answer: ${error.message}`));
    setTimeout(() => location.reload(), 3000);
    return;
  }
  if (wanted) await model.show(wanted).catch(() => model.show(0));
  timeBar(model, document.getElementById("time-bar"));
  performance.mark("softib-interactive");
  document.body.dataset.ready = "yes";
}

start();
export {model};  // For tests, and for the browser's developer tools.
