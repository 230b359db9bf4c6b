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
# `strata --version` names the commit of a release build. Debug builds do without: each commit would link all tests again.
if [ "$configuration" = release ] && [ -z "${STRATA_COMMIT:-}" ] && [ -e .git ]; then
    STRATA_COMMIT=$(git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || true)
    export STRATA_COMMIT
fi
began=$SECONDS
# Tries the download of packages three times.
if [ ! -d .build/checkouts ] || [ ! -e Package.resolved ]; then
    swift package resolve || swift package resolve || swift package resolve
fi
scripts/dependencies.sh check
swift build -c "$configuration" "$@"
echo "Built in $((SECONDS - began)) s." >&2
