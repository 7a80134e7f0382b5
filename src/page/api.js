// SPDX-License-Identifier: BSD-2-Clause
// Asks the server that this page came from, and no other.

const TOKEN = "softib-token";
const AGAIN_MS = 3000;

export const token = () => sessionStorage.getItem(TOKEN) || "";
export const keepToken = (text) => sessionStorage.setItem(TOKEN, text);

async function answerOf(response) {
  const text = await response.text();
  let body = null;
  try { body = JSON.parse(text); } catch { body = {error: text}; }
  if (response.ok) return body;
  const error = new Error((body && body.error) || `${response.status} ${response.statusText}`);
  error.status = response.status;
  throw error;
}

/// Returns the JSON of an answer. Throws an Error with the server's sentence.
export async function get(path) {
  return answerOf(await fetch(path, {cache: "no-store"}));
}

export async function send(method, path, body) {
  return answerOf(await fetch(path, {
    method,
    headers: {"Content-Type": "application/json", Authorization: `Bearer ${token()}`},
    body: JSON.stringify(body),
  }));
}

/// Returns a name of a port or node, encoded for a path; its slashes stay.
export const inPath = (name) => name.split("/").map(encodeURIComponent).join("/");

/// Listens to the event stream. `on` has the functions sample, event, resync, open and lost. A
/// browser connects again by itself if there is no answer, but not if the server refuses; this
/// function does that.
export function listen(on) {
  const source = new EventSource("/api/v1/stream");
  source.addEventListener("open", () => on.open());
  source.addEventListener("error", () => {
    on.lost();
    if (source.readyState === EventSource.CLOSED) setTimeout(() => listen(on), AGAIN_MS);
  });
  source.addEventListener("sample", (message) => on.sample(message.data));
  source.addEventListener("event", (message) => on.event(JSON.parse(message.data)));
  source.addEventListener("resync", () => on.resync());
}
