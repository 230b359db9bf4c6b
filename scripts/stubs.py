#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Shared/Contracts/Generated/Endpoints.swift, the Swift names of the methods in services.proto and admin.proto.

stubs.py [--check]

The file has an endpoint for each method, the names of the methods for metrics and logs, and the lists of the requests that can have an idempotency key (those
with a field of type Mutation), that concern one app (those with a field app_id), and that name a database. `--check` writes nothing, and exits with 1 if the file is not what this script writes.
"""
import os
import re
import sys

SOURCES = ["Shared/Contracts/Protos/services.proto", "Shared/Contracts/Protos/admin.proto"]
TARGET = "Shared/Contracts/Generated/Endpoints.swift"
WIDTH = 120
SERVICE = re.compile(r"((?:^//.*\n)*)^service (\w+) \{\n((?:(?:  .*)?\n)*)^\}", re.MULTILINE)
METHOD = re.compile(r"(^\n)?((?:^  //.*\n)*)^  rpc (\w+)\((\w+)\) returns \((\w+)\) \{(.*)\}\n", re.MULTILINE)
OPTION = re.compile(r"\s*option \(?(\w+)\)? = (\w+);\s*")
CHANGE = re.compile(r"^message (\w+) \{\n(?:(?:  .*)?\n)*?  Mutation \w+ = \d+;", re.MULTILINE)
# Protocols of requests, by the field that they have.
SCOPES = {
    "AppRequest": re.compile(r"^message (\w+Request) \{\n(?:(?:  .*)?\n)*?  bytes app_id = \d+;", re.MULTILINE),
    "DatabaseRequest": re.compile(r"^message (\w+Request) \{\n(?:(?:  .*)?\n)*?  string database = \d+;", re.MULTILINE),
}
# By the option idempotency_level.
EFFECTS = {"NO_SIDE_EFFECTS": "read", "IDEMPOTENT": "repeatable", None: "notRepeatable"}
HEAD = f"""\
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/stubs.py from {" and ".join(source.removeprefix("Shared/Contracts/") for source in SOURCES)}. Do not edit.
import RPC
"""


def fail(what):
    sys.exit(f"{' or '.join(SOURCES)}: {what}")


def comment(text, indent):
    """The comment of the .proto file as a documentation comment."""
    return [f"{indent}///{line.strip()[2:]}" for line in text.splitlines()]


def options(text, method):
    found = dict(OPTION.findall(text))
    if OPTION.sub("", text) or not {"number"} <= found.keys() <= {"number", "idempotency_level"}:
        fail(f"{method}: its options must be (number) and, unless it must not be repeated, idempotency_level")
    number, effect = found["number"], EFFECTS.get(found.get("idempotency_level"))
    if not number.isdecimal() or not 0 < int(number) < 1 << 16 or not effect:
        fail(f"{method}: the number is 1 to 65535, and the idempotency level is NO_SIDE_EFFECTS or IDEMPOTENT")
    return int(number), effect


def endpoint(name, request, response, number, effect):
    start, end = f"    public static let {name} = Endpoint<{request}, {response}>(", f"{number}, effect: .{effect})"
    return [start + end] if len(start + end) <= WIDTH else [start, f"        {end}"]


def stubs(text):
    """The text of the Swift file, for the text of all sources."""
    prefix = re.search(r'^option swift_prefix = "(\w+)";', text, re.MULTILINE)[1]
    lines, names = HEAD.splitlines(), {}
    for about, service, body in SERVICE.findall(text):
        lines += ["", *comment(about, ""), f"public enum {service}API {{"]
        if rest := METHOD.sub("", body).strip():
            fail(f"service {service}: this is no method with options on one line: {rest.splitlines()[0]}")
        for blank, about, method, request, response, described in METHOD.findall(body):
            number, effect = options(described, method)
            name = method[0].lower() + method[1:]
            if number in names or name in names.values() or not about:
                fail(f"{method}: a method has its own number, its own name, and a comment")
            names[number] = name
            lines += ([""] if blank else []) + comment(about, "    ")
            lines += endpoint(name, prefix + request, prefix + response, number, effect)
        lines += ["}"]
    if len(names) != len(re.findall(r"^ *rpc ", text, re.MULTILINE)):
        fail("a service could not be read")
    lines += ["", *(f"extension {prefix}{request}: ChangeRequest {{}}" for request in CHANGE.findall(text)), ""]
    for protocol, message in SCOPES.items():
        lines += [*(f"extension {prefix}{request}: {protocol} {{}}" for request in message.findall(text)), ""]
    lines += ["extension RPCMethod {", "    static let names: [UInt16: String] = ["]
    lines += [f'        {number}: "{name}",' for number, name in sorted(names.items())] + ["    ]", "}", ""]
    return "\n".join(lines)


def main():
    text = ""
    for source in SOURCES:
        with open(source, encoding="utf-8") as file:
            text += file.read()
    text = stubs(text)
    if sys.argv[1:] == ["--check"]:
        with open(TARGET, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit(f"{TARGET} is not up to date; run: scripts/stubs.py")
    else:
        with open(TARGET, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    main()
