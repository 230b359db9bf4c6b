#!/usr/bin/env bash
# Builds the images and tries the deployment with a real Docker Engine: the one of this machine, or else one that is brought up for the test alone, in
# namespaces of its own (needs root, Debian 12, and compose-lab beside the checkout).
set -euo pipefail
cd "$(dirname "$0")/.."

if docker info >/dev/null 2>&1; then
    compose() { if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi; }
    compose --profile tools --profile test build
    exec deploy/smoke.sh
fi

lab=../shared/compose-lab/compose-lab.sh
if [ ! -e "$lab" ]; then
    echo "No Docker Engine answers here. Start one, or put compose-lab beside the checkout." >&2
    exit 69
fi
bash "$lab" install
bash "$lab" images
COMPOSE_PROFILES=tools,test bash "$lab" build .
exec bash "$lab" test . deploy/smoke.sh
