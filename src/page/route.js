// SPDX-License-Identifier: BSD-2-Clause
// The address of the page: #/VIEW/NAME?key=value. All of a view's state is in its address.

export function here() {
  const text = location.hash.replace(/^#\/?/, "");
  const question = text.indexOf("?");
  const path = decodeURIComponent(question < 0 ? text : text.slice(0, question)) || "overview";
  const slash = path.indexOf("/");
  return {path, view: slash < 0 ? path : path.slice(0, slash),
          name: slash < 0 ? "" : path.slice(slash + 1),
          query: new URLSearchParams(question < 0 ? "" : text.slice(question + 1))};
}

export function addressOf(path, query) {
  const text = query.toString();
  return `#/${path}${text ? "?" + text : ""}`;
}

/// Changes the address without a new entry in the browser's history, and without a new view.
export function remember(changes) {
  const {path, query} = here();
  for (const [key, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined || value === false) query.delete(key);
    else query.set(key, value);
  }
  const address = addressOf(path, query);
  if (address !== location.hash) history.replaceState(null, "", address);
}
