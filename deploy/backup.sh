#!/bin/bash
# Saves all lasting data into a directory: content.tgz, database.dump, secrets.tgz, and apps' private keys in operator.tgz. The system works meanwhile.
#
#   deploy/backup.sh DIRECTORY
#
# Content goes before the database, so that no message that is restored lacks its content.
set -euo pipefail
[ $# = 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 64; }
umask 077
mkdir -p "$1"
directory=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

compose() { if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi; }

# A file gets its name only when it is complete.
save() { # save NAME COMMAND…
    "${@:2}" </dev/null >"$directory/$1.part"
    mv "$directory/$1.part" "$directory/$1"
}

save content.tgz compose run --rm --no-deps -T --entrypoint tar gateway -C /var/lib/strata/content -cz .
save database.dump compose exec -T postgres pg_dump -U strata -Fc strata
save secrets.tgz compose run --rm --no-deps -T --entrypoint tar secrets --numeric-owner -C /run/strata -cz .
save operator.tgz compose run --rm --no-deps -T --entrypoint tar strata -C /var/lib/strata/home -cz .
# The console shows the time.
compose exec -T postgres psql -U strata -d strata -qc "SELECT console.record_command('backup', 'deploy/backup.sh', NULL)" </dev/null >/dev/null
ls -l "$directory"
