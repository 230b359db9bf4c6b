#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Services/Console/Web/vendor: Preact and htm in one module, from a wheel of PyPI, and their licence.

vendor_console.py [--check]

pip downloads the wheel. Both it and the module in it must have the SHA-256 below. For another version change the constants. `--check` needs no network, writes
nothing, and exits with 1 if the files are not what this script writes.
"""
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile

FOLDER = "Services/Console/Web/vendor"
PACKAGE = "datasette-preact==0.0.1"
WHEEL_DIGEST = "6cfe3b4d4651ffa4ec9207e3df40e49ea5e157d9b064ac02fd516d931cd52a58"
MODULE = "datasette_preact/static/preact-10.27.2-htm-3.1.1.min.js"
MODULE_DIGEST = "2ad4f06c517e968b6382c26262363ebb89ebd7bcf3f7dc29a8368fe5b542861b"
HEAD = b"// SPDX-License-Identifier: MIT AND Apache-2.0, scripts/vendor_console.py, Preact and htm\n"
LICENCE = """\
preact-htm.js contains Preact and htm. It is the file preact-10.27.2-htm-3.1.1.min.js of the package datasette-preact
0.0.1 on PyPI.

htm is licensed under Apache-2.0, as is the package: Copyright 2018 Google Inc.
The text of Apache-2.0 is in LICENSE of this repository.

Preact is licensed under MIT:

The MIT License (MIT)

Copyright (c) 2015-present Jason Miller

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
"""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def verified(content, digest, name):
    actual = hashlib.sha256(content).hexdigest()
    return content if actual == digest else sys.exit(f"{name}: its SHA-256 is {actual}, not {digest}")


def download():
    """The module in the wheel."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--dest", folder, PACKAGE], check=True)
        (name,) = os.listdir(folder)
        wheel = os.path.join(folder, name)
        verified(read(wheel), WHEEL_DIGEST, name)
        with zipfile.ZipFile(wheel) as archive:
            return verified(archive.read(MODULE), MODULE_DIGEST, MODULE)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    module, licence = os.path.join(FOLDER, "preact-htm.js"), os.path.join(FOLDER, "LICENSE")
    if sys.argv[1:] == ["--check"]:
        content = read(module)
        if not content.startswith(HEAD) or read(licence) != LICENCE.encode():
            sys.exit(f"{FOLDER} is not what this script writes: run scripts/vendor_console.py")
        verified(content[len(HEAD):], MODULE_DIGEST, module)
        return
    for path, content in (module, HEAD + download()), (licence, LICENCE.encode()):
        with open(path, "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
