#!/usr/bin/env bash
# Installs the Python packages of scripts/requirements.txt into a virtual environment, unless they are there.
# STRATA_VENV: its directory, .build/venv if unset.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${STRATA_VENV:-$PWD/.build/venv}
if cmp -s scripts/requirements.txt "$venv/installed.txt"; then exit 0; fi
python3 -m venv "$venv"
"$venv/bin/pip" install --retries 10 --quiet --disable-pip-version-check -r scripts/requirements.txt
cp scripts/requirements.txt "$venv/installed.txt"
