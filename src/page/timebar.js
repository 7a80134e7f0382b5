// SPDX-License-Identifier: BSD-2-Clause
// The time bar: a slider over all slots of the history, from the oldest, which are the coarsest.
// While it is at a moment of the past, the whole page shows that moment.

import {h, button} from "./dom.js";
import {get} from "./api.js";
import {remember} from "./route.js";

const AGAIN_MS = 5000;
const AGAIN_SIMULATION_MS = 1000;  // A recording gets more than one slot a second.

/// Returns the times that can be shown, from the oldest on, each from the finest ring that has it.
function timesOf(rings) {
  const times = [];
  let before = Infinity;
  for (const {times: seen} of rings) {
    const older = seen.filter((time) => time < before);
    times.unshift(...older);
    if (seen.length) before = Math.min(before, seen[0]);
  }
  return times;
}

export function timeBar(model, element) {
  let times = [];
  let loading = 0;
  let wanted = null;  // The time that was chosen, until it is shown; 0: now.
  const label = h("output", {class: "moment"});
  const note = h("span", {class: "muted"});
  const slider = h("input", {type: "range", min: 0, max: 0, value: 0, step: 1,
                             "aria-label": "Time shown", oninput: () => choose()});
  const live = button(model.isSimulation ? "Latest" : "Live", () => model.show(0), {class: "live"});
  element.replaceChildren(live, slider, label, note);

  const draw = () => {
    const isPast = model.past > 0;
    document.body.classList.toggle("past", isPast);
    live.setAttribute("aria-pressed", String(!isPast));
    const shown = isPast ? model.shownUs : model.timeUs;
    label.textContent = isPast ? `${model.timeText(shown)} (past)`
                               : model.timeText(shown);
    slider.setAttribute("aria-valuetext", label.textContent);
    if (!(wanted ?? model.past)) slider.value = slider.max;
    note.textContent = times.length
      ? `history of ${model.spanText(Math.max(0, model.endS() - times[0]))}` : "no history";
  };
  const refresh = async () => {
    if (!model.about.history) { slider.disabled = true; draw(); return; }
    try {
      times = timesOf((await get("/api/v1/slots")).rings);
    } catch { return; }
    slider.max = Math.max(1, times.length);
    slider.disabled = times.length < 2;
    const at = wanted ?? model.past;
    if (at) slider.value = times.findIndex((time) => time >= at);
    draw();
  };
  const choose = async () => {
    const at = Number(slider.value);
    const mine = ++loading;
    const time = at >= times.length ? 0 : times[at];
    wanted = time;
    label.textContent = time ? model.timeText(time * 1e6) : "now";
    await new Promise((resolve) => { setTimeout(resolve, 60); });
    if (mine !== loading) return;  // The slider has been moved meanwhile.
    let failed = false;
    try { await model.show(time); } catch { failed = true; }
    if (mine === loading) wanted = null;
    if (failed) await refresh();
  };
  model.addEventListener("time", () => {
    remember({t: model.past || ""});
    draw();
  });
  model.addEventListener("fabric", refresh);
  setInterval(refresh, model.isSimulation ? AGAIN_SIMULATION_MS : AGAIN_MS);
  refresh();
}
