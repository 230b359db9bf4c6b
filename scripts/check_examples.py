#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks docs/openapi.yaml, docs/asyncapi.yaml and docs/server-openapi.yaml beyond what docs.py looks at: every reference leads somewhere, and every example fits its schema.

Needs PyYAML and jsonschema_rs, both of which schemathesis brings with it.
"""
import pathlib
import sys

import jsonschema_rs
import yaml

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"


def load(name):
    """A description, its references to the other file made local: both files' components are one name space here."""
    text = (DOCS / name).read_text().replace("openapi.yaml#/", "#/")
    document = yaml.safe_load(text)
    if name != "openapi.yaml":
        schemas = yaml.safe_load((DOCS / "openapi.yaml").read_text())["components"]["schemas"]
        document["components"]["schemas"] = {**schemas, **document["components"]["schemas"]}
    return document


def resolve(document, reference):
    node = document
    for segment in reference.removeprefix("#/").split("/"):
        node = node[segment.replace("~1", "/").replace("~0", "~")]
    return node


def walk(node, path=()):
    yield path, node
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from walk(value, path + (str(key),))


def examples(node):
    """Pairs of schema and example around one object that may have both."""
    schema = node.get("schema") or node.get("payload")
    if isinstance(schema, dict):
        if "example" in node:
            yield schema, node["example"]
        for example in (node["examples"].values() if isinstance(node.get("examples"), dict) else node.get("examples", [])):
            if isinstance(example, dict):
                value = example.get("value", example.get("payload"))
                if value is not None:
                    yield schema, value
    elif "examples" in node and isinstance(node["examples"], list):
        for value in node["examples"]:
            yield node, value


def check(name):
    document = load(name)
    problems, count = [], 0
    for path, node in walk(document):
        if not isinstance(node, dict):
            continue
        if isinstance(node.get("$ref"), str):
            try:
                resolve(document, node["$ref"])
            except (KeyError, TypeError):
                problems.append(f"{name}: {'/'.join(path)}: {node['$ref']} leads nowhere")
        if "examples" in path[:-1] or "example" in path:
            continue
        for schema, value in examples(node):
            count += 1
            validator = jsonschema_rs.Draft202012Validator({**schema, "components": document.get("components", {})})
            for error in validator.iter_errors(value):
                problems.append(f"{name}: {'/'.join(path)}: example: {'/'.join(map(str, error.instance_path))}: {error.message[:200]}")
    return problems, count


def main():
    problems, total = [], 0
    for name in ("openapi.yaml", "asyncapi.yaml", "server-openapi.yaml"):
        found, count = check(name)
        problems += found
        total += count
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"check_examples: {total} examples, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
