#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of "A bot" in docs/server-api.md, as they are printed, against the system at STRATA_API.

The command `strata` is taken from .build/debug unless PATH has one, and STRATA_HOME says which system it is about. Exits with 1, and prints what came, if the bot
does not answer.
"""
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEADLINE = 120


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def main():
    text = (ROOT / "docs/server-api.md").read_text()
    section = re.split(r"^## ", text[text.index("\n## A bot\n") + 1:], maxsplit=2, flags=re.MULTILINE)[1]
    commands = "".join(re.findall(r"^```bash\n(.*?)^```$", section, re.MULTILINE | re.DOTALL))
    environment = os.environ | {"API": os.environ["STRATA_API"], "PORT": free_port(), "PATH": f"{os.environ['PATH']}:{ROOT}/.build/debug"}
    shell = subprocess.Popen(["bash", "-euo", "pipefail", "-c", commands], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             start_new_session=True)
    end, said = time.monotonic() + DEADLINE, ""
    # The bot goes on after the last command, and then nothing more comes.
    while "You said: hello" not in said and select.select([shell.stdout], [], [], max(0, end - time.monotonic()))[0]:
        more = os.read(shell.stdout.fileno(), 65536)
        if not more:
            break
        said += more.decode(errors="replace")
    try:
        os.killpg(shell.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    shell.wait()
    if "You said: hello" not in said:
        sys.exit(f"{said}\nthe bot of docs/server-api.md did not answer")
    print("docs/server-api.md: its bot answers")


main()
