#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that all places name the same version.

1. The version of Strata has one source, `VERSION` of CBuildInfo.c. The newest section of CHANGELOG.md, the label of the image and the Helm chart must name it.
2. The version of the Client API has one source, the newest subprotocol of `WireVersion`. Both descriptions of the API must name it.
3. The versions of PostgreSQL, Redis and Valkey have one source, `ServerVersions`. The documents must list those that are supported, README.md
   also those that are tested, and the images of docker-compose.yml must be among these.

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


def list_of(numbers):
    """`15, 16 and 17`."""
    *most, last = numbers
    return f"{', '.join(most)} and {last}" if most else last


def check_servers():
    """Errors in the places that name versions of servers."""
    with open("Tools/strata/Doctor/ServerCheck.swift", encoding="utf-8") as file:
        found = re.findall(r'product: "(\w+)", supported: \[([\d, ]+)\], tested: \[([\d, ]*)\]', file.read())
    supported = {product: majors.split(", ") for product, majors, _ in found}
    tested = {product: majors.split(", ") for product, _, majors in found if majors}
    errors = []
    for name in "README.md", "docs/operating.md", "CHANGELOG.md":
        with open(name, encoding="utf-8") as file:
            text = re.sub(r"\s+", " ", file.read())
        wanted = [f"{product} {list_of(majors)}" for product, majors in supported.items()]
        if name == "README.md":
            wanted += [f"tested on {product} {list_of(majors)}" for product, majors in tested.items()]
        errors += [f"{name}: must say {words}" for words in wanted if words not in text]
    for product in "PostgreSQL", "Redis":
        image = "postgres" if product == "PostgreSQL" else "redis"
        major = find("docker-compose.yml", rf"^    image: {image}:(\d+)")
        if major not in tested.get(product, []):
            errors.append(f"docker-compose.yml: {product} {major} is not tested")
    return errors, "; ".join(f"{product} {list_of(majors)}" for product, majors in supported.items())


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    version = find("Shared/CBuildInfo/CBuildInfo.c", r'^#define VERSION "(\d+\.\d+\.\d+)"$')
    places = {
        "CHANGELOG.md": (r"^## (\d+\.\d+\.\d+) - (?:unreleased|\d{4}-\d{2}-\d{2})$", version),
        "deploy/Dockerfile": (r"^ARG VERSION=(.*)$", version),
        "deploy/helm/strata/Chart.yaml": (r"^version: (.*)\nappVersion: \1$", version),
    }
    with open("Shared/Wire/Objects/WireVersion.swift", encoding="utf-8") as file:
        served = re.findall(r'"layer-(\d+\.\d+)"', file.read())
    newest = max(served, key=lambda text: [int(number) for number in text.split(".")])
    for name in "docs/openapi.yaml", "docs/asyncapi.yaml":
        places[name] = (r"^  version: '(.*)'$", newest)
    found = {name: find(name, pattern) for name, (pattern, _) in places.items()}
    errors = [f"{name}: version {found[name]} must be {wanted}" for name, (_, wanted) in places.items() if found[name] != wanted]
    server_errors, servers = check_servers()
    errors += server_errors
    if errors:
        sys.exit("\n".join(errors))
    print(f"versions: Strata {version}, Client API {newest}; {servers}; all in order")


if __name__ == "__main__":
    main()
