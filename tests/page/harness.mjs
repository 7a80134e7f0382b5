// SPDX-License-Identifier: BSD-2-Clause
// What the tests of the page share: a fabric with a server, Chromium, and the fabric's state as
// the command line shows it.

import {execFile, execFileSync, spawn} from "node:child_process";
import {setDefaultResultOrder} from "node:dns";
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync} from "node:fs";
import {createRequire} from "node:module";
import {createServer} from "node:net";
import {tmpdir} from "node:os";
import path from "node:path";
import {setTimeout as sleep} from "node:timers/promises";

setDefaultResultOrder("ipv4first");  // The fetch of node 18 tries only one address of localhost.

export const BUILD = process.env.SOFTIB_BUILD;
const require = createRequire(path.join(BUILD, "page_tests", "package.json"));
const {chromium} = require("playwright-core");
const AXE = require.resolve("axe-core/axe.min.js");
export const PICTURES = path.join(BUILD, "page_tests", "pictures");
export const SOFTIB = path.join(BUILD, "bin", "softib");
const PATIENCE_MS = 60_000;  // A machine may have more to do than this test.
const CHROMIUM = process.env.SOFTIB_CHROMIUM || "/usr/bin/chromium";

/// Asks until the answer is good (not false, not an error of `attempt`), and returns it.
export async function until(what, attempt) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    let why = "";
    try {
      const found = await attempt();
      if (found) return found;
    } catch (error) { why = error.message; }
    if (Date.now() > end) throw new Error(`${what} did not happen ${why}`);
    await sleep(50);
  }
}

/// Returns a free TCP port.
export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  const {port} = server.address();
  await new Promise((resolve) => { server.close(resolve); });
  return port;
}

/// Waits until a program of this machine listens at a TCP port.
export const listening = (port) => until(`a program at port ${port}`, () =>
  ["/proc/net/tcp", "/proc/net/tcp6"].some((file) =>
    new RegExp(`:${port.toString(16).toUpperCase().padStart(4, "0")} \\S+ 0A `)
      .test(existsSync(file) ? readFileSync(file, "utf8") : "")));

export class Fabric {
  constructor() {
    this.dir = mkdtempSync(path.join(tmpdir(), "softib-page-"));
    this.env = {...process.env, SOFTIB_RUNTIME_DIR: this.dir, NO_COLOR: "1"};
    this.programs = [];
    mkdirSync(PICTURES, {recursive: true});
  }

  run(...words) {
    return execFileSync(SOFTIB, words, {env: this.env, encoding: "utf8", maxBuffer: 1 << 28,
                                        stdio: ["ignore", "pipe", "pipe"]});
  }

  json(...words) { return JSON.parse(this.run(...words, "--json")); }

  /// Starts a program that goes on beside the test.
  start(...words) {
    const program = execFile(SOFTIB, words, {env: this.env}, () => {});
    this.programs.push(program);
    return program;
  }

  /// Lets two hosts exchange messages, from the first to the last.
  async pingpong(server, client, messages) {
    const words = ["ibv_rc_pingpong", "-n", String(messages), "-p", String(await freePort())];
    this.start("exec", server, "--", ...words);
    await listening(Number(words.at(-1)));
    this.run("exec", client, "--", ...words, server);
  }

  serve(...flags) { return this.listen("serve", "--port", "0", ...flags); }

  async listen(...words) {
    this.server = spawn(SOFTIB, words, {env: this.env, stdio: ["ignore", "pipe", "inherit"]});
    let text = "";
    const control = words.includes("--allow-control") || words.includes("--address");
    await new Promise((resolve, reject) => {
      this.server.stdout.on("data", (data) => {
        text += data;
        if (/serving at/.test(text) && (!control || /token: \S+\n/.test(text))) resolve();
      });
      this.server.on("exit", () => reject(new Error(`softib serve ended: ${text}`)));
    });
    this.url = text.match(/(https?:\S+)\//)[1].replace("//0.0.0.0:", "//localhost:");
    this.token = control ? text.match(/token: (\S+)/)[1] : "";
  }

  async end() {
    this.programs.forEach((program) => program.kill("SIGKILL"));
    if (this.server) {
      const ended = new Promise((resolve) => { this.server.on("exit", resolve); });
      this.server.removeAllListeners("exit");
      this.server.on("exit", () => {});
      this.server.kill("SIGTERM");
      await Promise.race([ended, new Promise((resolve) => { setTimeout(resolve, 5000); })]);
    }
    try { this.run("down", "--all"); } catch { /* It was not up. */ }
    rmSync(this.dir, {recursive: true, force: true});
  }
}

export async function openBrowser(...flags) {
  return chromium.launch({executablePath: CHROMIUM,
                          args: ["--no-sandbox", "--disable-gpu", ...flags]});
}

/// Opens a page of the server. `page.strangers` lists requests to other servers, `page.complaints`
/// the browser's errors. `prepare` gets the page before it has an address.
export async function openPage(browser, fabric, address = "", options = {}, prepare = null) {
  const context = await browser.newContext({viewport: {width: 1440, height: 900},
                                            colorScheme: "dark", ...options});
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  page.strangers = [];
  page.complaints = [];
  page.on("request", (request) => {
    const {hostname, protocol} = new URL(request.url());
    if (protocol.startsWith("http") && !["localhost", "127.0.0.1"].includes(hostname)) {
      page.strangers.push(request.url());
    }
  });
  page.on("pageerror", (error) => page.complaints.push(`${error.message}\n${error.stack}`));
  page.on("console", (message) => {
    if (message.type() === "error") page.complaints.push(message.text());
  });
  if (prepare) await prepare(page);
  await page.goto(`${fabric.url}/${address}`);
  await page.waitForSelector("body[data-ready]");
  return page;
}

/// Goes to another view, and waits until it is there: the page's own listener comes first.
export async function go(page, address) {
  await page.evaluate((hash) => new Promise((resolve) => {
    if (location.hash === hash) {
      resolve();
      return;
    }
    addEventListener("hashchange", resolve, {once: true});
    location.hash = hash;
  }), address);
  await page.waitForSelector("main .view");
}

/// Forgets what the page has announced, so that a test waits for what comes.
export const clearToasts = (page) => page.evaluate(() =>
  document.getElementById("toasts").replaceChildren());

export const texts = (page, selector) => page.$$eval(selector, (all) => all.map((element) =>
  element.textContent));

/// Returns what axe finds wrong with a page by all of its rules, or by some, in lines.
export async function violations(page, rules = null) {
  // The page's own policy allows no other script, but the browser's debugger can add one.
  await page.evaluate(readFileSync(AXE, "utf8"));
  // axe need not describe the elements that pass.
  const result = await page.evaluate((runOnly) => window.axe.run(
    {resultTypes: ["violations"], ...(runOnly ? {runOnly} : {})}), rules);
  return result.violations.flatMap((each) => each.nodes.map((node) =>
    `${each.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`));
}

/// Takes a picture for people, if SOFTIB_TEST_PICTURES asks for pictures, once the page has had
/// some time to fill its plots.
export async function picture(page, name, settleMs = 0) {
  if (!process.env.SOFTIB_TEST_PICTURES) return;
  await page.waitForTimeout(settleMs);
  await page.screenshot({path: path.join(PICTURES, `${name}.png`), animations: "disabled"});
}
