#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Services/Console/CConsoleWeb/CConsoleWeb.c, which takes the files of Services/Console/Web into the console.

console_web.py [--check]

`--check` writes nothing, and exits with 1 if the file is not what this script writes.
"""
import os
import sys

FOLDER, TARGET = "Services/Console/Web", "Services/Console/CConsoleWeb/CConsoleWeb.c"
# The type of the modules, for Node.js alone.
OMITTED = {"package.json"}
HEAD = """\
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/console_web.py from the files of Web. Do not edit.
#include "CConsoleWeb.h"

#define TEXT (const unsigned char[])

static const struct ConsoleFile files[] = {
"""
TAIL = """\
};

struct ConsoleFiles console_files(void) { return (struct ConsoleFiles){files, sizeof(files) / sizeof(files[0])}; }
"""


def names():
    found = [os.path.relpath(os.path.join(folder, name), FOLDER) for folder, _, files in os.walk(FOLDER) for name in files]
    return sorted(set(found) - OMITTED)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    text = HEAD + "".join(f'    {{"{name}", TEXT{{\n#embed "../Web/{name}" suffix(, 0)\n    }}}},\n' for name in names()) + TAIL
    if sys.argv[1:] == ["--check"]:
        with open(TARGET, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit(f"{TARGET} is not that of the files in {FOLDER}: run scripts/console_web.py")
        return
    with open(TARGET, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
