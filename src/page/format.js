// SPDX-License-Identifier: BSD-2-Clause
// Numbers and times, formatted for people.

const COUNT = new Intl.NumberFormat("en-US");

export const count = (value) => COUNT.format(Math.round(value));

export function percent(perMille) {
  if (perMille <= 0) return "0 %";
  if (perMille < 10) return "< 1 %";
  return `${Math.round(perMille / 10)} %`;
}

export const gbps = (mbps) => String(+(mbps / 1000).toPrecision(4));

const UNITS = ["", "k", "M", "G", "T", "P"];

/// Returns a number with a unit prefix: "12.3 M" for 12,345,678.
export function short(value, unit = "") {
  let scale = 0;
  let rest = Math.abs(value);
  while (rest >= 1000 && scale < UNITS.length - 1) { rest /= 1000; ++scale; }
  const digits = rest === 0 || Number.isInteger(rest) && scale === 0 ? rest
    : rest.toPrecision(rest >= 100 ? 3 : rest >= 10 ? 3 : 2);
  return `${value < 0 ? "−" : ""}${digits} ${UNITS[scale]}${unit}`.trim();
}

/// Returns a rate in bytes a second as text in bits a second.
export const bits = (bytes) => short(bytes * 8, "b/s");

const two = (value) => String(value).padStart(2, "0");

export function clock(us) {
  const at = new Date(us / 1000);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function dateTime(us) {
  const at = new Date(us / 1000);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(us)}`;
}

const TIME_UNITS = ["ns", "us", "ms", "s"];

/// Returns a virtual time in ns as text: "1.25 ms" for 1,250,000.
export function virtualTime(ns) {
  let scale = 0;
  let rest = Math.max(0, ns);
  while (rest >= 1000 && scale < TIME_UNITS.length - 1) { rest /= 1000; ++scale; }
  return `${+rest.toPrecision(4)} ${TIME_UNITS[scale]}`;
}

export function ago(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

const STATES = ["Nop", "Down", "Init", "Armed", "Active", "ActiveDefer"];
export const stateName = (state) => STATES[state] || `state ${state}`;
