#!/usr/bin/env bash
# Builds the images and tests the deployment with a real Docker Engine: the one of this machine, or else one that is started for the test alone, in
# namespaces of its own. The latter needs root, Debian 12, and COMPOSE_LAB, the path of a script that starts an engine (install, images, build, test).
set -euo pipefail
cd "$(dirname "$0")/.."

STRATA_COMMIT=$(git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || true)
export STRATA_COMMIT

if docker info >/dev/null 2>&1; then
    compose() { if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi; }
    compose --profile tools --profile test build
    exec deploy/smoke.sh
fi

lab=${COMPOSE_LAB:-}
if [ ! -e "$lab" ]; then
    echo "No Docker Engine answers here. Start one, or set COMPOSE_LAB to the path of compose-lab.sh." >&2
    exit 69
fi
bash "$lab" install
bash "$lab" images
COMPOSE_PROFILES=tools,test bash "$lab" build .
exec bash "$lab" test . deploy/smoke.sh
