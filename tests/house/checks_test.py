#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The checks of this folder find what they are meant to find."""
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docs"))
import check_commits
import check_files
import check_functions
import check_layers
import check_map
import check_namespaces
import check_order
import check_prose
import documented
import tree


class Files(unittest.TestCase):
    def test_length(self):
        licence = "# SPDX-License-Identifier: BSD-2-Clause\n"
        for lines, complaints in ((600, 0), (601, 1)):
            text = licence + "x\n" * (lines - 1)
            found = list(check_files.complaints_of("a.py", pathlib.Path("a.py"), text))
            self.assertEqual(len(found), complaints)


class Functions(unittest.TestCase):
    def lengths(self, text):
        return dict(check_functions.cpp_functions(text))

    def test_counts_from_the_name_to_the_brace(self):
        self.assertEqual(self.lengths("namespace a {\nint f(int x,\n      int y) {\n"
                                      "    if (x) {\n    }\n    return y;\n}\n}\n"), {"f": 6})

    def test_members_constructors_and_tests_are_functions(self):
        text = ("struct alignas(64) S : B {\n    S() : a{1}, b(2) {\n    }\n    int a;\n"
                "    void g() const {}\n};\nTEST(Suite, Name) {\n\n}\n")
        self.assertEqual(self.lengths(text)["g"], 1)
        self.assertEqual(self.lengths(text)["Suite.Name"], 3)

    def test_tables_lambdas_and_comments_are_not(self):
        text = ("constexpr auto kTable = make({\n    1,\n});\n// void f() {\n"
                'const char* kText = "void g() {";\nint h() {\n    return [] { return 1; }();\n}\n')
        self.assertEqual(self.lengths(text), {"h": 3})

    def test_python(self):
        self.assertEqual(dict(check_functions.python_functions("def f():\n    pass\n")), {"f": 2})


class Layers(unittest.TestCase):
    def complaints(self, allowed, files, restricted=None, system=()):
        with (tempfile.TemporaryDirectory() as folder,
              mock.patch.object(check_layers, "ALLOWED", allowed),
              mock.patch.object(check_layers, "RESTRICTED", restricted or {}),
              mock.patch.object(check_layers, "SYSTEM", system)):
            for name, target in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"#include {target}\n")
            return check_layers.check(pathlib.Path(folder))

    def test_an_include_needs_a_permission(self):
        files = {"a/x.h": '"b/y.h"', "b/y.h": "<vector>"}
        self.assertEqual(self.complaints({"a": ["b"], "b": []}, files), [])
        self.assertEqual(self.complaints({"a": [], "b": []}, files),
                         ["a/x.h:1: a must not include b (b/y.h)"])

    def test_the_longest_folder_is_the_layer(self):
        files = {"a/x.h": '"b/c/y.h"', "b/c/y.h": "<vector>"}
        self.assertEqual(self.complaints({"a": ["b"], "b": [], "b/c": []}, files),
                         ["a/x.h:1: a must not include b/c (b/c/y.h)",
                          "a may include b, but does not: take that away"])

    def test_cycles(self):
        files = {"a/x.h": '"b/y.h"', "b/y.h": '"a/x.h"'}
        self.assertEqual(self.complaints({"a": ["b"], "b": ["a"]}, files),
                         ["layers in a cycle: a > b > a"])

    def test_permissions_that_nothing_needs(self):
        allowed = {"a": [], "b": [], "c": []}
        restricted = {"^zlib": ["b", "c"], "^thread$": ["a", "b"], "^poll": ["a", "b"]}
        self.assertEqual(
            self.complaints(allowed, {"a/x.h": "<thread>", "b/y.cc": "<zlib.h>"}, restricted,
                            ["a", "b"]),
            ["b is in SYSTEM, but needs nothing of it: take it out",
             "c may include <^zlib>, but does not: take that away"])
        files = {"a/x.h": "<poll.h>", "b/x.h": "<thread>", "c/x.h": "<zlib.h>"}
        self.assertEqual(self.complaints(allowed, files, restricted, ["a", "b"]),
                         ["b may include <^zlib>, but does not: take that away"])

    def test_headers_that_a_layer_may_not_include(self):
        files = {"a/x.h": "<poll.h>", "b/x.h": "<poll.h>", "c/x.h": "<poll.h>"}
        self.assertEqual(
            self.complaints({"a": [], "b": [], "c": []}, files, {"^poll": ["a", "b"]}),
            ["c/x.h:1: <poll.h> belongs in a, b only"])


class Order(unittest.TestCase):
    TABLES = {"table", "all"}

    def walks(self, text):
        return [name for _, name in check_order.walks(text, self.TABLES)]

    def test_declarations(self):
        code = ("std::unordered_map<int, std::vector<int>> table_;\n"
                "const std::unordered_set<int>& all() const;\nvoid f(const Bases& bases);\n")
        self.assertEqual(check_order.declared(code, {"Bases"}), {"table_", "all", "bases"})

    def test_walks(self):
        self.assertEqual(self.walks("for (const auto& [a, b] : x.table) {"), ["table"])
        self.assertEqual(self.walks("for (int a : x->all()) f();"), ["all"])
        self.assertEqual(self.walks("std::vector<int> v(table.begin(), table.end());"), ["table"])
        self.assertEqual(self.walks("std::ranges::any_of(table, f)"), ["table"])

    def test_what_is_no_walk(self):
        self.assertEqual(self.walks("for (int i = 0; i < n; ++i) { table.find(i); }"), [])
        self.assertEqual(self.walks("for (const auto& x : table[key].list) {"), [])
        self.assertEqual(self.walks("std::erase_if(table, f);"), [])


class Map(unittest.TestCase):
    TEXT = ("## Map\n\n```\nsrc/a/     pure\n  b/       does; c/: more,\n"
            "           d/: too; /sys/x/y\nsrc/e/f/   g\n```\n")

    def test_entries_and_what_their_text_names(self):
        self.assertEqual(check_map.mapped(self.TEXT),
                         {"src/a/", "src/a/b/", "src/a/b/c/", "src/a/b/d/", "src/e/f/"})

    def test_complains_of_both_sides(self):
        names = ["src/a/x.cc", "src/a/b/x.cc", "src/a/b/c/x.h", "src/e/f/x.cc", "src/new/x.cc"]
        self.assertEqual(len(list(check_map.check_map(self.TEXT, names))), 2)

    def test_paths(self):
        paths = check_map.Paths(["src/core/sm/manager.h", "src/core/sm/manager.cc"])
        for path in ("core/sm/manager.h", "src/core/sm", "sm/manager", "sm/man*.cc", "manager.cc"):
            self.assertTrue(paths.exists(path), path)
        self.assertFalse(paths.exists("core/sm/gone.cc"))
        self.assertFalse(paths.is_ours("/sys/class/net"))
        self.assertEqual(check_map.alternatives("a.{b,c}"), ["a.b", "a.c"])


class Namespaces(unittest.TestCase):
    def complaints(self, folder, namespace, body="int f();"):
        text = f"namespace {namespace} {{\n{body}\n}}\n"
        return list(check_namespaces.complaints_of(folder, text))

    def test_folders(self):
        for folder, namespace in (("core/hca", "softib::hca"), ("core/sm/sa", "softib::sm"),
                                  ("core/switch", "softib::sw"), ("core/base", "softib"),
                                  ("runtime/direct/memory/gpu", "softib::direct::gpu"),
                                  ("core/wire/format", "softib::wire::detail")):
            self.assertEqual(self.complaints(folder, namespace), [], folder)

    def test_others(self):
        for folder, namespace in (("runtime/shm", "softib::live"), ("core/hca", "softib"),
                                  ("core/sm/sa", "softib::sa::sm::x"), ("net", "softib::sim::net")):
            self.assertEqual(len(self.complaints(folder, namespace)), 1, folder)

    def test_declarations_of_others(self):
        self.assertEqual(self.complaints("server", "softib::shm", "struct Arena;\nclass A;"), [])
        self.assertEqual(len(self.complaints("server", "softib::shm", "struct A {};")), 1)


class Ratchet(unittest.TestCase):
    def test_the_list_only_shrinks(self):
        known = sorted(tree.exceptions("foreign_paths.txt"))
        self.assertEqual(tree.ratchet("foreign_paths.txt", dict.fromkeys(known, "")), [])
        self.assertEqual(len(tree.ratchet("foreign_paths.txt", dict.fromkeys(known[1:], ""))), 1)
        more = dict.fromkeys(known + ["docs/new.md new.cc"], "")
        self.assertEqual(len(tree.ratchet("foreign_paths.txt", more)), 1)


class Prose(unittest.TestCase):
    def complaints(self, text, name="a.h"):
        return [complaint.split(":")[-1].strip()
                for _, complaint in check_prose.complaints_of(name, text)]

    def test_comments_stand_by_themselves(self):
        for comment in ("/// Of the next request.", "/// Who arms a queue looks at entries.",
                        "/// False: nothing has changed.", "int a;  ///< of which some are left.",
                        "/// Offers of one call,", "/// A port, which is to stop.",
                        "// Room for so many timers.", "// The manager, if he succeeds."):
            self.assertEqual(len(self.complaints(comment + "\n")), 1, comment)

    def test_lines_of_one_comment_are_read_together(self):
        self.assertEqual(self.complaints("/// Returns the port\n/// of which it is.\n"), [])
        self.assertEqual(self.complaints("int a;  ///< The first,\n        ///< then all.\n"), [])

    def test_code_and_strings_are_not_prose(self):
        self.assertEqual(self.complaints('f("// Of a port");  // SPDX-License-Identifier: x\n'), [])

    def test_documents(self):
        self.assertEqual(len(self.complaints("It\nis to stop.\n", "a.md")), 1)
        self.assertEqual(self.complaints("```\nIt is to stop.\n```\n", "a.md"), [])
        self.assertEqual(self.complaints("Its path is to the left; as many as he\n", "a.md"),
                         ["name the actor"])


class Documents(unittest.TestCase):
    def test_scripts_and_consoles(self):
        text = ("```sh\na \\\n  b\nfor i in 1; do\n  c\ndone\nd <<E\nx\nE\n```\n\n"
                "<!-- first: d -->\n```console\n$ e\noutput\n# root\n```\n\n```toml\n$ f\n```\n")
        self.assertEqual([block.statements for block in documented.blocks(text)],
                         [["a \\\n  b", "for i in 1; do\n  c\ndone", "d <<E\nx\nE"], ["d", "e"]])

    def test_reasons(self):
        text = ("<!-- not run: root -->\n```sh\na\n```\n"
                "<!-- not run: far -->\nText.\n```sh\nb\n```\n")
        self.assertEqual([block.reason for block in documented.blocks(text)], ["root", ""])


class Commits(unittest.TestCase):
    def test_subjects(self):
        self.assertTrue(check_commits.is_good("core/sm, tests: Choose the best heir"))
        for subject in ("sm: choose", "sm: The heir", "Choose an heir", "sm: Choose an heir."):
            self.assertFalse(check_commits.is_good(subject), subject)

    def test_named_commits_stand_in_last_columns(self):
        table = "| a verb | `entry.h` | `0aeefca7` |\n| `deadbeef` | no commit |\n"
        self.assertEqual(check_commits.named_commits(table), ["0aeefca7"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
