#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that all places name the same version.

1. The version of Strata has one source, `StrataVersion.current`. The newest section of CHANGELOG.md and the label of the image must name it.
2. The version of the Client API has one source, the newest subprotocol of `WireVersion`. Both descriptions of the API must name it.

Prints one line for each error and exits with 1 if there is any.
"""
import os
import re
import sys


def find(name, pattern):
    """The first match of the pattern in a file."""
    with open(name, encoding="utf-8") as file:
        match = re.search(pattern, file.read(), re.MULTILINE)
    if not match:
        sys.exit(f"{name}: no line matches {pattern}")
    return match[1]


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    version = find("Services/Strata/StrataVersion.swift", r'current = "(\d+\.\d+\.\d+)"$')
    places = {
        "CHANGELOG.md": (r"^## (\d+\.\d+\.\d+) - (?:unreleased|\d{4}-\d{2}-\d{2})$", version),
        "deploy/Dockerfile": (r"^ARG VERSION=(.*)$", version),
    }
    with open("Shared/Wire/Objects/WireVersion.swift", encoding="utf-8") as file:
        served = re.findall(r'"layer-(\d+\.\d+)"', file.read())
    newest = max(served, key=lambda text: [int(number) for number in text.split(".")])
    for name in "docs/openapi.yaml", "docs/asyncapi.yaml":
        places[name] = (r"^  version: '(.*)'$", newest)
    found = {name: find(name, pattern) for name, (pattern, _) in places.items()}
    errors = [f"{name}: version {found[name]} must be {wanted}" for name, (_, wanted) in places.items() if found[name] != wanted]
    if errors:
        sys.exit("\n".join(errors))
    print(f"versions: Strata {version}, Client API {newest}, all in order")


if __name__ == "__main__":
    main()
