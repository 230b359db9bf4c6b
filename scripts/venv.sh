#!/usr/bin/env bash
# Installs the Python packages of scripts/requirements.txt into a virtual environment, and the files of
# scripts/frameworks.py into its folder frameworks, unless they are there.
# STRATA_VENV: its directory, .build/venv if unset.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${STRATA_VENV:-$PWD/.build/venv}
if cat scripts/requirements.txt scripts/frameworks.py | cmp -s - "$venv/installed.txt"; then exit 0; fi
python3 -m venv "$venv"
"$venv/bin/pip" install --retries 10 --quiet --disable-pip-version-check -r scripts/requirements.txt
"$venv/bin/python" scripts/frameworks.py "$venv/frameworks"
cat scripts/requirements.txt scripts/frameworks.py >"$venv/installed.txt"
