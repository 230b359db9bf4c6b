#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the names of metrics and of log fields in the code of the services.

1. A metric is named strata_<part>_<what>, where the part is a service or something that every process has (PARTS).
2. A log field has a namespace ("rpc.method") and stands in the table of log fields of docs/operating.md, and each field of the table is used.
3. The dashboard and the alerts read only metrics with these names, or those that all Prometheus libraries have (process_…).

Prints one line for each error, "file:line: what is wrong", and exits with 1 if there is any.
"""
import glob
import os
import re
import sys

PARTS = ["gateway", "conversations", "metadata", "presence", "webhooks", "console", "rpc_client", "rpc_server", "redis", "postgres", "process"]
METRIC = re.compile(rf"^(?:strata_(?:{'|'.join(PARTS)})_[a-z_]+|\\\(target\.metricPrefix\)_[a-z_]+)$")
MADE = re.compile(r'\b(?:Counter|Gauge|Meter|Timer|Recorder)\(\s*label: "([^"]*)')
PREFIX = re.compile(r'(?:metricPrefix = |RPCMetrics\(\s*prefix: )"([^"]*)"')
FIELD = re.compile(r"[a-z_]+(?:\.[a-z_]+)+")
LOGGED = re.compile(r"metadata: (?:error\.map \{ )?\[(?=\s*\")((?:\"[^\"]*\"|[^\]\"])*)\]")
KEY = re.compile(r"(?:^|,)\s*\"([^\"\\]*)\":")
SET = re.compile(r"\bmetadata(?:Key: |\[)\"([^\"]+)\"\](?= =)|\[metadataKey: \"([^\"]+)\"\]|merged\[\"([^\"]+)\"\] =")
READ = re.compile(r"\b(?:strata|rpc|redis|typing|presence|metadata)_[a-z_]+_(?:total|bytes|seconds|seconds_bucket|seconds_count|seconds_sum|up|depth|size)\b")
SOURCES = ["Shared/*", "Services/Gateway", "Services/Conversations", "Services/Metadata", "Services/Presence", "Services/Webhooks", "Services/Console"]
TABLE = "docs/operating.md"


def line(text, offset):
    return text.count("\n", 0, offset) + 1


def table():
    """The fields in the table of log fields."""
    with open(TABLE, encoding="utf-8") as file:
        text = file.read()
    start = text.find("### Log fields")
    if start < 0:
        sys.exit(f"{TABLE}: there is no section \"Log fields\"")
    end = re.compile(r"^##", re.MULTILINE).search(text, start + 4)
    rows = [row.split("|")[1] for row in text[start : end.start() if end else None].split("\n") if row.startswith("| `")]
    return {field for cell in rows for field in FIELD.findall(cell)}


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    errors, known, used = [], table(), set()
    files = [name for source in SOURCES for name in glob.glob(f"{source}/**/*.swift", recursive=True) if not name.endswith(".pb.swift")]
    for name in sorted(files):
        with open(name, encoding="utf-8") as file:
            text = file.read()
        for match in MADE.finditer(text):
            if not METRIC.match(match[1]):
                errors.append(f"{name}:{line(text, match.start())}: {match[1]} is not strata_<part>_<what>, with a part of scripts/check_names.py")
        for match in PREFIX.finditer(text):
            if not METRIC.match(match[1] + "_x"):
                errors.append(f"{name}:{line(text, match.start())}: {match[1]} is not strata_<part>")
        fields = [(match.start(), key) for match in LOGGED.finditer(text) for key in KEY.findall(match[1])]
        fields += [(match.start(), next(filter(None, match.groups()))) for match in SET.finditer(text)]
        for offset, field in fields:
            used.add(field)
            if field not in known:
                errors.append(f"{name}:{line(text, offset)}: the log field {field} is not in the table of {TABLE}")
    errors += [f"{TABLE}: no code writes the log field {field}" for field in sorted(known - used)]
    for name in ["deploy/dashboards/strata.json", "deploy/prometheus/alerts.yml"]:
        with open(name, encoding="utf-8") as file:
            text = file.read()
        for match in READ.finditer(text):
            if not re.match(rf"strata_(?:{'|'.join(PARTS)})_", match[0]):
                errors.append(f"{name}:{line(text, match.start())}: {match[0]} is not strata_<part>_<what>")
    for error in errors:
        print(error, file=sys.stderr)
    print(f"names: {len(used)} log fields, {len(errors)} errors")
    sys.exit(1 if errors else 0)


main()
