// SPDX-License-Identifier: BSD-2-Clause
// The view of what is wrong: active alarms, and the checks of `softib health`.

import {h, link, panel} from "./dom.js";
import {get} from "./api.js";
import {count} from "./format.js";

export const SHAPES = {Critical: "▲", Minor: "◆", Warning: "●", Info: "○"};

export function severity(name) {
  return h("span", {class: `severity ${name.toLowerCase()}`}, `${SHAPES[name] || "○"} ${name}`);
}

/// Returns the address of the object that an event is about.
export function objectAddress(model, object) {
  if (model.findPort(object) >= 0) return `#/port/${object}`;
  return model.byName.has(object) ? `#/node/${object}` : null;
}

export function objectLink(model, object) {
  const href = objectAddress(model, object);
  return href ? link(href, object) : h("span", {}, object);
}

/// Returns a list of alarms. `concerns` says whether an alarm is listed; without it all are.
export function alarmList(model, most, concerns = () => true) {
  const alarms = model.alarms().filter(concerns);
  if (!alarms.length) return h("p", {class: "good"}, "✓ No alarm is active.");
  const now = model.timeUs;
  return h("div", {},
    h("ul", {class: "alarms"}, alarms.slice(0, most).map((event) => h("li", {},
      severity(event.severity), " ", objectLink(model, event.object),
      h("p", {}, event.text,
        h("span", {class: "muted", title: model.timeText(event.first_us)},
          ` since ${model.spanText(Math.max(0, now - event.first_us) / 1e6)}`,
          event.count > 1 ? `, ${event.count} times` : "")),
      event.remedy ? h("p", {}, `To do: ${event.remedy}.`) : null))),
    alarms.length > most
      ? h("p", {}, link("#/health", `All ${count(alarms.length)} alarms`)) : null);
}

export function health(model) {
  const alarms = h("div", {}, alarmList(model, 200));
  const checks = h("div", {}, h("p", {class: "muted"}, "Checking…"));
  const refresh = async () => {
    const report = await get("/api/v1/health");
    checks.replaceChildren(h("table", {class: "plain-table"},
      h("thead", {}, h("tr", {}, ["Check", "Result", "What"].map((name) =>
        h("th", {scope: "col"}, name)))),
      h("tbody", {}, report.checks.map((check) => h("tr", {},
        h("th", {scope: "row"}, check.name),
        h("td", {}, check.ok ? h("span", {class: "good"}, "✓ ok") : severity(check.severity)),
        h("td", {}, check.text, h("ul", {class: "objects"},
          check.objects.slice(0, 20).map((object) => h("li", {}, objectLink(model, object))))))))));
  };
  refresh().catch((error) => { checks.textContent = error.message; });
  return {
    element: h("div", {class: "view"}, h("h1", {}, "Health"),
               h("div", {class: "columns even"},
                 panel("Active alarms", {}, alarms), panel("Checks", {}, checks))),
    title: "Health",
    events: () => {
      alarms.replaceChildren(alarmList(model, 200));
      refresh().catch(() => {});
    },
  };
}
