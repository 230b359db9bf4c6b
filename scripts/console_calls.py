#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Services/Console/Web/calls.json, the calls that the console's screen "Try it" offers.

console_calls.py [--check]

The calls are the operations of docs/openapi.yaml, docs/server-openapi.yaml, and the requests of docs/asyncapi.yaml. `--check` writes nothing, and exits with 1
if the file is not what this script writes.
"""
import json
import pathlib
import sys

import yaml

from docs import METHODS, body_examples, resolve

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "Services/Console/Web/calls.json"
LIMITS = ("type", "enum", "const", "format", "default", "minimum", "maximum", "minLength", "maxLength")
# Bodies of operations whose description has no example.
BODIES = {
    "patchConversation": [
        {"operation": "add", "property": "participants", "id": "layer:///identities/carol"},
        {"operation": "set", "property": "metadata.topic", "value": "dinner"},
    ],
    "patchUser": [{"operation": "set", "property": "suspended", "value": True}],
    "patchIdentity": [{"operation": "set", "property": "display_name", "value": "Alice"}],
    "patchBadge": [{"operation": "set", "property": "external_unread_count", "value": 3}],
    "setBadge": {"external_unread_count": 3},
    "markAllRead": {"position": None},
    "followMany": ["bob", "carol"],
    "replaceParts": [{"mime_type": "text/plain", "body": "hello"}],
    "sendAnnouncement": {
        "recipients": ["layer:///identities/bob"],
        "sender_id": "layer:///identities/alice",
        "parts": [{"mime_type": "text/plain", "body": "We close at eight today"}],
    },
    "sendNotification": {"recipients": ["layer:///identities/bob"], "notification": {"text": "Your table is ready"}},
    "createWebhook": {
        "version": "3.0",
        "target_url": "https://bot.example.org/hook",
        "events": ["Message.created"],
        "secret": "at least sixteen bytes",
    },
}
SAMPLES = {"user": "alice", "other": "bob", "property": "metadata.status", "part": "0"}


def load(name):
    return yaml.safe_load((ROOT / "docs" / name).read_text())


def sentence(text):
    """The first paragraph of a description, on one line."""
    return " ".join(str(text or "").strip().split("\n\n")[0].split())


def compact(value):
    """A dictionary without the members that say nothing."""
    return {key: item for key, item in value.items() if item or item == 0 and item is not False}


def parameter(document, node):
    node = resolve(document, node)
    schema = resolve(document, node["schema"])
    kinds = schema.get("anyOf", [])
    found = {key: schema[key] for key in LIMITS if key in schema} or {"type": kinds[0]["type"] if kinds else "string"}
    example = node.get("example", next((entry["value"] for entry in node.get("examples", {}).values()), SAMPLES.get(node["name"])))
    return compact({
        "name": node["name"], "in": node["in"], "required": node.get("required"), "deprecated": node.get("deprecated"),
        "description": "" if node["name"] == "Accept" else sentence(node.get("description")), "schema": found, "example": example,
    })


def bodies(document, operation):
    """The media type of an operation's body, and its examples with their names."""
    media = operation.get("requestBody", {}).get("content", {})
    for kind, content in media.items():
        named = body_examples(document, content)
        if not named:
            schema = resolve(document, content["schema"])
            schema = resolve(document, next(iter(schema.get("oneOf", [schema]))))
            value = BODIES.get(operation["operationId"], schema.get("example"))
            named = [] if value is None else [("Example", value)]
        if not named and kind != "application/octet-stream":
            sys.exit(f"console_calls.py: {operation['operationId']} has a body and no example")
        return kind, named
    return None, []


def session(document, operation):
    """none, optional or required: the session that an operation of the Client API needs."""
    security = operation.get("security", document["security"])
    return "required" if {} not in security else "optional" if len(security) > 1 else "none"


def rest(api, document):
    for path, item in document["paths"].items():
        for method in (method for method in METHODS if method in item):
            operation = item[method]
            kind, named = bodies(document, operation)
            call = {
                "api": api, "id": operation["operationId"], "group": operation["tags"][0], "method": method.upper(), "path": path,
                "summary": operation["summary"], "description": sentence(operation.get("description")),
                "parameters": [parameter(document, node) for node in item.get("parameters", []) + operation.get("parameters", [])],
                "headers": {"Content-Type": kind} if kind else None,
            }
            if api == "client":
                call["session"] = session(document, operation)
            yield with_bodies(compact(call), named)


def with_bodies(call, named):
    if named:
        call["body"] = named[0][1]
    if len(named) > 1:
        call["examples"] = [{"name": name, "body": value} for name, value in named]
    return call


def socket(document):
    for name, operation in document["operations"].items():
        if operation["action"] != "receive":
            continue
        message = resolve(document, resolve(document, operation["messages"][0]))
        frames = [(example.get("name", "Example"), example["payload"]) for example in message["examples"]]
        method = operation["title"] if "." in operation["title"] else "typing_indicator"
        call = {
            "api": "socket", "id": name, "group": "Signals" if method == "typing_indicator" else method.split(".")[0], "method": method,
            "path": "/", "summary": operation["summary"], "description": sentence(operation.get("description")),
        }
        yield with_bodies(compact(call), frames)


def text():
    calls = [
        *rest("client", load("openapi.yaml")), *rest("server", load("server-openapi.yaml")), *socket(load("asyncapi.yaml")),
    ]
    lines = ",\n".join(json.dumps(call, ensure_ascii=False, default=str) for call in calls)
    return f"[\n{lines}\n]\n"


def main():
    made = text()
    if "--check" in sys.argv[1:]:
        if not TARGET.exists() or TARGET.read_text() != made:
            sys.exit(f"{TARGET.relative_to(ROOT)} is not made from the present descriptions: run scripts/console_calls.py")
        return
    TARGET.write_text(made)
    print(f"{TARGET.relative_to(ROOT)}: {len(json.loads(made))} calls")


if __name__ == "__main__":
    main()
