// SPDX-License-Identifier: BSD-2-Clause
// The search that the key "/" opens: nodes by name, GUID or LID, ports by name, tables and views by
// title.

import {h} from "./dom.js";

const MOST = 12;

const VIEWS = [["Overview", "#/overview"], ["Paths and trees", "#/paths"],
               ["Ports", "#/table/ports"], ["Cables", "#/table/cables"],
               ["Events", "#/table/events"],
               ["P_Keys", "#/table/pkeys"], ["Jobs", "#/table/jobs"], ["Health", "#/health"],
               ["What if", "#/whatif"]];

/// Returns [{text, note, href}], the best first.
export function find(model, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return VIEWS.map(([name, href]) => ({text: name, note: "view", href}));
  const found = [];
  const port = model.findPort(text.trim());
  if (port >= 0) found.push({text: text.trim(), note: "port", href: `#/port/${text.trim()}`});
  const add = (node, note) => found.push({text: model.nodeName(node), note,
                                          href: `#/node/${model.nodeName(node)}`});
  const lid = /^\d+$/.test(wanted) ? Number(wanted) : -1;
  const guid = wanted.replace(/^0x/, "");
  const starts = [];
  const inside = [];
  for (let node = 0; node < model.nodeCount; ++node) {
    const name = model.nodeName(node).toLowerCase();
    if (model.nodes.lid[node] === lid) add(node, `LID ${lid}`);
    else if (name === wanted) add(node, "node");
    else if (name.startsWith(wanted)) starts.push([node, "node"]);
    else if (name.includes(wanted)) inside.push([node, "node"]);
    else if (guid.length > 3 && model.nodes.guid[node].includes(guid)) {
      inside.push([node, model.nodes.guid[node]]);
    }
    if (starts.length >= MOST) break;
  }
  for (const [node, note] of [...starts, ...inside]) add(node, note);
  for (const [name, href] of VIEWS) {
    if (name.toLowerCase().includes(wanted)) found.push({text: name, note: "view", href});
  }
  return found.slice(0, MOST);
}

export function openSearch(model) {
  if (document.querySelector("dialog.search")) return;
  let results = [];
  let at = 0;
  const list = h("ul", {role: "listbox", id: "search-list", "aria-label": "Results"});
  const input = h("input", {type: "text", role: "combobox", "aria-expanded": "true",
                            "aria-controls": "search-list", "aria-label": "Search",
                            spellcheck: false, autocomplete: "off",
                            placeholder: "A host, a switch, a port, a GUID, a LID"});
  const dialog = h("dialog", {class: "search", "aria-label": "Search"}, input, list);
  const go = (result) => {
    dialog.close();
    if (result) location.hash = result.href;
  };
  const draw = () => {
    list.replaceChildren(...results.map((result, i) => h("li", {
      role: "option", id: `found-${i}`, "aria-selected": String(i === at),
      onclick: () => go(result)}, h("span", {}, result.text),
      h("small", {class: "muted"}, result.note))));
    if (!results.length) {
      list.replaceChildren(h("li", {role: "option", "aria-selected": "false"}, "Nothing found"));
    }
    input.setAttribute("aria-activedescendant", results.length ? `found-${at}` : "");
  };
  const search = () => { results = find(model, input.value); at = 0; draw(); };
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step && results.length) {
      event.preventDefault();
      at = (at + step + results.length) % results.length;
      draw();
    } else if (event.key === "Enter") {
      event.preventDefault();
      go(results[at]);
    }
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  search();
}
