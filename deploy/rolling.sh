#!/bin/bash
# Replaces every instance of the services by one of the present image and settings, one at a time, while the others work:
#
#   docker compose build && deploy/rolling.sh [SERVICE…]
#
# First the secrets that are missing are made, and the schema is brought up to date; the code that still runs goes on working with it. A new instance has to be healthy before an old one is told to
# drain and end.
set -euo pipefail
cd "$(dirname "$0")/.."

compose() { if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi; }

services=("$@")
[ ${#services[@]} -gt 0 ] || services=(conversations metadata presence webhooks gateway)

compose run --rm --no-deps secrets
compose run --rm --no-deps migrate
for service in "${services[@]}"; do
    mapfile -t old < <(compose ps -q "$service")
    [ ${#old[@]} -gt 0 ] || { echo "$service does not run" >&2; exit 1; }
    for id in "${old[@]}"; do
        compose up -d --no-build --no-deps --no-recreate --wait --scale "$service=$((${#old[@]} + 1))" "$service"
        docker stop -t 40 "$id" >/dev/null
        docker rm "$id" >/dev/null
        echo "$service: ${id:0:12} is replaced"
    done
done
