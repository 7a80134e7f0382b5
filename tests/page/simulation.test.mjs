// SPDX-License-Identifier: BSD-2-Clause
// The page of a simulation (softib sim --serve), compared with the simulation's own report.
import assert from "node:assert/strict";
import {spawn} from "node:child_process";
import {mkdirSync, readdirSync} from "node:fs";
import path from "node:path";
import {after, before, test} from "node:test";
import {Fabric, SOFTIB, go, openBrowser, openPage, picture, texts, until} from "./harness.mjs";

const STEP_US = 20;
const fabric = new Fabric();
const scratch = path.join(fabric.dir, "scratch");
let simulation;
let browser;
let page;
let report;

before(async () => {
  mkdirSync(scratch);
  simulation = spawn(SOFTIB, ["sim", "--hosts", "16", "--topology", "fat-tree", "--radix", "8",
    "--traffic", "incast,target=h0,size=1MB", "--record-every", `${STEP_US}us`, "--serve",
    "--port", "0", "--json"],
    {env: {...fabric.env, TMPDIR: scratch}, stdio: ["ignore", "pipe", "pipe"]});
  let [out, told] = ["", ""];
  await new Promise((resolve, reject) => {
    const look = () => { if (/simulation is over/.test(told) && /^}\n/m.test(out)) resolve(); };
    simulation.on("exit", () => reject(new Error(told)));
    simulation.stdout.on("data", (data) => { out += data; look(); });
    simulation.stderr.on("data", (data) => { told += data; look(); });
  });
  fabric.url = told.match(/(http:\S+)\//)[1];
  report = JSON.parse(out);
  browser = await openBrowser();
  page = await openPage(browser, fabric);
});

after(async () => {
  if (browser) await browser.close();
  if (simulation && simulation.exitCode === null) simulation.kill("SIGTERM");
  await fabric.end();
});

const has = (where, text) => page.waitForFunction(([selector, wanted]) =>
  [...document.querySelectorAll(selector)].some((each) => each.textContent.includes(wanted)),
  [where, text]);

// The server reads the recording while it is written, and may still be behind when it is whole.
const virtualEnd = () => until("the end of the simulation on the page", async () => {
  const {virtual_time_ns: end} = await (await fetch(`${fabric.url}/api/v1/fabric`)).json();
  return end * 1000 >= report.traffic[0].finished_ps && end;
});

test("the page has the fabric of the simulation, and the virtual time of its end", async () => {
  assert.match((await texts(page, ".tile"))[0], /Hosts16\d+ switches/);
  await has("#connection", "● simulation");
  const end = await virtualEnd();
  await page.waitForFunction(async (wanted) => {
    const {model} = await import("/page/main.js");
    return model.virtualNs(model.timeUs) >= wanted;
  }, end);
});

test("counters and plots of a port are those of the report", async () => {
  const link = report.busiest_links.find((each) => each.to.startsWith("h0"));
  await go(page, "#/port/h0/mlx5_0:1");
  await has(".counters tr", `rcv_words${Math.floor(link.bytes / 4).toLocaleString("en-US")}`);
  await until("all of it in the history", async () => {
    const moved = await page.evaluate(async () => {
      const {model} = await import("/page/main.js");
      const end = Math.ceil(model.endS()) + 1;
      const past = await (await fetch("/api/v1/ports/h0/mlx5_0:1/history?counter=rcv_words" +
                                      `&from=${end - 600}&to=${end}`)).json();
      return past.points.reduce((sum, point) => sum + point[1], 0);
    });
    const bytes = moved * 4 * STEP_US * 1e-6;
    assert.ok(Math.abs(bytes - link.bytes) < link.bytes * 0.1, `${bytes} of ${link.bytes}`);
    return true;
  });
  await page.focus(".plot canvas");
  await page.keyboard.press("ArrowLeft");
  await has("#announce", "us  sent");
});

test("the slider goes through the virtual time of the simulation", async () => {
  await go(page, "#/overview");
  await page.waitForFunction(() => !document.querySelector("footer input").disabled);
  await page.focus("footer input");
  await page.keyboard.press("Home");
  await has(".moment", "(past)");
  const first = parseInt((await texts(page, ".moment"))[0], 10);
  assert.equal(first % STEP_US, 0);
  for (let i = 0; i < 2; ++i) await page.keyboard.press("ArrowRight");
  await has(".moment", `${first + 2 * STEP_US} us (past)`);
  await has(".ranking", "h0");
  await picture(page, "simulation-dark");
  await page.click("button:has-text('Latest')");
  await has("#connection", "simulation");
  assert.deepEqual(page.complaints, []);
});

test("Ctrl-C ends it, and nothing is left behind", async () => {
  const [server] = readdirSync(scratch);
  assert.match(server, /^softib-history-/);  // The recording has no name any more.
  const status = new Promise((resolve) => { simulation.once("close", resolve); });
  simulation.kill("SIGINT");
  assert.equal(await status, 0);
  assert.deepEqual(readdirSync(scratch), []);
});
