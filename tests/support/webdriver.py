"""A browser, driven over WebDriver (W3C) by chromedriver. Standard library only."""

import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """chromium without a window. What its console says and what it asks the network for is kept."""

    def __init__(self, directory, width=1280, height=900):
        self.driver = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.root = f"http://127.0.0.1:{port}"
        with open(os.path.join(directory, "chromedriver.log"), "w", encoding="utf-8") as log:
            self.driver = subprocess.Popen([shutil.which("chromedriver"), f"--port={port}"], stdout=log, stderr=log)
        try:
            self._start(directory, width, height)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def missing():
        """What is not installed, or None."""
        for name in ("chromedriver", "chromium"):
            if shutil.which(name) is None:
                return name
        return None

    def _start(self, directory, width, height):
        deadline = time.monotonic() + 30
        while True:
            try:
                if self._ask("GET", "/status")["ready"]:
                    break
            except (urllib.error.URLError, ConnectionError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        arguments = ["--headless=new", f"--window-size={width},{height}", "--no-first-run", "--disable-gpu",
                     "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
                     f"--user-data-dir={os.path.join(directory, 'profile')}"]
        if os.getuid() == 0:
            arguments.append("--no-sandbox")
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments}}}})
        self.session = f"/session/{made['sessionId']}"

    def _ask(self, method, path, body=None):
        request = urllib.request.Request(self.root + path, method=method,
                                         data=json.dumps(body).encode() if body is not None else None,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def ask(self, method, path, **body):
        return self._ask(method, self.session + path, body if method == "POST" else None)

    def open(self, url):
        self.ask("POST", "/url", url=url)

    def run(self, script, *arguments):
        return self.ask("POST", "/execute/sync", script=script, args=list(arguments))

    def devtools(self, command, **parameters):
        return self.ask("POST", "/goog/cdp/execute", cmd=command, params=parameters)

    def find(self, selector):
        return self.ask("POST", "/element", using="css selector", value=selector)[ELEMENT]

    def click(self, selector):
        self.ask("POST", f"/element/{self.find(selector)}/click")

    def keys(self, text):
        """To whatever has the focus."""
        presses = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", actions=[{"type": "key", "id": "keyboard", "actions": presses}])

    def hover(self, selector):
        self.ask("POST", "/actions", actions=[{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", "duration": 50, "x": 0, "y": 0, "origin": {ELEMENT: self.find(selector)}}]}])

    def resize(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=width < 600)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("GET", "/screenshot")))

    def pdf(self):
        return base64.b64decode(self.ask("POST", "/print"))

    def logs(self, kind):
        return self.ask("POST", "/se/log", type=kind)

    def close(self):
        if self.driver is None:
            return
        try:
            self.ask("DELETE", "")
        except Exception:  # noqa: BLE001 - it may never have begun
            pass
        self.driver.terminate()
        self.driver.wait()
