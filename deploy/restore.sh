#!/bin/bash
# Starts a new deployment from a backup that deploy/backup.sh has made.
#
#   deploy/restore.sh DIRECTORY
#
# Refuses if a deployment of this name exists already, or its database.
set -euo pipefail
[ $# = 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 64; }
directory=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

compose() { if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi; }

for name in content.tgz database.dump secrets.tgz operator.tgz; do
    [ -e "$directory/$name" ] || { echo "$directory/$name is not there" >&2; exit 66; }
done
project=$(compose config | sed -n 's/^name: //p')
if [ -n "$(docker volume ls -q --filter "label=com.docker.compose.project=$project" --filter label=com.docker.compose.volume=database)" ]; then
    echo "There is a deployment called $project. Take it away with its volumes first (docker compose down -v), or set COMPOSE_PROJECT_NAME." >&2
    exit 73
fi

# The passwords first: the database gets them when it is made.
compose run --rm --no-deps -T --entrypoint tar secrets --numeric-owner -C /run/strata -xpz <"$directory/secrets.tgz"
compose up -d --no-build --wait postgres
# Makes the roles, which a dump of one database does not have; the dump replaces everything else that this makes.
compose run --rm --no-deps -T migrate </dev/null
compose exec -T postgres dropdb -U strata --maintenance-db=template1 strata
compose exec -T postgres createdb -U strata --maintenance-db=template1 strata
compose exec -T postgres pg_restore -U strata -d strata --no-owner --single-transaction <"$directory/database.dump"
compose run --rm --no-deps -T --entrypoint tar gateway -C /var/lib/strata/content -xz <"$directory/content.tgz"
compose run --rm --no-deps -T --entrypoint tar strata -C /var/lib/strata/home -xz <"$directory/operator.tgz"
compose up -d --no-build --wait
