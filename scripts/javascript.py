#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Clients/JavaScript/strata.min.js, which is strata.js and the modules that it imports in one minified module, and strata.min.js.gz, which gateways send.

javascript.py [--check]

Needs esbuild (`apt-get install esbuild`), and prints the size of each module. The first line of the file has a digest of the modules. `--check` needs no esbuild,
writes nothing, and exits with 1 if the digest is not that of the present modules, or the compressed file differs. So the check does not depend on the version of
esbuild.
"""
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

FOLDER, ENTRY, TARGET = "Clients/JavaScript", "strata.js", "strata.min.js"
IMPORT = re.compile(r'from "\./(\w+\.js)"')
OPTIONS = ["--bundle", "--minify", "--format=esm", "--target=es2022", "--charset=utf8", "--log-level=warning"]


def digest():
    """The digest of the modules that the entry imports, directly or not."""
    names, texts = [ENTRY], []
    for name in names:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            texts.append(file.read())
        names += [other for other in IMPORT.findall(texts[-1]) if other not in names]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def build():
    """The minified module, and the bytes of each module in it."""
    with tempfile.TemporaryDirectory() as directory:
        output, facts = os.path.join(directory, TARGET), os.path.join(directory, "facts.json")
        command = ["esbuild", ENTRY, f"--outfile={output}", f"--metafile={facts}"]
        subprocess.run(command + OPTIONS, check=True, cwd=FOLDER)
        with open(output, "rb") as file:
            content = file.read()
        with open(facts, encoding="utf-8") as file:
            (made,) = json.load(file)["outputs"].values()
    return content, {name: one["bytesInOutput"] for name, one in made["inputs"].items()}


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    path = os.path.join(FOLDER, TARGET)
    head = f"// SPDX-License-Identifier: Apache-2.0, scripts/javascript.py, {digest()}\n"
    if "--check" in sys.argv[1:]:
        with open(path, "rb") as file, gzip.open(path + ".gz") as compressed:
            content = file.read()
            if not content.startswith(head.encode()) or compressed.read() != content:
                sys.exit(f"{path} is not made from the present modules: run scripts/javascript.py")
        return
    content, sizes = build()
    content = head.encode() + content
    compressed = gzip.compress(content, 9, mtime=0)
    for name, data in [(path, content), (path + ".gz", compressed)]:
        with open(name, "wb") as file:
            file.write(data)
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"{name:14} {size:6}")
    print(f"{TARGET:14} {len(content):6}, {len(compressed)} compressed")


if __name__ == "__main__":
    main()
