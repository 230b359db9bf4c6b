#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what a reader of the repository meets: `make stats`. Generated code (*.pb.swift, Endpoints.swift) does not count.

stats.py           prints the counts
stats.py --check   prints one line for each violation of the rules for comments, and exits with 1 if there is any:
  1. The first word of a doc comment is none of FIRST_WORDS, because a definition begins with its noun or its verb.
  2. Comments and documents have at most MOST_IDIOMS of IDIOMS, which are not standard English.
  3. A comment has at most WIDTH columns.
"""
import collections
import glob
import os
import re
import sys

FIRST_WORDS = {"What", "Of", "As", "So", "That", "Those", "They", "It", "Who", "Whom", "Where", "For", "How", "The same"}
IDIOMS = re.compile(
    r"\b(of before|of then|of now|by itself|no more(?! than)|for ever|in vain|without a word|comes to|is owed|there is no such|"
    r"what there is|that there are|so many|but for|one after the other|whatever their number|as it was|by hand of)\b",
    re.IGNORECASE,
)
MOST_IDIOMS = 20
WIDTH = 120
PRODUCT = ["Shared", "Services", "Tools", "Clients"]
CODE = PRODUCT + ["Examples", "Tests"]
# Made by scripts or by tests.
GENERATED = {f"docs/{name}.md" for name in ["authorization", "conformance", "conformance-server", "degraded", "faults", "stratakit"]}
# Written by scripts/stubs.py. Its comments are those of services.proto, and are checked.
STUBS = "Shared/Contracts/Generated/Endpoints.swift"
TYPE = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|private|fileprivate|final|indirect|nonisolated|distributed)\s+)*"
    r"(?:struct|class|enum|actor|protocol)\s+[A-Z]\w*"
)
FUNCTION = re.compile(r"^(\s*)(?:@\w+(?:\([^)]*\))?\s+)*(?:[a-z]+(?:\(\w+\))?\s+)*(?:func\s+([^\s(<]+)|init[?!]?(?=[(<]))")
SQL_FUNCTION = re.compile(r"CREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE) ([\w.]+)")


def files(folders, ending):
    names = {name for folder in folders for name in glob.glob(f"{folder}/**/*{ending}", recursive=True)}
    return sorted(name for name in names if not name.endswith(".pb.swift") and "/.build/" not in name and name != STUBS)


def lines(name):
    with open(name, encoding="utf-8") as file:
        return file.read().splitlines()


def comments(name):
    """The lines that are comments: number, text, and whether a doc comment begins there."""
    marker, before = ("--" if name.endswith(".sql") else "//"), ""
    for number, line in enumerate(lines(name), 1):
        text = line.strip()
        if text.startswith(marker):
            yield number, line, text.startswith("///") and not before.startswith("///")
        before = text


def first_word(comment):
    text = comment.strip().lstrip("/").strip()
    word = re.split(r"[\s,:]", text, maxsplit=1)[0]
    return "The same" if text.startswith("The same") else word


def documents():
    names = ["README.md", "SECURITY.md", "CONTRIBUTING.md"] + sorted(glob.glob("docs/*.md"))
    return [name for name in names if name not in GENERATED]


def swift_functions(name):
    """The functions with their numbers of lines, from the declaration to the brace that closes it."""
    text = lines(name)
    for start, line in enumerate(text):
        match = FUNCTION.match(line)
        if not match:
            continue
        indent = match[1]
        if "{" in line and line.rstrip().endswith("}"):
            continue
        end = next((at for at in range(start + 1, len(text)) if text[at].rstrip() == f"{indent}}}"), None)
        if end:
            yield end - start + 1, f"{match[2] or 'init'} ({name}:{start + 1})"


def sql_functions(name):
    text = lines(name)
    for start, line in enumerate(text):
        match = SQL_FUNCTION.search(line)
        if match:
            end = next((at for at in range(start, len(text)) if ends_statement(text[start : at + 1])), start)
            yield end - start + 1, f"{match[1]} ({name}:{start + 1})"


def ends_statement(text):
    """True if a statement of SQL ends with the last of these lines: at a semicolon outside of a body in dollars."""
    return text[-1].rstrip().endswith(";") and "\n".join(text).count("$$") % 2 == 0


def print_stats():
    print(f"{'':30}{'files':>8}{'lines':>9}{'types':>8}")
    for title, folders in [("product", PRODUCT), ("examples", ["Examples"]), ("tests and benchmarks", ["Tests"])]:
        names = files(folders, ".swift")
        text = [line for name in names for line in lines(name)]
        print(f"{title:30}{len(names):8}{len(text):9}{sum(bool(TYPE.match(line)) for line in text):8}")
    names = files(["Shared"], ".sql")
    print(f"{'SQL':30}{len(names):8}{sum(len(lines(name)) for name in names):9}")
    package = "\n".join(lines("Package.swift"))
    targets = re.findall(r"^\s*(?:library|executable|tests|\.target|\.systemLibrary|\.executableTarget|\.testTarget)\(\s*(?:name: )?\"", package, re.MULTILINE)
    print(f"\ntargets: {len(targets)}")

    swift, sql = files(CODE, ".swift"), files(["Shared"], ".sql")
    wide = sum(len(line) > WIDTH for name in swift + sql for line in lines(name))
    print(f"lines over {WIDTH} columns: {wide}")
    for title, found in [("Swift", [item for name in files(PRODUCT, ".swift") for item in swift_functions(name)]), ("SQL", [item for name in sql for item in sql_functions(name)])]:
        print(f"longest functions, {title}:")
        for length, name in sorted(found, reverse=True)[:5]:
            print(f"{length:8}  {name}")

    first = collections.Counter(first_word(line) for name in swift for _, line, begins in comments(name) if begins)
    poor = {word: first[word] for word in sorted(FIRST_WORDS, key=lambda word: -first[word]) if first[word]}
    print(f"doc comments: {first.total()}; by first word: " + ", ".join(f"{word} {count}" for word, count in first.most_common(12)))
    print(f"  that do not begin with a noun or a verb: {sum(poor.values())}" + (f" {poor}" if poor else ""))
    print(f"lines of comments: {sum(1 for name in swift + sql for _ in comments(name))}; idioms: {len(idioms())}")
    terms = [line for line in lines("docs/glossary.md") if re.match(r"\| \*\*|\*\*|\| [^-|]|- \*\*", line)]
    print(f"terms of the glossary: {len(terms)}")
    words = sum(len(line.split()) for name in documents() for line in lines(name))
    print(f"words of documents: {words}")


def idioms():
    found = [(name, number, line) for name in files(CODE, ".swift") + files(["Shared"], ".sql") for number, line, _ in comments(name)]
    found += [(name, number, line) for name in documents() for number, line in enumerate(lines(name), 1)]
    return [f"{name}:{number}: {match[0].lower()}" for name, number, line in found for match in IDIOMS.finditer(line)]


def check():
    errors = []
    for name in files(CODE, ".swift") + [STUBS] + files(["Shared"], ".sql"):
        for number, line, begins in comments(name):
            if begins and first_word(line) in FIRST_WORDS:
                errors.append(f"{name}:{number}: a doc comment begins with its noun or its verb, not with “{first_word(line)}”")
            if len(line) > WIDTH:
                errors.append(f"{name}:{number}: a comment has at most {WIDTH} columns")
    found = idioms()
    if len(found) > MOST_IDIOMS:
        errors += [f"{line} is no standard English; {len(found)} of these stand in comments and documents, and {MOST_IDIOMS} may" for line in found]
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    sys.exit(check()) if sys.argv[1:] == ["--check"] else print_stats()
