#!/bin/bash
# Saves all lasting data into a directory: content.tgz, database.dump, secrets.tgz, and apps' private keys in operator.tgz. The system works meanwhile.
# Of further databases on the same server: database-NAME.dump. Move no app meanwhile, or it may be in none of the dumps.
#
#   deploy/backup.sh DIRECTORY
#
# Content goes before the databases, so that no message that is restored lacks its content.
set -euo pipefail
[ $# = 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 64; }
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
others=$(compose exec -T postgres psql -U strata -d strata -XAtc \
    "SELECT datname FROM pg_database WHERE NOT datistemplate AND datname NOT IN ('postgres', 'strata')" </dev/null)
save database.dump compose exec -T postgres pg_dump -U strata -Fc strata
for name in $others; do save "database-$name.dump" compose exec -T postgres pg_dump -U strata -Fc "$name"; done
# Dumps of databases that do not exist any more.
for file in "$directory"/database-*.dump; do
    name=${file##*/database-}
    grep -qxF "${name%.dump}" <<<"$others" || rm -f "$file"
done
save secrets.tgz compose run --rm --no-deps -T --entrypoint tar secrets --numeric-owner -C /run/strata -cz .
save operator.tgz compose run --rm --no-deps -T --entrypoint tar strata -C /var/lib/strata/home -cz .
# The console shows the time.
compose exec -T postgres psql -U strata -d strata -qc "SELECT console.record_command('backup', 'deploy/backup.sh', NULL)" </dev/null >/dev/null
ls -l "$directory"
