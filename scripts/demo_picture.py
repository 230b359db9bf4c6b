#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/demo-light.png and docs/demo-dark.png, pictures of the demo page of a running system.

    scripts/demo_picture.py 'http://localhost:8080/demo/#app=…&alice=…&bob=…'

The address is the one that `make run` prints; a new app gives the cleanest picture.
Needs Chromium; CHROMIUM names its program. The script sends a few messages as Alice and Bob.
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

MAXIMUM_BYTES = 200_000
SCALES = (1.5, 1.4, 1.25, 1)  # The first one whose picture is small enough is used.
TIMEOUT = 30  # seconds

PREPARE = """
async () => {
  const part = (user, name) => document.querySelector(`#${user} [data-part=${name}]`);
  const users = ["alice", "bob"];
  const until = async (condition) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  const type = (user, text) => {
    part(user, "text").focus();
    part(user, "text").value = text;
    part(user, "text").dispatchEvent(new Event("input", { bubbles: true }));
  };
  const has = (user, text) => part(user, "messages").textContent.includes(text);
  const send = async (user, text, others = users) => {
    type(user, text);
    part(user, "composer").requestSubmit();
    await until(() => others.every((one) => has(one, text)));
  };
  const open = (user, title) => [...part(user, "list").querySelectorAll("button")]
    .find((button) => button.textContent.includes(title)).click();
  await until(() => users.every((user) => document.querySelector(`#${user}`)?.dataset.state === "live"));
  await until(() => users.every((user) => document.querySelectorAll(`#${user} .message`).length >= 4));
  if (!part("alice", "list").textContent.includes("Book club")) {
    part("bob", "newButton").click();
    part("bob", "newTitle").value = "Book club";
    part("bob", "newForm").requestSubmit();
    await send("bob", "Have you read chapter four?", ["bob"]);
    await until(() => part("alice", "list").textContent.includes("chapter four"));
    open("bob", "Weekend");
    await send("alice", "The flat is ours until Monday.");
    await send("bob", "Perfect. Is there room for the bikes?");
    await send("alice", "Yes, in the yard.");
  }
  part("bob", "themes").querySelector("[value=forest]").click();
  await until(() => document.querySelector("#alice").dataset.theme === "forest");
  type("bob", "Shall we also book");
  await until(() => part("alice", "typing").textContent.includes("typing"));
  document.activeElement.blur();
}
"""

class Page:
    """A page of a headless Chromium, controlled through a pipe."""

    def __init__(self, directory: str) -> None:
        program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        if program is None:
            sys.exit("Chromium is missing: apt-get install chromium")
        read_in, self.write = os.pipe()
        self.read, write_out = os.pipe()
        options = ["--headless=new", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")
        # Chromium reads commands from descriptor 3 and writes to 4.
        command = ["bash", "-c", f'exec "$@" 3<&{read_in} 4>&{write_out}', "bash", program, *options]
        self.process = subprocess.Popen([*command, f"--user-data-dir={directory}"], pass_fds=(read_in, write_out),
                                        stderr=subprocess.DEVNULL)
        os.close(read_in)
        os.close(write_out)
        self.calls, self.session, self.rest = 0, None, b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method: str, **params: object) -> dict:
        self.calls += 1
        packet = {"id": self.calls, "method": method, "params": params}
        if self.session:
            packet["sessionId"] = self.session
        os.write(self.write, json.dumps(packet).encode() + b"\0")
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            packets = self.rest.split(b"\0")
            self.rest = packets.pop()
            for position, packet in enumerate(map(json.loads, packets)):
                if packet.get("id") != self.calls:
                    continue
                self.rest = b"".join(one + b"\0" for one in packets[position + 1:]) + self.rest
                if "error" in packet:
                    sys.exit(f"{method}: {packet['error']['message']}")
                return packet["result"]
            chunk = os.read(self.read, 1 << 20)
            if not chunk:
                sys.exit("Chromium ended.")
            self.rest += chunk
        sys.exit(f"{method}: no answer within {TIMEOUT} s")

    def run(self, function: str) -> None:
        result = self.call("Runtime.evaluate", expression=f"({function})()", awaitPromise=True, userGesture=True)
        if "exceptionDetails" in result:
            sys.exit(result["exceptionDetails"]["text"])

    def resize(self, width: int, height: int, scale: float) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def show(self, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme},
                    {"name": "prefers-reduced-motion", "value": "reduce"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def close(self) -> None:
        self.session = None
        self.call("Browser.close")
        self.process.wait(timeout=TIMEOUT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "docs",
                        help="the directory of the pictures; default: docs")
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--height", type=int, default=720)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        page = Page(directory)
        page.resize(arguments.width, arguments.height, SCALES[0])
        page.call("Page.navigate", url=arguments.url)
        page.run(PREPARE)
        for scheme in ("light", "dark"):
            page.show(scheme)
            file = arguments.output / f"demo-{scheme}.png"
            for scale in SCALES:
                page.resize(arguments.width, arguments.height, scale)
                page.run("() => new Promise((resolve) => setTimeout(resolve, 400))")
                picture = base64.b64decode(page.call("Page.captureScreenshot", format="png")["data"])
                if len(picture) < MAXIMUM_BYTES:
                    break
            file.write_bytes(picture)
            print(f"{file}: {len(picture)} bytes")
        page.close()


if __name__ == "__main__":
    main()
