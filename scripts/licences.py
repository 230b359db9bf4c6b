#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes dependencies.txt, the packages that SwiftPM resolved with their versions and licences, and the part of NOTICE about them.

licences.py [--check]

`--check` writes nothing, prints what differs, and exits with 1 if there is anything. NOTICE must name the packages of dependencies.txt. If packages were
resolved in the listed versions, both files must also be what this script writes. NOTICE ends with the licences of the console's modules.
"""
import glob
import json
import os
import re
import sys

LIST, NOTICE, RESOLVED = "dependencies.txt", "NOTICE", "Package.resolved"
RULE = "=" * 80
# The first line that this script writes into NOTICE.
MARK = f"{RULE}\nSwift packages\n"
HEAD = """\
# The packages that the tests passed with: name, version, licence (SPDX). scripts/licences.py writes this file.
# Builds compare it with what SwiftPM resolved (scripts/dependencies.sh); builds of images take these versions.
"""
MIT, BSD = "Permission is hereby granted, free of charge", "Redistribution and use in source and binary forms"
# The licences of the modules that scripts/vendor_console.py takes over.
VENDORED = "Services/Console/Web/vendor/LICENSE"
# Sources that no product of ours is built from.
UNUSED = re.compile(r"/Sources/(?:protobuf|protoc-gen-swift|Conformance)/")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def words(text):
    return " ".join(text.split())


def listed():
    """The lines of dependencies.txt."""
    return [line for line in read(LIST).splitlines() if line and not line.startswith("#")]


def resolved():
    """The version of each package that SwiftPM resolved, by name."""
    return {pin["identity"]: pin["state"].get("version", "none") for pin in json.loads(read(RESOLVED))["pins"]}


def classify(text, apache):
    """The SPDX expression of a licence, and what has to be printed of its text."""
    if words(text).startswith(apache):
        _, _, exception = text.partition("## Runtime Library Exception")
        return ("Apache-2.0 WITH Swift-exception", f"## Runtime Library Exception{exception}") if exception else ("Apache-2.0", "")
    if MIT in words(text):
        return "MIT", text
    return None, text


def granted(path):
    """The licence in the comments of a source file; empty if there is none."""
    lines = read(path).splitlines()
    grants = [number for number, line in enumerate(lines) if MIT in line or BSD in line]
    if not grants:
        return ""
    if os.path.basename(path).startswith("LICENSE"):
        return "\n".join(lines)
    is_comment = re.compile(r"\s*(?://|/?\*)")
    first = last = grants[0]
    while first > 0 and is_comment.match(lines[first - 1]) and "Copyright" not in lines[first]:
        first -= 1
    while last + 1 < len(lines) and is_comment.match(lines[last + 1]) and "*/" not in lines[last]:
        last += 1
    return "\n".join(re.sub(r"^\s*(?://+|/?\*+/?) ?", "", line) for line in lines[first : last + 1])


def vendored():
    """The section of NOTICE about the console's modules."""
    return f"{RULE}\nLicences of Preact and htm\n\n{read(VENDORED).strip()}\n"


def render(versions):
    """The two files, for these packages in .build/checkouts."""
    apache = words(read("LICENSE"))
    folders = {os.path.basename(path).lower(): path for path in glob.glob(".build/checkouts/*")}
    rows, notices, texts = [], [], {}
    for name, version in sorted(versions.items()):
        folder = folders.get(name) or sys.exit(f"{name}: it is not in .build/checkouts; run: swift package resolve")
        files = glob.glob(f"{folder}/LICENSE*")
        licence, text = classify(read(files[0]), apache) if files else (None, "")
        if not licence:
            sys.exit(f"{name}: scripts/licences.py does not know its licence")
        rows.append(f"{name} {version} {licence}")
        texts.setdefault(words(text), (text, []))[1].append(name)
        notices += [f"{RULE}\nNotice of {name}\n\n{read(path).strip()}\n" for path in sorted(glob.glob(f"{folder}/NOTICE*"))]
        sources = [path for tree in ("Sources", "GRDB") for path in glob.glob(f"{folder}/{tree}/**/*", recursive=True)]
        for path in sorted(sources):
            if os.path.isfile(path) and not UNUSED.search(path) and (text := granted(path)):
                place = os.path.relpath(os.path.dirname(path), folder)
                texts.setdefault(words(text), (text, []))[1].append(f"{name} ({place})")
    licences = []
    for text, names in texts.values():
        names = list(dict.fromkeys(names))
        if text.strip():
            licences.append(f"{RULE}\nLicence of {', '.join(names)}\n\n{text.strip()}\n")
    table = "\n".join(rows) + "\n"
    body = "\n".join([f"{MARK}\n{table}\nThe text of Apache-2.0 is in LICENSE.\n", *notices, *licences, vendored()])
    return HEAD + table, re.sub(r"[ \t]+$", "", body, flags=re.MULTILINE)


def differences():
    """What differs from what this script writes."""
    rows = listed()
    head, mark, body = read(NOTICE).partition(MARK)
    if not mark:
        sys.exit(f"{NOTICE}: the section \"Swift packages\" is missing")
    named = body.lstrip("\n").split("\n\n")[0].splitlines()
    errors = [f"{NOTICE}: {row} is missing, but {LIST} has it" for row in rows if row not in named]
    errors += [f"{NOTICE}: {row} is not in {LIST}" for row in named if row not in rows]
    errors += [f"{NOTICE}: it does not end with {VENDORED}"] if not body.endswith("\n" + vendored()) else []
    if not errors and os.path.exists(RESOLVED) and os.path.isdir(".build/checkouts"):
        versions = resolved()
        if [f"{name} {version}" for name, version in sorted(versions.items())] == [" ".join(row.split()[:2]) for row in rows]:
            table, packages = render(versions)
            errors += [f"{LIST}: it differs from what the packages say"] if table != read(LIST) else []
            errors += [f"{NOTICE}: it differs from what the packages say"] if mark + body != packages else []
    return errors


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if sys.argv[1:] == ["--check"]:
        errors = differences()
        if errors:
            sys.exit("\n".join([*errors, "To write both files, from the packages that SwiftPM resolved: scripts/licences.py"]))
        print(f"licences: {len(listed())} packages, all in order")
        return
    if not os.path.exists(RESOLVED):
        sys.exit(f"{RESOLVED} is missing; run: swift package resolve")
    table, packages = render(resolved())
    head = read(NOTICE).partition(MARK)[0]
    for path, text in (LIST, table), (NOTICE, head + packages):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
