#!/usr/bin/env bash
# Whether the descriptions in docs/ are what a running Strata does, and the pages what the descriptions say. Needs a debug build.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 scripts/docs.py --check
scripts/schemathesis.sh
