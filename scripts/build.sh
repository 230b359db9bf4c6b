#!/usr/bin/env bash
# Builds, and says how long that took. The first build also compiles the packages Strata uses.
# build.sh debug|release [further words for swift build]
set -euo pipefail
cd "$(dirname "$0")/.."

configuration=$1
shift
if [ ! -e ".build/$configuration/strata" ]; then
    echo "Building Strata ($configuration). The first time this takes several minutes." >&2
fi
began=$SECONDS
# What is downloaded is tried three times.
[ -d .build/checkouts ] || swift package resolve || swift package resolve || swift package resolve
swift build -c "$configuration" "$@"
echo "Built in $((SECONDS - began)) s." >&2
