#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the section "Limits" of docs/protocol.md with the system at STRATA_API: sends requests at a limit and one step beyond it.

For each row that one request can test, the request at the limit must succeed, and the answer to the request beyond it must be the status, and the property or
error id, that the row's last cell begins with. STRATA_HOME says which system `strata` is about. Exits with 1 and one line for each difference.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.error
import urllib.request
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
API = os.environ["STRATA_API"]
ACCEPT = {"Accept": "application/vnd.layer+json; version=3.0"}
STRATA = str(ROOT / ".build/debug/strata") if (ROOT / ".build/debug/strata").exists() else "strata"


def call(method, path, body=None, **headers):
    """Status and JSON of the answer. `body` is JSON or bytes; a header's name has underscores in place of hyphens."""
    kind = "application/vnd.layer-patch+json" if method == "PATCH" else "application/json"
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    fields = ACCEPT | {"Content-Type": kind} | {name.replace("_", "-"): text for name, text in headers.items()}
    request = urllib.request.Request(API + path, None if method == "GET" else data, fields, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    return status, json.loads(text) if text else None


def sign_in(user):
    run = lambda *words: subprocess.run([STRATA, *words], check=True, stdout=subprocess.PIPE, text=True).stdout
    app = json.loads(run("app", "create", "--name", "Limits", "--json"))["app"]
    nonce = call("POST", "/nonces")[1]["nonce"]
    token = run("token", "--app", app, "--user", user, "--nonce", nonce).strip()
    return call("POST", "/sessions", {"app_id": app, "identity_token": token})[1]["session_token"]


def documented():
    """First and last cell of every row of the section."""
    text = (ROOT / "docs/protocol.md").read_text()
    section = text[text.index("## Limits\n"):text.index("## What is promised\n")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.split("\n") if line.startswith("| ")]
    return {row[0]: row[-1] for row in rows}


def main():
    session = f'Layer session-token="{sign_in("ana")}"'
    ask = lambda method, path, body=None, **headers: call(method, path, body, Authorization=session, **headers)
    new = lambda **members: ask("POST", "/conversations", {"participants": ["ben"], "distinct": False} | members)
    home = "/conversations/" + new()[1]["id"].rsplit("/", 1)[1]
    put = lambda path, value: ask("PATCH", home, [{"operation": "set", "property": f"metadata{path}", "value": value}])
    text = lambda body, **members: {"mime_type": "text/plain", "body": body} | members
    send = lambda *parts, **members: ask("POST", f"{home}/messages", {"parts": parts} | members)
    announce = lambda size, kind: ask("POST", "/content", Upload_Content_Length=str(size), Upload_Content_Type=kind)
    device = lambda name, token="t": ask("POST", "/push_tokens", {"token": token, "type": "apns", "device_id": name})
    message = send(text("first"))[1]["id"].rsplit("/", 1)[1]
    full = {f"k{index}": "x" * 2000 for index in range(520)}
    # The row, the request at the limit, the request beyond it.
    probes = [
        ("head of a request", lambda: ask("GET", "/conversations", X_A="x" * 15000), lambda: ask("GET", "/conversations", X_A="x" * 17000)),
        ("body of a request", lambda: send(text(""), padding="x" * 1_000_000), lambda: send(text(""), padding="x" * (1 << 20))),
        ("JSON", lambda: send(text(""), deep=json.loads("[" * 63 + "]" * 63)), lambda: send(text(""), deep=json.loads("[" * 64 + "]" * 64))),
        ("`Strata-Mutation`", lambda: ask("PATCH", home, [], Strata_Mutation=str(uuid.uuid4())), lambda: ask("PATCH", home, [], Strata_Mutation="x")),
        ("user id", lambda: new(participants=["u" * 128]), lambda: new(participants=["u" * 129])),
        ("id of a conversation,", lambda: new(id=str(uuid.uuid4())), lambda: new(id="x")),
        ("id in a path", lambda: ask("GET", home), lambda: ask("GET", "/conversations/x")),
        ("`from_id` of a list", lambda: ask("GET", f"/conversations?from_id={home[15:]}"), lambda: ask("GET", f"/conversations?from_id={uuid.uuid4()}")),
        ("push token,", lambda: device("d0", "t" * 4096), lambda: device("d0", "t" * 4097)),
        ("devices of one user", lambda: [device(f"d{index}") for index in range(100)][-1], lambda: device("d100")),
        ("`ids` of `GET /identities`", *(lambda n=n: ask("GET", "/identities?ids=" + ",".join(f"u{i}" for i in range(n))) for n in (100, 101))),
        ("users of one `POST /following/users`", *(lambda n=n: ask("POST", "/following/users", [f"u{i}" for i in range(n)]) for n in (1000, 1001))),
        ("participants, the creator included", *(lambda n=n: new(participants=[f"u{i}" for i in range(n)]) for n in (249, 250))),
        ("additions of one user", lambda: [new(participants=["stranger"]) for _ in range(60)][-1], lambda: new(participants=["stranger"])),
        ("a metadata key", lambda: put(".a-B_9", "v"), lambda: put(".constructor", "v")),
        ("a metadata value", lambda: put(".a", "x" * 2048), lambda: put(".a", "x" * 2049)),
        ("nesting of metadata", lambda: put(".k" * 32, "v"), lambda: put(".k" * 33, "v")),
        ("keys of one path", lambda: put("." + "k" * 1024, "v"), lambda: put("." + "k" * 1025, "v")),
        ("all metadata of a conversation", lambda: put("", full), lambda: put(".more", full)),
        ("operations and values of one patch", *(lambda n=n: put("", {f"k{i}": "" for i in range(n)}) for n in (19_999, 20_000))),
        ("paths and values of metadata in one request", *(lambda n=n: put("." + "k" * 1000, {f"{i:04}": "" for i in range(n)}) for n in (900, 3200))),
        ("parts of a message", lambda: send(*[text("")] * 1000), lambda: send(*[text("")] * 1001)),
        ("`body` of a part", lambda: send(text("😀" * 1024)), lambda: send(text("😀" * 1025))),
        ("all bodies of a message", lambda: send(*[text("x" * 2048)] * 128), lambda: send(*[text("x" * 2048)] * 128, text("x"))),
        ("`mime_type`", lambda: send(text("x", mime_type="x")), lambda: send(text("x", mime_type=""))),
        ("`ids` of `POST /conversations", *(lambda n=n: ask("POST", f"{home}/receipts", {"type": "read", "ids": [message] * n}) for n in (1000, 1001))),
        ("size", lambda: announce(1 << 31, "a/b"), lambda: announce((1 << 31) + 1, "a/b")),
        ("type", lambda: announce(1, "a/" + "b" * 253), lambda: announce(1, "a/" + "b" * 254)),
        ("`messages` of `GET /conversations`", lambda: ask("GET", "/conversations?messages=100"), lambda: ask("GET", "/conversations?messages=101")),
    ]
    rows, wrong = documented(), []
    for name, within, beyond in probes:
        found = [cell for row, cell in rows.items() if row.startswith(name)]
        if len(found) != 1:
            wrong.append(f"{name}: {len(found)} rows")
            continue
        if (status := within()[0]) >= 400:
            wrong.append(f"{name}: at the limit the answer is {status}")
        status, error = beyond()
        # "422 `parts`", "422 naming the path", "413 `invalid_request`".
        promise = re.match(r"(\d+) (?:`([^`]+)`|naming)", found[0])
        named = {error["id"], (error["data"].get("property") or "").replace(".0.", ".N.")} if status >= 400 else set()
        if not promise or int(promise[1]) != status or promise[2] not in named | {None}:
            wrong.append(f"{name}: beyond it the answer is {status} {sorted(named)}, and the page says: {found[0]}")
    if wrong:
        sys.exit("docs/protocol.md, Limits:\n" + "\n".join(wrong))
    print(f"docs/protocol.md: {len(probes)} limits are as the page says")


main()
