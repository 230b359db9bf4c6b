#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes React 18.3.1 and Vue 3.5.22 into a folder, for the tests of the recipes in docs/javascript.md.

frameworks.py FOLDER

pip downloads packages of PyPI that contain them. Nothing of it is part of Strata.
"""
import os
import subprocess
import sys
import tempfile
import zipfile

# The files of each package, by their names in the recipes.
PACKAGES = {
    "dash==4.4.1 --hash=sha256:72120a91b10ee4d73f9446efd5d6a4ec218086feed7b1b479d2259844d1f658f": {
        "react.production.min.js": "dash/deps/react@18.3.1.min.js",
        "react-dom.production.min.js": "dash/deps/react-dom@18.3.1.min.js",
    },
    "nicegui==3.18.0 --hash=sha256:a2bd51642312d98aab6d8b641245d796ff1b89da5829777170bcc488140c3dcd": {
        "vue.esm-browser.prod.js": "nicegui/static/vue.esm-browser.prod.js",
    },
}


def main():
    target = sys.argv[1]
    os.makedirs(target, exist_ok=True)
    for requirement, files in PACKAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--retries", "10", "--no-deps",
                       "--only-binary=:all:", "--require-hashes", "--dest", folder, "-r", "/dev/stdin"]
            subprocess.run(command, input=requirement, text=True, check=True)
            (name,) = os.listdir(folder)
            with zipfile.ZipFile(os.path.join(folder, name)) as wheel:
                for file, member in files.items():
                    with open(os.path.join(target, file), "wb") as output:
                        output.write(wheel.read(member))


if __name__ == "__main__":
    main()
