// SPDX-License-Identifier: BSD-2-Clause
// The page over TLS: a server that listens beyond loopback, and a Chromium that trusts its key and
// sends the token as browsers do.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {createHash, X509Certificate} from "node:crypto";
import {readFileSync} from "node:fs";
import path from "node:path";
import {after, before, test} from "node:test";
import {Fabric, go, openBrowser, openPage, texts} from "./harness.mjs";

const fabric = new Fabric();
const PCAP_NANOSECONDS = 0xa1b23c4d;
const file = (name) => path.join(fabric.dir, name);
let browser;

before(async () => {
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
    "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
    "-keyout", file("key.pem"), "-out", file("cert.pem")], {stdio: "ignore"});
  fabric.run("up", "--hosts", "4", "--topology", "fat-tree", "--radix", "4",
             "--data-path", "packet");
  await fabric.serve("--address", "0.0.0.0", "--cert", file("cert.pem"), "--key", file("key.pem"),
                     "--allow-control");
  const key = new X509Certificate(readFileSync(file("cert.pem"))).publicKey;
  const digest = createHash("sha256").update(key.export({type: "spki", format: "der"}));
  browser = await openBrowser(`--ignore-certificate-errors-spki-list=${digest.digest("base64")}`);
});

after(async () => {
  if (browser) await browser.close();
  await fabric.end();
});

const has = (page, where, text) => page.waitForFunction(([selector, wanted]) =>
  [...document.querySelectorAll(selector)].some((each) => each.textContent.includes(wanted)),
  [where, text]);

test("a browser that does not know the certificate shows nothing", async () => {
  const stranger = await openBrowser();
  const page = await (await stranger.newContext()).newPage();
  await assert.rejects(page.goto(fabric.url), /ERR_CERT_AUTHORITY_INVALID/);
  await stranger.close();
});

test("without the token, neither the page nor anything behind it is shown", async () => {
  const page = await (await browser.newContext()).newPage();
  for (const address of ["/", "/page/main.js", "/api/v1/snapshot", "/api/v1/stream", "/metrics"]) {
    const answer = await page.request.get(fabric.url + address, {ignoreHTTPSErrors: true});
    assert.equal(answer.status(), 401, address);
  }
  await page.context().close();
});

test("with the token the page is live over TLS, and its controls work", async () => {
  const page = await openPage(browser, fabric, "",
    {httpCredentials: {username: "operator", password: fabric.token}});
  assert.match(page.url(), /^https:/);
  assert.equal(await page.evaluate(() => isSecureContext), true);
  await has(page, "#connection", "● live");
  assert.match((await texts(page, ".tile"))[0], /Hosts44 switches/);
  fabric.run("link", "down", "h1");
  await has(page, ".alarms", "h1/mlx5_0:1");
  fabric.run("link", "up", "h1");
  await has(page, "main", "No alarm is active");
  await go(page, "#/port/h2/mlx5_0:1");
  await page.click("text=Pull this cable");
  await page.fill("#ask-input", fabric.token);
  await page.click("dialog button:has-text('OK')");
  await has(page, "#toasts", "The cable at h2/mlx5_0:1 is pulled");  // Only then it can be undone.
  await has(page, ".tile", "× Down");
  const state = () => fabric.json("status").hosts.find((host) => host.name === "h2").hcas[0].state;
  assert.notEqual(state(), "Active");
  await page.keyboard.press("u");
  await has(page, ".tile", "Active");
  await capture(page);
  assert.deepEqual(page.strangers, []);
  assert.deepEqual(page.complaints, []);
});

/// Captures packets from the page, and downloads them.
async function capture(page) {
  const PACKETS = 20;
  await go(page, "#/port/leaf0:1");
  await page.click("text=Capture…");
  await page.fill("#ask-input", String(PACKETS));
  await page.click("dialog button:has-text('OK')");
  await has(page, "#toasts", `Capturing ${PACKETS} packets at leaf0:1`);
  await go(page, "#/whatif");
  await has(page, ".alarms", "Capture 1: leaf0:1, runs");
  await fabric.pingpong("h0", "h3", 50);
  await page.waitForFunction(() => [...document.querySelectorAll(".alarms li")].some((each) =>
    /Capture 1: leaf0:1, [^r]*Download/.test(each.textContent)));
  const [download] = await Promise.all([page.waitForEvent("download"),
                                        page.click("a:has-text('Download')")]);
  const bytes = readFileSync(await download.path());
  assert.equal(bytes.readUInt32LE(0), PCAP_NANOSECONDS);
  let packets = 0;
  for (let at = 24; at < bytes.length; at += 16 + bytes.readUInt32LE(at + 8)) ++packets;
  assert.equal(packets, PACKETS);
}
