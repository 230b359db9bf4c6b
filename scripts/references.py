#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what the tracked files refer to is in this repository.

1. A text that names a section of a document, by the path in docs/ and "§12.4", names a section that the document has: a numbered heading
   ("## 12 Title", "## 12. Title"), a table row whose first cell is the number, or item 4 of the numbered list under heading 12.
2. No text cites a document that is not in the repository.
3. A relative link of a Markdown file leads to a tracked file or directory, and its anchor to a heading.
4. A link with several words to a file of tests has the title of a test in that file.

Prints one line for each error, "file:line: what is wrong", and exits with 1 if there is any.
"""
import os
import posixpath
import re
import subprocess
import sys
from urllib.parse import unquote

# Between a document's name and the section there may be the end of a line and the mark of the next comment line.
GAP = r"[`)\]]*(?:\s|\n\s*(?://+|#+|--|\*))*"
NUMBER = r"§ ?(\d+(?:\.\d+)*)"
DOCUMENT = re.compile(rf"(?<![\w/.-])(docs/[\w.-]+\.md)((?:(?:{GAP}|,\s*|\s+and\s+){NUMBER})*)")
# A section without a document's name, in a document: its own. "RFC 6455 §5.2" is the section of something else.
OWN = re.compile(rf"(?<!RFC \d\d\d\d ){NUMBER}")
# Written so that this file does not match itself.
OUTSIDE = [
    (re.compile(r"\bARCHITECTUR[E]\b"), "cite docs/architecture.md, with the section"),
    (re.compile(r"\b[Ss]pec(?:ification)?s? §?\d[\d.]*"), "cite docs/conformance.md, with the section"),
    (re.compile(r"\bClient AP[I] §?\d+(?:\.\d+)?\b"), "cite docs/conformance.md, with the section"),
    (re.compile(r"\.\./share[d]\b"), "it is outside the repository"),
]
TEST = re.compile(r"\[([^\]\n]+ [^\]\n]+)\]\(([^)\s]+(?:Tests\.swift|\.test\.js))\)")
FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]*)>?(?:\s+[\"'][^)]*)?\)|^ {0,3}\[[^\]]+\]:\s*(\S+)", re.MULTILINE)


def tracked():
    """The text of every tracked text file, by path, as it is in the working tree."""
    names = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    texts = {}
    for name in filter(None, names.split("\0")):
        try:
            with open(name, encoding="utf-8") as file:
                texts[name] = file.read()
        except UnicodeDecodeError:
            texts[name] = None
        except (FileNotFoundError, IsADirectoryError):
            pass
    return texts


def blank(match):
    """As many spaces, with line ends kept, so that offsets stay those of the file."""
    return re.sub(r"[^\n]", " ", match.group())


def prose(text):
    """The Markdown without fenced code and code spans, in which nothing is a heading or a link."""
    lines, fence = [], None
    for line in text.split("\n"):
        mark = FENCE.match(line)
        lines.append(line if fence is None and not mark else " " * len(line))
        if mark and fence is None:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = None
    return re.sub(r"(`+)(?!`)[^`\n]*\1(?!`)", blank, "\n".join(lines))


def sections(text):
    """The numbers of a document's headings, table rows, and list items (under heading 3, item 4 is 3.4)."""
    found, heading = set(), None
    for line in prose(text).split("\n"):
        if match := re.match(r"#+\s+(?:(\d+(?:\.\d+)*)\.?\s)?", line):
            heading = match[1]
            found.add(heading)
        elif match := re.match(r"\|\s*(\d+(?:\.\d+)*)\s*\|", line):
            found.add(match[1])
        elif heading and (match := re.match(r"(\d+)[.)]\s", line)):
            found.add(f"{heading}.{match[1]}")
    return found


def anchors(text):
    """The anchors that GitHub makes of the headings, and those that are set in HTML."""
    found = set(re.findall(r"<[^>]+\b(?:id|name)=[\"']([^\"']+)", text))
    unfenced = re.sub(r"^(```+|~~~+).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    for title in re.findall(r"^#+\s+(.*?)\s*#*$", unfenced, re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found.add(next(name for name in [slug, *(f"{slug}-{count}" for count in range(1, 1000))] if name not in found))
    return found


def wrong_sections(name, text, texts):
    for match in DOCUMENT.finditer(text):
        document = match[1]
        if texts.get(document) is None:
            yield match.start(), f"there is no {document}"
            continue
        for number in re.findall(NUMBER, match[2]):
            if number not in sections(texts[document]):
                yield match.start(), f"{document} has no section {number}"
    if posixpath.dirname(name) == "docs" and name.endswith(".md"):
        for match in OWN.finditer(DOCUMENT.sub(blank, prose(text))):
            if match[1] not in sections(text):
                yield match.start(), f"this document has no section {match[1]}"


def wrong_citations(text):
    for pattern, advice in OUTSIDE:
        for match in pattern.finditer(text):
            yield match.start(), f"\"{match.group()}\": {advice}"


def wrong_links(name, text, texts, directories):
    for match in LINK.finditer(prose(text)):
        target = match[1] if match[1] is not None else match[2]
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//", target):
            continue
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else name
        if path not in texts and path not in directories:
            yield match.start(), f"the link to {target} leads to no tracked file"
        elif anchor and path.endswith(".md") and unquote(anchor) not in anchors(texts[path]):
            yield match.start(), f"the link to {target} names no heading of {path}"


def wrong_tests(name, text, texts):
    for match in TEST.finditer(text):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[2]))
        title = re.sub(r"\\([_*|])", r"\1", match[1])
        if f'"{title}"' not in (texts.get(path) or "").replace('\\"', '"'):
            yield match.start(), f"{path} has no test \"{title}\""


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    texts = tracked()
    directories = {"."}
    for name in texts:
        while name := posixpath.dirname(name):
            directories.add(name)
    errors = []
    for name, text in ((name, text) for name, text in texts.items() if text is not None):
        found = [*wrong_sections(name, text, texts), *wrong_citations(text)]
        if name.endswith(".md"):
            found += [*wrong_links(name, text, texts, directories), *wrong_tests(name, text, texts)]
        errors += [f"{name}:{text.count(chr(10), 0, offset) + 1}: {what}" for offset, what in sorted(found)]
    if errors:
        sys.exit("\n".join(errors))
    print(f"references: {len(texts)} files, all in order")


if __name__ == "__main__":
    main()
