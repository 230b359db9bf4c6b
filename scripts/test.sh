#!/usr/bin/env bash
# Runs tests that are built, and names at the end those that failed: among a thousand they are out of sight by then.
# test.sh [further words for swift test]
set -uo pipefail
cd "$(dirname "$0")/.." || exit

log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift test --skip-build --disable-xctest --no-parallel "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ "$status" -ne 0 ]; then
    printf '\nWhat failed:\n'
    grep -aE -A1 'recorded an issue|error:' "$log" | cut -c1-400 | head -n 200
    # The runner's own words last.
    grep -a 'Test run with' "$log" | tail -n 1
fi
exit "$status"
