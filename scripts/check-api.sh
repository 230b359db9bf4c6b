#!/usr/bin/env bash
# Checks that a running Strata does what the descriptions in docs/ say, and that the pages match the descriptions. Needs a debug build.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 scripts/docs.py --check
scripts/schemathesis.sh
