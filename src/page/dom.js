// SPDX-License-Identifier: BSD-2-Clause
// Makes elements. Texts are always set as text: names from a fabric are never parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else if (name in element && !(element instanceof SVGElement) && name !== "list" &&
             name !== "role") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined &&
                                                       child !== false));
  return element;
}

export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/// Sets those texts and attributes of an element that differ from the ones set last.
export function renew(element, text, attributes = {}) {
  const last = element.given || (element.given = {});
  if (text !== null && last.text !== text) {
    last.text = text;
    element.textContent = text;
  }
  for (const [name, value] of Object.entries(attributes)) {
    if (last[name] === value) continue;
    last[name] = value;
    element.setAttribute(name, value);
  }
}

export function announce(text) {
  document.getElementById("announce").textContent = text;
}

/// Returns a function that calls `act` at most once a frame, however often it is called.
export function onceAFrame(act) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; act(); });
  };
}

export function button(text, act, attributes = {}) {
  return h("button", {type: "button", onclick: act, ...attributes}, text);
}

export function link(href, text, attributes = {}) {
  return h("a", {href, ...attributes}, text);
}

/// Returns a box with a heading.
export function panel(title, attributes, ...children) {
  return h("section", {class: "panel " + ((attributes && attributes.class) || ""),
                       "aria-label": title},
           h("h2", {}, title), ...children);
}
