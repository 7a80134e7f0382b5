// SPDX-License-Identifier: BSD-2-Clause
// Colours for numbers, by the scale of tokens.css. A port that is down also has a cross.

const STEPS = 11;
const scales = {};

export const METRICS = {
  load: {name: "Load", help: "of what ports send, as a part of the cable's speed"},
  wait: {name: "Waiting", help: "part of the time with data but without credits (XmitWait)"},
  errors: {name: "Errors", help: "of all kinds, a second"},
};

export const isDark = () => document.documentElement.dataset.theme === "dark";
/// Returns the colours of the steps of the scale, in the page's theme.
export function scale() {
  const theme = document.documentElement.dataset.theme;
  if (!scales[theme]) {
    const style = getComputedStyle(document.documentElement);
    scales[theme] = Array.from({length: STEPS}, (_, step) =>
      style.getPropertyValue(`--load-${step}`).trim());
  }
  return scales[theme];
}
export const downColour = () => (isDark() ? "#ff5f87" : "#b80f4a");

/// Returns the step of the colour scale for a value: 0 for nothing, 1 to 10 for tenths; for errors,
/// 1 to 10 by powers of two.
export function bucket(metric, value) {
  if (value <= 0) return 0;
  if (metric === "errors") return Math.min(10, 1 + Math.floor(Math.log2(value)));
  return Math.min(10, 1 + Math.floor(value / 100));
}

/// Returns the colour of text on a cell.
export const inkOn = (step) => (isDark() ? (step >= 6 ? "#10161c" : "#f0f5fa")
                                         : (step >= 5 ? "#ffffff" : "#17202a"));

export function setTheme(theme) {
  const dark = theme === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches
                                : theme === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
