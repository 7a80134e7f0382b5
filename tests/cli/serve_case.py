# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of softib serve share: a server that a test starts, and requests to it."""

import json
import re
import subprocess
import urllib.error
import urllib.request

from cli_case import SOFTIB, CliCase


class ServeCase(CliCase):
    def setUp(self):
        super().setUp()
        self.server = None
        self.tls = None  # Checks the certificate of an https server.

    def tearDown(self):
        if self.server:
            self.server.terminate()
            self.server.communicate(timeout=20)
        super().tearDown()

    def start(self, words, **kwargs):
        self.server = subprocess.Popen(words, env=self.env, text=True, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, **kwargs)
        self.said = self.server.stdout.readline()
        found = re.search(r"(https?://\S+)/", self.said)
        self.assertTrue(found, self.said)
        self.url = found.group(1)

    def serve(self, *flags, **kwargs):
        """Starts a server on a free port; the next requests go to it."""
        self.start([SOFTIB, "serve", "--port", "0", *flags], **kwargs)
        if "--allow-control" in flags or "--address" in flags:
            self.token = self.server.stdout.readline().split()[1]

    def ask(self, path, method="GET", body=None, **headers):
        """Returns the status and the text of an answer."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, method=method, data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20, context=self.tls) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def end(self, number=None):
        """Ends the server: kindly, or by a signal."""
        self.server.terminate() if number is None else self.server.send_signal(number)
        self.server.communicate(timeout=20)
        self.server = None

    def get(self, path):
        status, text = self.ask(path)
        self.assertEqual(status, 200, text)
        return json.loads(text)
