// SPDX-License-Identifier: BSD-2-Clause
// The part of bench/page.py in the browser: page_browser.mjs URL SECONDS [DIR]
//
// DIR has the files of another version of the page, which is measured in turns with the server's.

import {execFileSync} from "node:child_process";
import {existsSync, mkdirSync} from "node:fs";
import path from "node:path";
import {openBrowser, openPage, picture, PICTURES, SOFTIB} from "../tests/page/harness.mjs";

const [url, seconds, against] = [process.argv[2], Number(process.argv[3]), process.argv[4] || ""];
const ROUND_S = 10;
mkdirSync(path.join(PICTURES), {recursive: true});
const browser = await openBrowser();
const middle = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
const at = (all, part) => [...all].sort((a, b) => a - b)[Math.floor((all.length - 1) * part)];

// A page is opened several times; the median counts.
const paints = [];
const uses = [];
for (let i = 0; i < 5; ++i) {
  const page = await openPage(browser, {url});
  const [paint, use] = await page.evaluate(() => [
    performance.getEntriesByName("first-contentful-paint")[0].startTime,
    performance.getEntriesByName("softib-interactive")[0].startTime]);
  paints.push(paint);
  uses.push(use);
  await page.context().close();
}
console.log(`first paint ${middle(paints).toFixed(0)} ms, usable ${middle(uses).toFixed(0)} ms`);

/// Opens the page; files that are in `folder` replace the server's. Drawing happens in animation
/// frames; `window.drawn` is the sum of its time.
async function openMeasured(folder) {
  const page = await openPage(browser, {url}, "", {}, async (fresh) => {
    await fresh.route("**/page/*", (route) => {
      const file = path.join(folder, path.basename(new URL(route.request().url()).pathname));
      return folder && existsSync(file) ? route.fulfill({path: file}) : route.continue();
    });
  });
  await page.evaluate(() => {
    const request = window.requestAnimationFrame.bind(window);
    window.drawn = 0;
    window.requestAnimationFrame = (act) => request((time) => {
      const begin = performance.now();
      act(time);
      window.drawn += performance.now() - begin;
    });
  });
  page.session = await page.context().newCDPSession(page);
  await page.session.send("Performance.enable");
  return page;
}

const heap = async (page) => {
  await page.session.send("HeapProfiler.collectGarbage");
  return (await page.session.send("Runtime.getHeapUsage")).usedSize / 1e6;
};

/// Returns the milliseconds of style and layout so far.
const laidOut = async (page) => {
  const {metrics} = await page.session.send("Performance.getMetrics");
  const of = (name) => metrics.find((each) => each.name === name).value;
  return 1000 * (of("LayoutDuration") + of("RecalcStyleDuration"));
};

/// Changes a tenth of the ports every second, as on a busy fabric; the server's own messages come
/// too. Returns [taking, drawing] in ms for each second.
const churn = (page, rounds) => page.evaluate(async (count) => {
  const {model} = await import("/page/main.js");
  const times = [];
  window.round = window.round || 0;
  for (let i = 0; i < count; ++i) {
    const round = window.round++;
    const ports = {port: [], state: [], load: [], wait: [], errors: []};
    for (let port = round % 10; port < model.portCount; port += 10) {
      const hot = (port >> 9) % 37 === 5 ? 550 : 0;  // Some pods are busier.
      ports.port.push(port);
      ports.state.push(4);
      ports.load.push(hot + (port * 7919 + round * 131) % 380);
      ports.wait.push(hot ? (port * 31) % 300 : 0);
      ports.errors.push(0);
    }
    const text = JSON.stringify({number: model.number + 1, revision: model.revision,
                                 time_us: model.timeUs + 1e6, trouble: "", ports});
    window.drawn = 0;
    const begin = performance.now();
    model.takeSample(text);
    const taken = performance.now() - begin;
    await new Promise((resolve) => { setTimeout(resolve, 1000); });
    times.push([taken, window.drawn]);
  }
  return times;
}, rounds);

const pages = [{name: "this page", page: await openMeasured(""), times: [], layout: 0}];
if (against) {
  pages.push({name: against, page: await openMeasured(against), times: [], layout: 0});
}
for (const each of pages) {
  await each.page.bringToFront();
  await churn(each.page, 3);
  each.before = await heap(each.page);
}
for (let done = 0; done < seconds; done += ROUND_S) {
  for (const each of pages) {
    await each.page.bringToFront();
    const begin = await laidOut(each.page);
    each.times.push(...await churn(each.page, Math.min(ROUND_S, seconds - done)));
    each.layout += await laidOut(each.page) - begin;
  }
}
for (const each of pages) {
  const sums = each.times.map(([taken, drawn]) => taken + drawn);
  const ms = (value) => `${value.toFixed(1)} ms`;
  console.log(`${each.name}: a change of a tenth of all ports takes ${ms(middle(sums))}, of which ` +
              `${ms(middle(each.times.map(([, drawn]) => drawn)))} are drawing; nine of ten at ` +
              `most ${ms(at(sums, 0.9))}, all ${ms(Math.max(...sums))}; style and layout ` +
              `${ms(each.layout / each.times.length)} besides`);
  console.log(`${each.name}: heap ${each.before.toFixed(1)} MB, after ${seconds} s ` +
              `${(await heap(each.page)).toFixed(1)} MB`);
}

const [{page}] = pages;
await page.bringToFront();
await picture(page, "large-dark");
await page.emulateMedia({colorScheme: "light"});
await page.waitForTimeout(300);
await picture(page, "large-light");

/// Returns how long a pulled cable takes to be seen, from the start of the command on, in ms.
async function pull(host) {
  await page.waitForFunction(() => /all up/.test(document.querySelector(".tiles").textContent));
  const begin = performance.now();
  execFileSync(SOFTIB, ["link", "down", host], {stdio: ["ignore", "ignore", "pipe"]});
  await page.waitForFunction(() => /down/.test(document.querySelector(".tiles").textContent));
  const passed = performance.now() - begin;
  execFileSync(SOFTIB, ["link", "up", host]);
  return passed;
}

try {
  const appears = [];
  for (let i = 0; i < 5; ++i) appears.push(await pull(`h${i}`));
  console.log(`a pulled cable is seen after ${middle(appears).toFixed(0)} ms, at most ` +
              `${Math.max(...appears).toFixed(0)} ms`);
} catch (error) {
  console.log(`a pulled cable was not measured: ${error.stderr || error.message}`);
}
await browser.close();
