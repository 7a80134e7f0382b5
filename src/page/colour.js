// SPDX-License-Identifier: BSD-2-Clause
// Colours for numbers. Both scales change evenly in lightness, beginning at the background's, so
// that people who see few colours can read them too. A port that is down also has a cross.

const DARK = ["#202b36", "#2e3f74", "#2c5685", "#266d8c", "#1f848c", "#229b84", "#44b172",
              "#7ac456", "#b3d23d", "#e6dc37", "#fff3b0"];
const LIGHT = ["#e3e9ee", "#cfe5dc", "#b0dacb", "#86cabf", "#5ab3b3", "#3c97aa", "#2f799c",
               "#2a5c8c", "#274277", "#241f5c", "#2a0a3d"];

export const METRICS = {
  load: {name: "Load", help: "of what ports send, as a part of the cable's speed"},
  wait: {name: "Waiting", help: "part of the time with data but without credits (XmitWait)"},
  errors: {name: "Errors", help: "of all kinds, a second"},
};

export const isDark = () => document.documentElement.dataset.theme === "dark";
export const scale = () => (isDark() ? DARK : LIGHT);
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
