// SPDX-License-Identifier: BSD-2-Clause
// The page in Chromium, compared with what the command line says of the same fabric.
import assert from "node:assert/strict";
import {existsSync, mkdtempSync, readFileSync} from "node:fs";
import {createServer} from "node:http";
import path from "node:path";
import {after, before, test} from "node:test";
import {BUILD, Fabric, clearToasts, freePort, go, listening, openBrowser, openPage, picture, texts,
        until, violations} from "./harness.mjs";

const fabric = new Fabric();
let browser;
let page;

before(async () => {
  fabric.run("up", "--hosts", "32", "--topology", "fat-tree", "--radix", "8",
             "--generation", "EDR");
  await fabric.serve("--allow-control");
  browser = await openBrowser("--host-resolver-rules=MAP evil.example 127.0.0.1");
  page = await openPage(browser, fabric);
});

after(async () => {
  if (browser) await browser.close();
  await fabric.end();
});

const has = (where, text) => page.waitForFunction(([selector, wanted]) =>
  [...document.querySelectorAll(selector)].some((each) => each.textContent.includes(wanted)),
  [where, text]);

/// Returns the forwarding table of a switch as the command line shows it: LID to port.
const routesOf = (name) => new Map(fabric.json("route", "show", name)
  .map((row) => [row.lid, row.port]));
const switches = () => fabric.json("topo").nodes.filter((node) => node.kind === "switch")
  .map((node) => node.name);
/// Asks the server until `good` of its answer is true, and returns that.
const answer = (path, good) => until(`what is waited for at ${path}`, async () =>
  good(await (await fetch(fabric.url + path)).json()));
/// Returns what the page knows of the fabric, by the name of its model.
const told = (what) => page.evaluate(async (name) => (await import("/page/main.js")).model[name],
                                     what);
const idle = () => answer("/api/v1/alarms", ({alarms}) => alarms.length === 0);

test("overview: nodes and cables are those of the fabric", async () => {
  const topo = fabric.json("topo");
  const known = await page.evaluate(async () => {
    const {model} = await import("/page/main.js");
    return {nodes: model.nodes.name, lids: model.nodes.lid,
            cables: [...model.cables()].map((p) => [model.portName(p), model.peerName(p)].sort())};
  });
  assert.deepEqual([...known.nodes].sort(), topo.nodes.map((node) => node.name).sort());
  assert.deepEqual(known.lids, known.nodes.map((name) =>
    topo.nodes.find((node) => node.name === name).lid));
  const cables = topo.cables.map((c) => [`${c.a}:${c.a_port}`, `${c.b}:${c.b_port}`].sort());
  assert.deepEqual(known.cables.map(String).sort(), cables.map(String).sort());
  const tiles = await texts(page, ".tile");
  assert.match(tiles[0], /Hosts3212 switches/);
  assert.match(tiles[1], /Cables64all up/);
});

test("overview: arrow keys read the matrix, Enter opens a cable", async () => {
  const leafs = fabric.json("topo").cables.filter((c) => /^leaf/.test(c.a) && /^spine/.test(c.b));
  await page.focus(".matrix canvas");
  await page.keyboard.press("ArrowRight");
  await has("#announce", "leaf0 – spine0");
  await page.keyboard.press("ArrowRight");
  await has("#announce", "leaf0 – spine1");
  await page.keyboard.press("ArrowDown");
  await has("#announce", "leaf1 – spine1");
  const cable = leafs.find((c) => c.a === "leaf1" && c.b === "spine1");
  await page.keyboard.press("Enter");
  await has("h1", `leaf1:${cable.a_port} – spine1:${cable.b_port}`);
});

test("a pulled cable appears everywhere by itself, and goes when it is back", async () => {
  await go(page, "#/overview");
  fabric.run("link", "down", "leaf2:6");
  await has(".alarms", "leaf2:6");
  await has(".tile", "× 1 down");
  await picture(page, "overview-fault-dark");
  await go(page, "#/table/cables?q=state:down");
  await has(".total", "1 of 64");
  assert.match((await texts(page, ".grid-row"))[0], /leaf2:6spine1:3× down/);
  await go(page, "#/node/leaf2");  // With the alarms of this node, and of no other.
  await has("section[aria-label='Alarms here'] .alarms", "leaf2:6");
  await go(page, "#/node/leaf3");
  await has("section[aria-label='Alarms here']", "No alarm is active");
  await until("the report of softib health", async () => {
    let report;
    try { report = fabric.json("health"); } catch (error) { report = JSON.parse(error.stdout); }
    const bad = report.checks.filter((check) => !check.ok).map((check) => check.name);
    await go(page, "#/overview");
    await go(page, "#/health");
    await has("tbody tr", "leaf2:6");
    const shown = await page.$$eval("tbody tr", (rows) => rows
      .filter((row) => !row.textContent.includes("✓ ok"))
      .map((row) => row.querySelector("th").textContent));
    assert.deepEqual(bad.filter((name) => !shown.includes(name)), []);
    assert.ok(shown.includes("alarms"));
    return true;
  });
  fabric.run("link", "up", "leaf2:6");
  await has("main", "No alarm is active");
});

test("node: the picture has the cables of the switch", async () => {
  await go(page, "#/node/leaf3");
  const topo = fabric.json("topo");
  const expected = topo.cables.flatMap((c) => (
    c.a === "leaf3" ? [`leaf3:${c.a_port} – ${c.b}:${c.b_port}`]
    : c.b === "leaf3" ? [`leaf3:${c.b_port} – ${c.a}:${c.a_port}`] : []));
  await page.waitForSelector(".map .cable");
  const labels = await page.$$eval(".map a[aria-label*='–']", (all) => all.map((each) =>
    each.getAttribute("aria-label").split(": load")[0].replace(/: (Down|Init).*/, "")));
  assert.deepEqual(labels.sort(), expected.sort());
  const routes = routesOf("leaf3");
  await has("section[aria-label='Routes of leaf3'] .total", `${routes.size} rows`);
});

test("pod: the picture and the table have the cables of its switches and hosts", async () => {
  await go(page, "#/overview");
  await page.click("text=As a picture");
  const {nodes, cables} = fabric.json("topo");
  await has("h1", `${nodes.filter((node) => node.kind === "switch").length} switches, 32 hosts`);
  await page.waitForSelector(".map .cable");
  assert.equal((await page.$$(".map .cable")).length, cables.length);
  await has(".total", `${cables.length} rows`);
});

test("port: counters and plots are those of real traffic", async () => {
  await fabric.pingpong("h0", "h31", 2000);
  await go(page, "#/port/h31/mlx5_0:1");
  const {counters} = fabric.json("status").hosts.find((host) => host.name === "h31").hcas[0];
  assert.ok(counters.xmit_packets >= 2000);
  await page.waitForFunction((wanted) => [...document.querySelectorAll(".counters tr")].some(
    (row) => row.textContent === `xmit_packets${wanted}`),
    counters.xmit_packets.toLocaleString("en-US"));
  // History has rates. Their sums depend on when the server looked, the size of a packet does not.
  const total = (counter) => page.evaluate(async (name) => {
    const past = await fetch(`/api/v1/ports/h31/mlx5_0:1/history?counter=${name}`);
    return (await past.json()).points.reduce((sum, point) => sum + point[1], 0);
  }, counter);
  await until("packets in the history", async () => await total("xmit_packets") > 0);
  const words = await total("xmit_words") / await total("xmit_packets");
  const expected = counters.xmit_words / counters.xmit_packets;
  assert.ok(Math.abs(words / expected - 1) < 0.05, `${words} words a packet, not ${expected}`);
  await page.focus(".plot canvas");
  await page.keyboard.press("ArrowLeft");
  await has("#announce", "sent");
});

test("paths: hops are those of the forwarding tables", async () => {
  await go(page, "#/paths?from=h0&to=h21");
  await page.waitForSelector(".hops");
  const topo = fabric.json("topo");
  const lid = topo.nodes.find((node) => node.name === "h21/mlx5_0").lid;
  const beyond = (node, port) => {
    for (const c of topo.cables) {
      if (c.a === node && c.a_port === port) return c.b;
      if (c.b === node && c.b_port === port) return c.a;
    }
    return null;
  };
  const expected = ["h0/mlx5_0"];
  for (let at = beyond("h0/mlx5_0", 1); at; ) {
    expected.push(at);
    at = /^h/.test(at) ? null : beyond(at, routesOf(at).get(lid));
  }
  assert.deepEqual(await texts(page, ".hops tbody th"), expected);
  await has(".good", `${expected.length - 1} cables from h0/mlx5_0 to h21/mlx5_0 (LID ${lid})`);
  await page.fill("#path-to", "nobody");
  await page.click("button:has-text('Trace')");
  await has(".path-result", "no node 'nobody'");
});

test("trees: a multicast group is drawn by the ports of the switches' tables", async (t) => {
  if (!existsSync("/usr/bin/mckey")) { t.skip("mckey is not installed (rdmacm-utils)"); return; }
  const {ports} = fabric.json("addr");
  const members = ["h2", "h21"].map((host) => fabric.start("exec", host, "--", "mckey", "-m",
    "239.1.2.3", "-b", ports.find((each) => each.host === host).address));
  const tree = await answer("/api/v1/trees", ({trees}) =>
    trees.find((each) => each.ports.includes("leaf0:3") && each.ports.includes("leaf5:2")));
  await go(page, "#/overview");
  await go(page, `#/paths?tree=${tree.id}`);
  await page.waitForSelector(".map .box");
  await has("h3", `multicast ${tree.id}`);
  const names = await page.$$eval(".map .box", (all) => all.map((box) =>
    box.parentNode.getAttribute("aria-label")));
  assert.ok(names.includes("h2/mlx5_0") && names.includes("leaf0"), String(names));
  const shown = await page.$$eval(".tree-cables tbody tr", (rows) => rows.map((row) =>
    [row.children[0].textContent, row.children[1].textContent].sort().join()));
  assert.deepEqual(shown.sort(), multicastCables(tree.id));
  members.forEach((member) => member.kill("SIGKILL"));  // They poll.
});

/// Returns the cables of a multicast group as softib routes dump writes the switches' tables.
function multicastCables(mlid) {
  const {nodes, cables} = fabric.json("topo");
  const far = new Map(cables.flatMap((c) => [[`${c.a}:${c.a_port}`, `${c.b}:${c.b_port}`],
                                             [`${c.b}:${c.b_port}`, `${c.a}:${c.a_port}`]]));
  const folder = mkdtempSync(path.join(fabric.dir, "routes-"));
  fabric.run("routes", "dump", folder);
  const found = new Set();
  let at = "";
  for (const line of readFileSync(path.join(folder, "opensm.mcfdbs"), "utf8").split("\n")) {
    const [, guid] = line.match(/^Switch (0x\w+)/) || [];
    if (guid) at = nodes.find((node) => BigInt(node.guid) === BigInt(guid)).name;
    if (!line.toLowerCase().startsWith(`${mlid} :`)) continue;
    for (const port of line.split(":")[1].trim().split(/\s+/).map(Number)) {
      if (port) found.add([`${at}:${port}`, far.get(`${at}:${port}`)].sort().join());
    }
  }
  return [...found].sort();
}

test("trees: a SHARP job has the switches, ports and ranks of softib sharp trees", async (t) => {
  const example = path.join(BUILD, "examples", "sharp_allreduce");
  if (!existsSync(example)) { t.skip("the example sharp_allreduce was not built"); return; }
  await go(page, "#/paths");
  const meeting = mkdtempSync(path.join(fabric.dir, "sharp-"));
  const hosts = ["h1", "h2", "h9", "h30"];
  const ranks = hosts.map((host, rank) => fabric.start("exec", host, "--", example, meeting,
                                                       String(rank), String(hosts.length), "wait"));
  await answer("/api/v1/trees", ({trees}) => trees.some((tree) => tree.kind === "sharp" &&
    tree.text.startsWith("active") && tree.members.length === hosts.length));
  const [job] = fabric.json("sharp", "trees");
  await page.click(`button:has-text('job ${job.id}')`);  // The list is up to date by itself.
  await has("h3", `sharp job ${job.id}`);
  await has("main p", `root ${job.switches[0].name}`);
  const expected = job.switches.flatMap((sw) => [
    ...(sw.parent ? [[`${sw.name}:${sw.port_to_parent}`, sw.parent, "to its parent"]] : []),
    ...sw.members.map((member) => [`${sw.name}:${member.port}`, member.hca,
                                   `rank ${member.rank}`])]);
  assert.equal(expected.length, hosts.length + job.switches.length - 1);
  const shown = await page.$$eval(".tree-cables tbody tr", (rows) => rows.map((row) =>
    [...row.children].slice(0, 3).map((cell) => cell.textContent)));
  assert.deepEqual(shown.map(([port, to, who]) => [port, to.replace(/:\d+$/, ""), who]).sort(),
                   expected.sort());
  const nodes = await page.$$eval(".map .box", (all) => all.map((box) =>
    box.parentNode.getAttribute("aria-label")));
  assert.deepEqual(nodes.sort(), [...job.switches.map((sw) => sw.name),
                                  ...hosts.map((host) => `${host}/mlx5_0`)].sort());
  assert.match(page.url(), /tree=job/);
  await picture(page, "sharp-dark");
  ranks.forEach((rank) => rank.kill("SIGKILL"));
  await has("main p", `job ${job.id} is over`);
});

test("tables: filters, order, CSV and the length of ports", async () => {
  await go(page, "#/table/ports");
  await has(".total", "128 rows");
  await page.fill(".filter", "name~leaf kind:switch name:leaf4:*");
  await has(".total", "8 of 128 rows");
  await page.click("button:has-text('Port')");
  const rows = await texts(page, ".grid-row [role=gridcell]:first-child");
  assert.deepEqual(rows, Array.from({length: 8}, (_, i) => `leaf4:${i + 1}`));
  assert.match(page.url(), /q=name.*sort=name/);
  const [file] = await Promise.all([page.waitForEvent("download"),
                                    page.click("text=Download CSV")]);
  const lines = readFileSync(await file.path(), "utf8").trim().split("\n");
  assert.equal(lines.length, 9);
  assert.match(lines[1], /^leaf4:1,h16\/mlx5_0:1,leaf4,switch,\d+,Active,100,/);
  await page.fill(".filter", "stat:down");
  await has(".problem", "did you mean 'state'");
  await has(".total", "0 of");
  assert.equal((await page.$$(".grid-row")).length, 0, "a wrong filter matches nothing");
  await page.fill(".filter", "");
  await page.reload();
  await page.waitForSelector("body[data-ready]");
  await has(".total", "128 rows");
});

test("tables: P_Keys, jobs and events are those of the fabric", async () => {
  await go(page, "#/table/pkeys");
  await has(".total", "32 rows");
  assert.match((await texts(page, ".grid-row"))[0], /^0x7fffh0\/mlx5_0full$/);
  fabric.start("exec", "h5", "--", "ibv_rc_pingpong", "-p", "18777");
  await go(page, "#/table/jobs");
  await has(".grid-row", "ibv_rc_pingpong");
  const program = fabric.json("status").programs.find((each) => each.host === "h5");
  await has(".grid-row", `program${program.pid}`);
  await go(page, "#/table/events?q=kind:link_down");
  await has(".grid-row", "leaf2:6");
});

test("search finds by name, LID and GUID, and opens what is chosen", async () => {
  const {lid, guid} = fabric.json("topo").nodes.find((node) => node.name === "spine2");
  for (const words of ["spine2", String(lid), guid]) {
    await page.keyboard.press("/");
    await page.keyboard.type(words);
    await has("[role=option]", "spine2");
    await page.keyboard.press("Enter");
    await has("h1", "spine2");
    await go(page, "#/overview");
  }
  await page.keyboard.press("h");
  await has("h1", "Health");
});

test("time: the slider shows the whole fabric as it was", async () => {
  await go(page, "#/overview");
  fabric.run("link", "down", "leaf5:5");
  await has(".tile", "× 1 down");
  const first = await told("number");
  await until("two more samples", async () => await told("number") > first + 1);
  const down = Math.floor(await told("timeUs") / 1e6);
  fabric.run("link", "up", "leaf5:5");
  await has(".tile", "all up");
  const slots = await answer("/api/v1/slots", ({rings}) => (
    rings[0].times.some((time) => time > down) ? rings[0].times : null));
  await page.waitForFunction((most) => {
    const slider = document.querySelector("footer input");
    return !slider.disabled && Number(slider.max) >= most;
  }, slots.length);
  await page.focus("footer input");
  for (let seen = 0; !(await texts(page, ".tile")).some((text) => text.includes("× 1 down"));) {
    await page.keyboard.press("ArrowLeft");
    seen = await until("another moment", async () => {
      const past = await told("past");
      return past !== seen && past;
    });
    assert.ok(seen >= slots[0], "no moment of the past shows the cable down");
  }
  assert.match((await texts(page, ".moment"))[0], /\(past\)/);
  assert.match(page.url(), /t=\d+/);
  const past = await told("past");
  await page.evaluate(async () => (await import("/page/main.js")).model.load());
  assert.equal(await told("past"), past, "all loaded anew, and still in the past");
  await go(page, "#/table/cables?q=state:down");
  await has(".grid-row", "leaf5:5");
  await picture(page, "past-dark");
  // Nothing that is shown is of today.
  await go(page, "#/port/leaf5:5");
  await has(".counters thead", "Per second");
  const shownThen = await page.evaluate(async () => {
    const {model} = await import("/page/main.js");
    return (await fetch(`/api/v1/ports/leaf5:5?time=${model.past}`)).json();
  });
  assert.equal(shownThen.time_us, await told("shownUs"));
  await has(".tile", "× Down");
  await go(page, "#/table/cables?q=state:down");
  await page.click("button.live");
  await has(".total", "0 of 64");
});

test("a server that refuses the stream is asked again", async () => {
  let refused = 0;
  const other = await openPage(browser, fabric, "", {}, (each) =>
    each.route("**/api/v1/stream", (route) => (++refused === 1 ? route.fulfill({status: 503})
                                                               : route.continue())));
  await other.waitForFunction(() =>
    document.getElementById("connection").textContent.includes("● live"));
  assert.ok(refused > 1);
  await other.context().close();
});

test("what if: the manager then does what was predicted, and undo brings all back", async () => {
  await idle();
  const tables = () => new Map(switches().map((name) => [name, routesOf(name)]));
  const first = tables();
  await go(page, "#/whatif?down=spine3");
  await has(".tile", "Table entries");
  const predicted = await page.evaluate(async () =>
    (await fetch("/api/v1/whatif?down=spine3")).json());
  assert.equal(predicted.pairs_before, 32 * 31);
  assert.equal(predicted.pairs_after, 32 * 31);
  await picture(page, "whatif-dark");
  await page.click("button:has-text('Do it: spine3 off')");
  await page.fill("#ask-input", fabric.token);
  await page.click("dialog button:has-text('OK')");
  await has(".alarms", "spine3 is off");
  const lids = fabric.json("topo").nodes.filter((node) => node.name !== "spine3")
    .map((node) => node.lid);
  const changed = () => {
    const now = tables();
    let entries = 0;
    for (const [name, row] of first) {
      if (name === "spine3") continue;
      for (const lid of lids) entries += row.get(lid) === now.get(name).get(lid) ? 0 : 1;
    }
    return entries;
  };
  await until("new routes", () => changed() > 0);
  assert.ok(changed() <= predicted.entries_changed, `${changed()}`);
  for (const [name, , after_] of predicted.ports.filter((row) => /^spine3/.test(row[0]))) {
    assert.equal(after_, 0, name);
  }
  await page.click(".alarms button:has-text('Undo')");
  await has("main", "Nothing was changed from this page");
  await idle();
});

test("controls: cables and routes change by hand, as the command line sees", async () => {
  await go(page, "#/port/leaf6:7");
  await page.focus("button:has-text('Pull this cable')");
  const number = await told("number");
  await until("two more samples", async () => await told("number") > number + 1);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Pull this cable");
  await page.keyboard.press("Enter");
  await has("#toasts", "The cable at leaf6:7 is pulled");  // Only then it can be undone.
  await has(".tile", "× Down");
  await page.keyboard.press("u");
  await has("#toasts", "Undone");
  await has(".tile", "Active");
  await clearToasts(page);
  await go(page, "#/node/leaf6");
  const lid = fabric.json("topo").nodes.find((node) => node.name === "h0/mlx5_0").lid;
  const port = routesOf("leaf6").get(lid);
  const other = port === 5 ? 6 : 5;
  await page.fill("section[aria-label='Routes of leaf6'] .filter", `lid=${lid}`);
  await page.click("text=Change the route of this row");
  await page.fill("#ask-input", String(other));
  await page.click("dialog button:has-text('OK')");
  await has("#toasts", `leaf6 sends packets to LID ${lid} by port ${other}`);
  assert.equal(routesOf("leaf6").get(lid), other);
  await page.keyboard.press("u");
  await has("#toasts", "Undone");
  assert.equal(routesOf("leaf6").get(lid), port);
});

test("traffic colours every port of its path, and the plots of each", async (t) => {
  if (!existsSync("/usr/bin/ib_write_bw")) { t.skip("perftest is not installed"); return; }
  const pairs = [["h0", "h20"], ["h5", "h20"], ["h9", "h30"]];
  const programs = [];
  for (const [from, to] of pairs) {
    const port = await freePort();
    const words = ["ib_write_bw", "-D", "600", "-s", "65536", "-p", String(port)];
    programs.push(fabric.start("exec", to, "--", ...words));
    await listening(port);
    programs.push(fabric.start("exec", from, "--", ...words, to));
  }
  await go(page, "#/overview");
  for (const [from, to] of pairs) {
    const {hops} = await answer(`/api/v1/path?from=${from}&to=${to}`, (path) => path);
    for (const hop of hops.slice(0, -1)) {
      const name = `${hop.node}:${hop.out}`;
      await answer(`/api/v1/ports/${name}`, ({rates}) => rates.xmit_bytes > 1e6);
    }
  }
  // A path's load is of its direction: nearly nothing comes back.
  await until("loads of one direction", () => page.evaluate(async () => {
    const {model} = await import("/page/main.js");
    const [there, back] = ["h0/mlx5_0:1", model.peerName(model.findPort("h0/mlx5_0:1"))]
      .map((name) => model.shown.load[model.findPort(name)]);
    return there > 0 && back < there / 4;
  }));
  // What three hosts send arrives at two, and is counted once.
  await until("the traffic, once", async () => {
    const sent = (await page.evaluate(async () => {
      const {model} = await import("/page/main.js");
      let bits = 0;
      for (let port = 0; port < model.portCount; ++port) {
        if (model.isHostPort[port]) bits += model.shown.load[port] * model.mbps[port] * 1e3;
      }
      return bits;
    }));
    const rates = await Promise.all(pairs.map(([from]) =>
      answer(`/api/v1/ports/${from}/mlx5_0:1`, ({rates: each}) => each)));
    const real = rates.reduce((sum, each) => sum + 8 * each.xmit_bytes, 0);
    return Math.abs(sent / real - 1) < 0.4;
  });
  await has(".tile", "sent by the hosts");
  await has("h2", "Tiers, by the worst port");
  fabric.run("link", "down", "leaf6:8");
  await has(".tile", "× 1 down");
  await has(".ranking", "h20");
  await clearToasts(page);
  await picture(page, "overview-dark", 1500);
  await page.emulateMedia({colorScheme: "light"});
  await picture(page, "overview-light");
  await page.emulateMedia({colorScheme: "dark"});
  await go(page, "#/node/leaf5");
  await picture(page, "node-dark", 1200);
  await go(page, "#/pod/1/0");
  await picture(page, "pod-dark", 1200);
  await page.setViewportSize({width: 420, height: 800});
  await go(page, "#/overview");
  await picture(page, "small-dark", 500);
  await page.setViewportSize({width: 1440, height: 900});
  await go(page, "#/port/leaf5:1");
  await picture(page, "port-dark", 1500);
  await go(page, "#/paths?from=h0&to=h20");
  await picture(page, "path-dark", 800);
  programs.forEach((program) => program.kill("SIGKILL"));
  fabric.run("link", "up", "leaf6:8");
});

for (const colorScheme of ["dark", "light"]) {
  // The other colour scheme differs only in its colours.
  const rules = colorScheme === "light" ? ["color-contrast"] : null;
  test(`axe finds nothing to complain about in any view, ${colorScheme}`, async () => {
    const other = await openPage(browser, fabric, "", {colorScheme});
    for (const [name, address] of Object.entries({
      overview: "#/overview", node: "#/node/leaf0", pod: "#/pod/1/0", port: "#/port/leaf0:5",
      paths: "#/paths?from=h0&to=h9", ports: "#/table/ports", cables: "#/table/cables",
      events: "#/table/events", pkeys: "#/table/pkeys", jobs: "#/table/jobs", health: "#/health",
      whatif: "#/whatif?down=spine0"})) {
      await go(other, address);
      await other.waitForTimeout(400);
      assert.deepEqual(await violations(other, rules), [], name);
      if (!/overview|port$|node|pod|paths/.test(name)) await picture(other, `${name}-${colorScheme}`);
    }
    await other.keyboard.press("/");
    assert.deepEqual(await violations(other, rules), [], "search");
    assert.deepEqual(other.strangers, []);
    await other.context().close();
  });
}

test("a page of another site reads and changes nothing, nor does one by another name", async () => {
  const site = createServer((_, response) => response.end("<title>evil</title>"));
  await new Promise((resolve) => { site.listen(0, "127.0.0.1", resolve); });
  const stranger = await (await browser.newContext()).newPage();
  const own = fabric.url.replace("localhost", "evil.example");  // A name that was bound anew.
  assert.equal((await stranger.goto(`${own}/api/v1/snapshot`)).status(), 421);
  await stranger.goto(`http://evil.example:${site.address().port}/`);
  const results = await stranger.evaluate(async ([url, token]) => {
    const link = `${url}/api/v1/links/leaf2:6`;
    const body = JSON.stringify({up: false});
    const tries = [
      () => fetch(`${url}/api/v1/snapshot`),
      () => fetch(link, {method: "POST", body, headers: {
        "Content-Type": "application/json", Authorization: `Bearer ${token}`}}),
      () => fetch(link, {method: "POST", body, mode: "no-cors"}),
      () => new Promise((resolve, reject) => {
        const source = new EventSource(`${url}/api/v1/stream`);
        source.onmessage = source.onopen = resolve;
        source.onerror = reject;
      }),
    ];
    return Promise.all(tries.map((act) => act().then((answer) => answer.type, () => "refused")));
  }, [fabric.url, fabric.token]);
  assert.deepEqual(results, ["refused", "refused", "opaque", "refused"]);
  await answer("/api/v1/ports/leaf2:6", ({state}) => state === 4);
  assert.equal(await page.evaluate(async () => (await (await fetch("/api/v1/alarms")).json())
    .alarms.filter((alarm) => alarm.object === "leaf2:6").length), 0);
  await stranger.context().close();
  site.close();
});

test("nothing was asked of any other machine, and the browser complains about nothing", () => {
  assert.deepEqual(page.strangers, []);
  assert.deepEqual(page.complaints.filter((text) => !/40[149]/.test(text)), []);
});
