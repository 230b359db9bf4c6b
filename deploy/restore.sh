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

# Further databases, by name.
others=()
for file in "$directory"/database-*.dump; do
    [ ! -e "$file" ] || { name=${file##*/database-} && others+=("${name%.dump}"); }
done

# The passwords first: the database gets them when it is made.
compose run --rm --no-deps -T --entrypoint tar secrets --numeric-owner -C /run/strata -xpz <"$directory/secrets.tgz"
compose up -d --no-build --wait postgres
create() { compose exec -T postgres createdb -U strata --maintenance-db=template1 "$1" </dev/null; }
for name in "${others[@]}"; do create "$name"; done
# Makes the roles, which a dump of one database does not have; the dumps replace everything else that this makes.
compose run --rm --no-deps -T migrate </dev/null
restore() { # restore NAME FILE
    compose exec -T postgres dropdb -U strata --maintenance-db=template1 "$1" </dev/null
    create "$1"
    compose exec -T postgres pg_restore -U strata -d "$1" --no-owner --single-transaction <"$2"
}
restore strata "$directory/database.dump"
for name in "${others[@]}"; do restore "$name" "$directory/database-$name.dump"; done
compose run --rm --no-deps -T --entrypoint tar gateway -C /var/lib/strata/content -xz <"$directory/content.tgz"
compose run --rm --no-deps -T --entrypoint tar strata -C /var/lib/strata/home -xz <"$directory/operator.tgz"
compose up -d --no-build --wait
