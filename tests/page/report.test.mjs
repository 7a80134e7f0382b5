// SPDX-License-Identifier: BSD-2-Clause
// The reports of softib plan in Chromium, as files: pictures, timelines that zoom, light and dark.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {mkdirSync, mkdtempSync, readFileSync, rmSync, statSync} from "node:fs";
import {tmpdir} from "node:os";
import path from "node:path";
import {after, before, test} from "node:test";
import {pathToFileURL} from "node:url";
import {PICTURES, SOFTIB, openBrowser, picture, violations} from "./harness.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "softib-report-"));
const REPORTS = {
  train: ["train", "--model", "gpt3-175b", "--cluster", "superpod-h100:8", "--gpus", "1024",
          "--tp", "8", "--pp", "8", "--interleave", "1", "--batch", "512"],
  long: ["train", "--model", "gpt3-175b", "--cluster", "superpod-h100:8", "--gpus", "1024",
         "--tp", "8", "--pp", "8", "--interleave", "12", "--batch", "4096"],
  search: ["search", "--model", "llama3.1-70b", "--cluster", "superpod-h100", "--top", "30",
           "--network", "analytic"],
  collective: ["collective", "--cluster", "superpod-h100:2", "--sizes", "1M:1G",
               "--algorithms", "ring,tree,sharp"],
  serve: ["serve", "--model", "llama3.1-70b", "--cluster", "hgx-h200:8", "--prefill", "6",
          "--decode", "1", "--rate", "20", "--reuse", "0.6", "--requests", "300"],
  compare: ["compare", "topology", "--cluster", "hgx-h200:8", "--size", "16MB"],
};
const BYTES_MOST = 300_000;
let browser;

const fileOf = (name) => path.join(folder, `${name}.html`);

async function open(name, options = {}) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900},
                                            colorScheme: "dark", ...options});
  const page = await context.newPage();
  page.loads = [];
  page.complaints = [];
  page.on("request", (request) => page.loads.push(request.url()));
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") page.complaints.push(message.text());
  });
  await page.goto(pathToFileURL(fileOf(name)).href);
  return page;
}

before(async () => {
  mkdirSync(PICTURES, {recursive: true});
  for (const [name, words] of Object.entries(REPORTS)) {
    execFileSync(SOFTIB, ["plan", ...words, "--html", fileOf(name)], {stdio: "pipe"});
  }
  browser = await openBrowser();
});

after(async () => {
  if (browser) await browser.close();
  rmSync(folder, {recursive: true, force: true});
});

for (const name of Object.keys(REPORTS)) {
  test(`${name}: axe finds nothing, light and dark, on a desk and on a phone`, async () => {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1280, 390]) {
        const page = await open(name, {colorScheme, viewport: {width, height: 900}});
        assert.deepEqual(await violations(page), []);
        assert.equal(await page.evaluate(() =>
          document.documentElement.scrollWidth <= innerWidth), true, `${width} overflows`);
        assert.deepEqual(page.complaints, []);
        assert.equal(page.loads.length, 1, page.loads);
        await picture(page, `report-${name}-${colorScheme}-${width}`);
        await page.context().close();
      }
    }
  });

  test(`${name}: a small file whose first picture comes before any table, without a script too`,
       async () => {
    assert.ok(statSync(fileOf(name)).size < BYTES_MOST);
    assert.doesNotMatch(readFileSync(fileOf(name), "utf8"), /\b(src|href)=/);
    const page = await open(name, {javaScriptEnabled: false});
    const order = await page.locator(".stack, .plot, .bars, table").first()
      .evaluate((element) => element.tagName);
    assert.notEqual(order, "TABLE");
    assert.ok((await page.locator(".stack, .plot, .bars").first().boundingBox()).height > 20);
    assert.equal(await page.locator("#theme").isVisible(), false);  // It needs the script.
    await page.context().close();
  });
}

test("the switch changes the theme, whatever the browser prefers", async () => {
  const page = await open("train", {colorScheme: "light"});
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.click("#theme");
  const dark = await background();
  assert.notEqual(light, dark);
  assert.equal(await page.textContent("#theme"), "Light");
  await page.click("#theme");
  assert.equal(await background(), light);
  const preferred = await open("train");
  assert.equal(await preferred.evaluate(() =>
    getComputedStyle(document.body).backgroundColor), dark);
});

test("a timeline zooms by wheel, keys and buttons, and moves by dragging", async () => {
  const page = await open("train");
  const lanes = page.locator(".lanes");
  await lanes.scrollIntoViewIfNeeded();
  const shown = async () => {
    await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() =>
      requestAnimationFrame(done)); }));
    return (await page.locator(".lane svg").first().getAttribute("viewBox")).split(" ").map(Number);
  };
  assert.deepEqual(await shown(), [0, 0, 100000, 20]);
  const box = await lanes.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 10);
  await page.mouse.wheel(0, -300);
  const [from, , wide] = await shown();
  assert.ok(from > 0 && wide < 100000);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 200, box.y + 10, {steps: 4});
  await page.mouse.up();
  const moved = await shown();
  assert.ok(moved[0] < from && moved[2] === wide);
  await lanes.focus();
  await page.keyboard.press("+");
  assert.ok((await shown())[2] < wide);
  assert.match(await page.textContent(".reading"), / to /);
  await page.keyboard.press("0");
  assert.deepEqual(await shown(), [0, 0, 100000, 20]);
  for (let i = 0; i < 4; ++i) await page.click("text=Closer");
  assert.equal((await shown())[2], 6250);
  assert.ok(await page.locator(".lane em").count() > 0, "passes have no numbers");
  await picture(page, "report-train-zoomed");
});

test("the lanes of a timeline have the passes of the schedule", async () => {
  const page = await open("train");
  const passes = await page.$$eval(".lane", (rows) => rows.map((row) =>
    [...row.querySelectorAll("[data-what='forward pass']")]
      .flatMap((each) => each.dataset.n.split(" ")).length));
  assert.deepEqual(passes, Array(8).fill(32));  // 512 sequences on 16 replicas.
  const box = await page.locator(".lane svg").nth(7).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 5);
  assert.match(await page.textContent(".reading"), /^stage 7, at .*: (for|back)ward pass \d+, /);
});

test("a step of too many passes to draw one by one is drawn as far as one sees", async () => {
  const page = await open("long");
  const [lanes, drawn] = await page.$$eval(".lane", (rows) => [rows.length, rows.map((row) =>
    [...row.querySelectorAll("path")].reduce((sum, path) =>
      sum + path.getAttribute("d").match(/h/g).length, 0)).reduce((a, b) => a + b)]);
  assert.equal(lanes, 8);
  assert.ok(drawn > 1000 && drawn < 30000, `${drawn} strokes`);
});

test("a point names its mapping when it is pointed at, and to who goes there by keys", async () => {
  const page = await open("search");
  const best = page.locator(".pt.best").first();
  await best.scrollIntoViewIfNeeded();
  assert.equal(await best.locator(".tip").isVisible(), false);
  await best.hover();
  assert.equal(await best.locator(".tip").isVisible(), true);
  assert.match(await best.locator(".tip").textContent(), /tp \d+.*MFU/);
  await page.mouse.move(0, 0);
  await page.locator(".pt").first().focus();
  assert.equal(await page.locator(".pt").first().locator(".tip").isVisible(), true);
});

test("the Pareto front is where nothing costs less and does more", async () => {
  const page = await open("compare");
  const all = await page.$$eval(".pt", (points) => points.map((point) => {
    const [, does, costs] = point.getAttribute("aria-label").match(/M\$ ([\d.]+).* ([\d.e+]+)$/);
    return {costs: Number(does), does: Number(costs), best: point.classList.contains("best")};
  }));
  assert.ok(all.some((point) => point.best) && all.some((point) => !point.best));
  for (const point of all) {
    const beaten = all.some((other) => other.costs < point.costs && other.does > point.does);
    assert.equal(beaten && point.best, false);
  }
});

test("the fabric has its tiers, with bundles by load", async () => {
  const page = await open("collective");
  const tiers = await page.$$eval(".tier", (rows) => rows.map((row) => row.textContent));
  assert.equal(tiers.length, 3);
  assert.match(tiers[2], /NICs\d+ cables up: busiest 100 %/);
  assert.ok(await page.locator(".bundles path").count() > 8);
});
