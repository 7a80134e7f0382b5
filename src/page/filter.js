// SPDX-License-Identifier: BSD-2-Clause
// The filter language of tables and maps. A row is shown if all words hold for it.
//
//   state:down          the column is equal to this; * stands for anything (name:leaf*)
//   name~leaf           the column contains this
//   rate<100 load>=50   the column is a number less, greater, ...; a % sign may follow
//   -state:active       the word behind the minus does not hold
//   spine  leaf0:3      any column contains this
//   "two words"         quotation marks keep spaces

const WORD = /(-?)(?:([\w.]+)(:|~|!=|<=|>=|=|<|>))?("[^"]*"?|\S+)?/gy;

/// Returns how different two short words are.
function distance(a, b) {
  let row = Array.from({length: b.length + 1}, (_, i) => i);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let k = 1; k <= b.length; ++k) {
      next[k] = Math.min(row[k] + 1, next[k - 1] + 1, row[k - 1] + (a[i - 1] === b[k - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length];
}

function pattern(text) {
  const escaped = text.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*");
  return new RegExp(`^${escaped}$`, "i");
}

function testOf(column, operator, text) {
  if (operator === "~") {
    const wanted = text.toLowerCase();
    return (row) => String(column.value(row)).toLowerCase().includes(wanted);
  }
  const number = Number(text.replace(/%$/, ""));
  if ("<>".includes(operator[0])) {
    if (text === "" || Number.isNaN(number)) {
      throw new Error(`${column.key}${operator} wants a number, not '${text}'`);
    }
    const tests = {"<": (v) => v < number, ">": (v) => v > number,
                   "<=": (v) => v <= number, ">=": (v) => v >= number};
    return (row) => tests[operator](Number(column.value(row)));
  }
  const wanted = pattern(text);
  const is = (row) => {
    const value = column.value(row);
    return typeof value === "number" && text !== "" && !Number.isNaN(number) ? value === number
      : wanted.test(String(value));
  };
  return operator === "!=" ? (row) => !is(row) : is;
}

const titleOf = (column) => (column.title || "").toLowerCase().replaceAll(" ", "");

/// Returns the column of a word: by its key, or by its title without blanks.
function columnOf(columns, name) {
  const wanted = name.toLowerCase();
  return columns.find((each) => each.key === wanted) ||
         columns.find((each) => titleOf(each) === wanted);
}

/// Returns a filter that these columns have, as an example.
export function example(columns) {
  const text = columns.find((each) => !each.number);
  const number = columns.find((each) => each.key === "rate") || columns.find((each) => each.number);
  return [columns.some((each) => each.key === "state") ? "state:down" : null,
          number ? `${number.key}<400` : null, text ? `${text.key}~leaf` : null]
    .filter(Boolean).join(" ");
}

/// Returns a function that says whether a row is shown. Throws an Error with a sentence if the
/// filter is not valid.
export function compile(text, columns) {
  const tests = [];
  WORD.lastIndex = 0;
  const rest = text.trim();
  while (WORD.lastIndex < rest.length) {
    while (/\s/.test(rest[WORD.lastIndex] || "")) ++WORD.lastIndex;
    const match = WORD.exec(rest);
    if (!match || match[0] === "") break;
    const [, not, key, operator, raw = ""] = match;
    const value = raw.replace(/^"|"$/g, "");
    let test;
    const isPort = operator === ":" && /^\d+$/.test(value);  // leaf0:3
    if (key && !(isPort && !columnOf(columns, key))) {
      const column = columnOf(columns, key);
      if (!column) {
        const near = [...columns].sort((a, b) => distance(key, a.key) - distance(key, b.key))[0];
        throw new Error(`there is no column '${key}'; did you mean '${near.key}'? ` +
                        `Columns are ${columns.map((each) => each.key).join(", ")}`);
      }
      test = testOf(column, operator, value);
    } else {
      const wanted = (key ? `${key}:${value}` : value).toLowerCase();
      test = (row) => columns.some((column) => String(column.value(row)).toLowerCase()
        .includes(wanted));
    }
    tests.push(not ? (row) => !test(row) : test);
  }
  return (row) => tests.every((test) => test(row));
}
