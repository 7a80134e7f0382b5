// SPDX-License-Identifier: BSD-2-Clause
// Changes of the fabric: pulled cables, switches turned off, routes, captures. Each needs the token
// that the server printed. Changes that can be undone are remembered.

import {h, button, announce} from "./dom.js";
import {inPath, keepToken, send, token} from "./api.js";

const TOASTS_MAX = 3;
const done = [];  // {text, undo: [method, path, body]}, the newest last.
const listeners = new Set();

export const actions = () => done;
export function onActions(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
const tellAll = () => listeners.forEach((listener) => listener());

/// Asks the user for one line of text. Returns null if the user cancels.
export function ask(title, label, value = "", type = "text") {
  return new Promise((resolve) => {
    const input = h("input", {type, value, id: "ask-input", autocomplete: "off",
                              spellcheck: false});
    const dialog = h("dialog", {"aria-labelledby": "ask-title"},
      h("form", {method: "dialog", onsubmit: () => { dialog.returnValue = "yes"; }},
        h("h2", {id: "ask-title"}, title),
        h("label", {htmlFor: "ask-input"}, label), input,
        h("div", {class: "bar end"},
          button("Cancel", () => dialog.close("no")),
          h("button", {type: "submit", class: "primary"}, "OK"))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? input.value : null);
    });
    document.body.append(dialog);
    dialog.showModal();
    input.select();
  });
}

export function toast(text, action = null) {
  const element = h("div", {class: "toast"}, h("span", {}, text), action);
  const toasts = document.getElementById("toasts");
  toasts.append(element);
  while (toasts.children.length > TOASTS_MAX) toasts.firstChild.remove();
  announce(text);
  setTimeout(() => element.remove(), 12000);
  return element;
}

async function perform(method, path, body) {
  for (;;) {
    if (!token()) {
      const given = await ask("This changes the fabric", "Token that softib serve printed", "",
                              "password");
      if (given === null) return null;
      keepToken(given.trim());
    }
    try {
      return await send(method, path, body);
    } catch (error) {
      if (error.status !== 401) throw error;
      keepToken("");
      toast("The server does not take this token.");
    }
  }
}

/// Makes a change, tells the user, and offers to undo it.
export async function act(text, request, undo = null) {
  try {
    const answer = await perform(...request);
    if (answer === null) return null;
    if (undo) done.push({text, undo});
    toast(text, undo ? button("Undo", (event) => {
      event.target.disabled = true;
      undoLast();
    }) : null);
    tellAll();
    return answer;
  } catch (error) {
    toast(`Not done: ${error.message}`);
    return null;
  }
}

export async function undoLast() {
  const last = done.pop();
  if (!last) return;
  try {
    await perform(...last.undo);
    toast(`Undone: ${last.text}`);
  } catch (error) {
    done.push(last);
    toast(`Not undone: ${error.message}`);
  }
  tellAll();
}

export function setLink(name, up) {
  const path = `/api/v1/links/${inPath(name)}`;
  return act(up ? `The cable at ${name} is back` : `The cable at ${name} is pulled`,
             ["POST", path, {up}], ["POST", path, {up: !up}]);
}

export function setSwitch(name, on) {
  const path = `/api/v1/switches/${inPath(name)}`;
  return act(on ? `${name} is on` : `${name} is off`, ["POST", path, {on}],
             ["POST", path, {on: !on}]);
}

export function setRoute(name, lid, port, before) {
  const path = `/api/v1/routes/${inPath(name)}`;
  return act(port === null ? `${name} drops packets to LID ${lid}`
                           : `${name} sends packets to LID ${lid} by port ${port}`,
             ["POST", path, {lid, port}], ["POST", path, {lid, port: before}]);
}

export function startCapture(ports, packets) {
  return act(ports.length ? `Capturing ${packets} packets at ${ports.join(", ")}`
                          : `Capturing ${packets} packets`,
             ["POST", "/api/v1/captures", {ports, packets}]);
}

export const stopCapture = (id) => act(`Capture ${id} ends`,
                                       ["DELETE", `/api/v1/captures/${id}`, {}]);
