#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints where the time of a test run went: by tier and target, and the slowest tests.

test_times.py DIRECTORY [LIMIT]

DIRECTORY: *.events, the event stream of each process, and *.log, its output.
LIMIT: seconds that a test case of the short tier may take. Longer ones are listed.
"""

import json
import pathlib
import sys

SLOWEST = 20  # The length of the list of slow tests.


class Tests:
    """The tests of a run. Each table has their ids as keys."""

    def __init__(self):
        self.names, self.seconds, self.cases, self.longest, self.places = {}, {}, {}, {}, {}
        self.long_places = set()

    def read_log(self, path):
        """Notes the tests that the trait `.long` has named."""
        with open(path, encoding="utf-8", errors="replace") as lines:
            self.long_places |= {line[11:].strip() for line in lines if line.startswith("Long test: ")}

    def read_events(self, path):
        """Reads one event stream. The last line of a process that was killed may be incomplete."""
        began, case_began = {}, {}
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                payload = record["payload"]
                if record["kind"] == "test":
                    if payload["kind"] == "function":
                        place = payload["sourceLocation"]
                        self.names[payload["id"]] = payload.get("displayName", payload["name"])
                        self.places[payload["id"]] = f"{place['fileID']}:{place['line']}:{place['column']}"
                    continue
                test, kind = payload.get("testID"), payload["kind"]
                if test not in self.names:
                    continue
                now = payload["instant"]["absolute"]
                if kind == "testStarted":
                    began[test] = now
                elif kind == "testCaseStarted":
                    case_began[test] = now
                elif kind == "testCaseEnded":
                    self.cases[test] = self.cases.get(test, 0) + 1
                    self.longest[test] = max(self.longest.get(test, 0), now - case_began.get(test, now))
                elif kind == "testEnded" and test in began:
                    self.seconds[test] = now - began[test]
                    self.longest.setdefault(test, self.seconds[test])

    def is_long(self, test):
        return self.places[test] in self.long_places


def print_targets(tests):
    sums = {}
    for test, seconds in tests.seconds.items():
        column = 2 if tests.is_long(test) else 0
        for row in (test.split(".")[0], "all"):
            row = sums.setdefault(row, [0, 0, 0, 0])
            row[column] += 1
            row[column + 1] += seconds
    print("\nTests and seconds by target and tier:")
    print(f"  {'target':22}{'short tier':>18}{'long tier only':>18}")
    for target, (short, short_seconds, long, long_seconds) in sorted(sums.items(), key=lambda row: (row[0] == "all", -row[1][1] - row[1][3])):
        print(f"  {target:22}{short:8}{short_seconds:10.1f}{long:8}{long_seconds:10.1f}")


def describe(test, tests):
    cases = tests.cases.get(test, 1)
    target = test.split(".")[0]
    return f"{target}: {tests.names[test]}" + (f" ({cases} cases)" if cases > 1 else "")


def main():
    directory = pathlib.Path(sys.argv[1])
    tests = Tests()
    for path in sorted(directory.glob("*.events")):
        tests.read_events(path)
    for path in sorted(directory.glob("*.log")):
        tests.read_log(path)
    print_targets(tests)
    print("\nThe slowest tests, in seconds:")
    for test, seconds in sorted(tests.seconds.items(), key=lambda entry: -entry[1])[:SLOWEST]:
        print(f"{seconds:8.1f}  {describe(test, tests)[:150]}")
    if len(sys.argv) > 2:
        limit = float(sys.argv[2])
        over = sorted((-seconds, test) for test, seconds in tests.longest.items() if seconds > limit)
        if over:
            print(f"\nTest cases that took longer than {limit:.0f} s. They belong to the long tier, unless the machine was busy:")
        for seconds, test in over:
            print(f"{-seconds:8.1f}  {describe(test, tests)[:150]}")


main()
