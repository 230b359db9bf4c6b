#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs and commands of docs/clients.md, from "Watch a socket" to "Sign identity tokens", against the system at STRATA_API.

The command `strata` is taken from .build/debug unless PATH has one, and STRATA_HOME says which system it is about. Exits with 1, and prints what came, if Bob
is not sent the packets that the page promises, or the token of the page's server does not open a session.
"""
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEADLINE = 60
PROMISED = ['"operation": "create", "object": {"type": "Conversation"', '"operation": "create", "object": {"type": "Message"', '"property": "last_message"',
            '"property": "unread_message_count"']


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def main():
    text = (ROOT / "docs/clients.md").read_text()
    text = text[text.index("## Watch a socket"):text.index("## Connect a stock JavaScript client")].replace("8100", str(free_port()))
    commands = "".join(re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    environment = os.environ | {"API": os.environ["STRATA_API"], "PATH": f"{os.environ['PATH']}:{ROOT}/.build/debug", "PYTHONUNBUFFERED": "1"}
    example = (ROOT / "Examples/watch.py").read_text()
    if re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1] not in example:
        sys.exit("docs/clients.md shows another program than Examples/watch.py")
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "Examples").mkdir()
        pathlib.Path(directory, "Examples/watch.py").write_text(example)
        for name, program in re.findall(r"`(\w+\.py)`[^`]*```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            pathlib.Path(directory, name).write_text(program)
        output = pathlib.Path(directory, "output")
        with output.open("w") as file:
            # Bob's program and the server go on until they are stopped with the group.
            shell = subprocess.Popen(["bash", "-euo", "pipefail", "-c", commands + "echo all done\nwait"], cwd=directory, env=environment, stdout=file,
                                     stderr=subprocess.STDOUT, start_new_session=True)
        wanted = PROMISED + ['"session_token"', "all done"]
        end = time.monotonic() + DEADLINE
        while (missing := [one for one in wanted if one not in output.read_text()]) and shell.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        os.killpg(shell.pid, 9)
        shell.wait()
        if missing:
            sys.exit(f"{output.read_text()}\ndocs/clients.md promises what did not come: {', '.join(missing)}")
    print("docs/clients.md: its commands do what it says")


main()
