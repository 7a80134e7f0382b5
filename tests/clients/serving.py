# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of softib serve's clients share: a server of a fabric, and requests to it."""

import json
import re
import time
import urllib.error
import urllib.request

from softib_test import Failure, Program, free_port, listening

PATIENCE_S = 60


def fetch(url, method="GET", body=None, headers=None):
    """Returns the text of an answer; any status but success is a failure."""
    data = None if body is None else json.dumps(body).encode()
    headers = {**({"Content-Type": "application/json"} if data else {}), **(headers or {})}
    request = urllib.request.Request(url, method=method, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        raise Failure(f"{method} {url}: {error.code} {error.read().decode()}") from error


def until(what, condition, timeout_s=PATIENCE_S):
    """Waits until a condition is true. Returns its value."""
    end = time.monotonic() + timeout_s
    while True:
        try:
            found, why = condition(), ""
        except (Failure, OSError) as error:
            found, why = None, str(error)
        if found:
            return found
        if time.monotonic() > end:
            raise Failure(f"{what} did not happen\n{why}")
        time.sleep(0.1)


class Server:
    """A softib serve of a fabric, on a port that was free."""

    def __init__(self, fabric, *flags):
        argv = [fabric.softib, "serve", "-f", fabric.name, "--port", "0", *flags]
        self.program = Program(argv, argv, fabric.env)
        fabric.programs.append(self.program)
        wanted = "token: " if "--allow-control" in flags else "serving at "
        self.program.wait_until(lambda: f"{wanted}" in self.program.output(), "serving")
        said = self.program.output()
        self.url = re.search(r"(https?://\S+)/", said)[1]
        self.address = self.url.split("//")[1]
        self.token = (re.findall(r"token: (\w+)", said) or [""])[0]

    def get(self, path):
        return json.loads(fetch(self.url + path))

    def metrics(self, query=""):
        """Returns values by name and labels, the labels as a sorted tuple."""
        return parse_metrics(fetch(f"{self.url}/metrics{query}"))


def parse_metrics(text):
    found = {}
    for name, labels, value in re.findall(r"^(\w+)(\{[^\n]*\})? (\S+)", text, re.MULTILINE):
        found[name, tuple(sorted(re.findall(r'(\w+)="([^"]*)"', labels)))] = float(value)
    return found


def start_judge(fabric, argv, port):
    """Starts a program that serves HTTP itself, and waits until it listens."""
    program = Program(argv, argv, fabric.env)
    fabric.programs.append(program)
    program.wait_until(lambda: listening(port), f"listening on port {port}")
    return program


__all__ = ["Server", "fetch", "free_port", "parse_metrics", "start_judge", "until"]
