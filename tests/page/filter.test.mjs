// SPDX-License-Identifier: BSD-2-Clause
// The filter language, without a browser.
import assert from "node:assert/strict";
import test from "node:test";
import {compile, example} from "../../src/page/filter.js";

const ROWS = [{name: "leaf0:1", state: "Active", rate: 400},
              {name: "leaf1:2", state: "Down", rate: 100},
              {name: "spine0:1", state: "Active", rate: 50},
              {name: "big host:1", state: "Init", rate: 0}];
const COLUMNS = ["name", "state", "rate"].map((key) => ({key, value: (row) => row[key]}));
const names = (text) => ROWS.filter(compile(text, COLUMNS)).map((row) => row.name);

for (const [text, expected] of [
  ["", ["leaf0:1", "leaf1:2", "spine0:1", "big host:1"]],
  ["state:down", ["leaf1:2"]],
  ["STATE:Down", ["leaf1:2"]],
  ["name:leaf*", ["leaf0:1", "leaf1:2"]],
  ["name~leaf rate<400", ["leaf1:2"]],
  ["rate>=100", ["leaf0:1", "leaf1:2"]],
  ["rate=100", ["leaf1:2"]],
  ["rate>99%", ["leaf0:1", "leaf1:2"]],
  ["-state:active", ["leaf1:2", "big host:1"]],
  ["state!=active", ["leaf1:2", "big host:1"]],
  ["spine", ["spine0:1"]],
  ["-leaf -spine", ["big host:1"]],
  ["name~\"big host\"", ["big host:1"]],
  ["name~(", []],
  ["leaf0:1", ["leaf0:1"]],
]) {
  test(`filter: ${text || "nothing"}`, () => assert.deepEqual(names(text), expected));
}

test("filter: an unknown column is named, with the nearest", () => {
  assert.throws(() => compile("stat:down", COLUMNS), /no column 'stat'; did you mean 'state'/);
});

test("filter: a column may be named as its heading is", () => {
  const columns = [{key: "b", title: "Other end", value: (row) => row}];
  assert.equal(compile("otherend:x", columns)("x"), true);
  assert.equal(compile("OtherEnd:x", columns)("y"), false);
});

test("filter: the example of a table is a filter of that table", () => {
  for (const columns of [COLUMNS, [{key: "a", title: "One end", value: () => "leaf0:1"}],
                         [{key: "id", number: true, value: () => 1}]]) {
    assert.ok(example(columns));
    assert.doesNotThrow(() => compile(example(columns), columns));
  }
});

test("filter: a comparison wants a number", () => {
  assert.throws(() => compile("rate<fast", COLUMNS), /rate< wants a number, not 'fast'/);
});
