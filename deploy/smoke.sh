#!/bin/bash
# Tests the deployment with a real engine: up, demo, scaled under load, each container killed, cut off from the network and restarted once, down and up
# again. Webhooks are told of everything meanwhile. Build the images first (make compose-test). Uses a project and a port of its own, and removes the project
# with its volumes at the end.
#
# If a check fails, a directory is left and named that explains it: the logs of all containers, a dump of the database, and what each client and the receiver
# of webhooks saw. STRATA_SMOKE_EVIDENCE: the directory in which it is made (/tmp).
set -uo pipefail
cd "$(dirname "$0")/.." || exit

PROJECT=strata-smoke
export COMPOSE_PROJECT_NAME=$PROJECT STRATA_PORT=${STRATA_PORT:-18443} STRATA_EDGE_CONNECTIONS=4000
# The receiver of webhooks is a container without TLS, at an address of the engine's networks.
export STRATA_WEBHOOKS_ALLOW_HTTP=true STRATA_WEBHOOKS_ALLOW_PRIVATE=10.0.0.0/8,172.16.0.0/12,192.168.0.0/16
# A container cannot have more open files than the user who runs the engine.
hard=$(ulimit -Hn)
if [ "$hard" != unlimited ] && [ "$hard" -lt 65536 ]; then export STRATA_OPEN_FILES=$hard; fi

compose() { if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi; }

failures=0
began=$SECONDS
say() {
    printf '%4d s  %s\n' $((SECONDS - began)) "$*"
    [ ! -d "$log" ] || printf '%s  %s\n' "$(date -u +%T.%3N)" "$*" >>"$log/checks"
}
# check WHAT COMMAND…: says whether the command succeeded, and goes on either way.
check() {
    local what=$1
    shift
    if "$@"; then say "ok    $what"; else say "FAIL  $what"; failures=$((failures + 1)); fi
}
refused() { ! "$@" >>"$log/compose" 2>&1; }
quietly() { "$@" >>"$log/compose" 2>&1 || { tail -20 "$log/compose"; return 1; }; }

containers() { docker ps -q --filter "label=com.docker.compose.project=$PROJECT" --filter "label=com.docker.compose.service=$1"; }
first() { containers "$1" | tail -1; }
scaled() { quietly compose up -d --no-build --no-recreate --wait --scale gateway="$1" --scale conversations="$2" --scale metadata="$2" --scale presence="$2" --scale webhooks="$2"; }
count_is() { [ "$(containers "$1" | wc -l)" = "$2" ]; }
healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' "$1" 2>/dev/null)" = healthy ]; }
await() { # await SECONDS COMMAND…
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.5
    done
}

# kill -9 of the process itself: after docker kill the restart policy would not apply.
crash() {
    local pid
    pid=$(docker inspect -f '{{.State.Pid}}' "$1") || return 1
    kill -9 "$pid" 2>/dev/null || docker run --rm --privileged --pid=host --user 0 --entrypoint bash "${STRATA_IMAGE:-strata:dev}" -c "kill -9 $pid"
}
restarted() { [ "$(docker inspect -f '{{.RestartCount}}' "$1")" -ge 1 ] && healthy "$1"; }

# Cuts a container off from a network without notice: its packets are lost.
part() { docker network disconnect -f "${PROJECT}_$2" "$1"; }
rejoin() { docker network connect --alias "$3" "${PROJECT}_$2" "$1"; }

# A metric of a container, summed over its series.
metric() { # metric CONTAINER NAME
    docker exec "$1" bash -c 'exec 3<>/dev/tcp/127.0.0.1/7401; printf "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" >&3; cat <&3' 2>/dev/null \
        | tr -d '\r' | awk -v name="$2" '{ key = $1; sub(/[{].*/, "", key) } key == name { sum += $NF } END { print sum + 0 }'
}
# served SERVICE METRIC: every replica has counted some.
served() {
    local id value all=0
    for id in $(containers "$1"); do
        value=$(metric "$id" "$2")
        say "      $1 ${id:0:12}: $2 $value"
        awk -v v="$value" 'BEGIN { exit !(v > 0) }' || all=1
    done
    return $all
}

# Whether a file of /run/strata is closed to a service.
closed() { compose exec -T "$1" sh -c "test -d /run/strata && ! cat /run/strata/$2"; } # closed SERVICE FILE

# A secret of the deployment.
secret() { compose run --rm --no-deps -T --entrypoint cat secrets "/run/strata/$1"; }

soak_says() { docker logs "$PROJECT-soak" 2>&1 | grep -q "$1"; }
rows() { compose exec -T postgres psql -U strata -d strata -Atc 'SELECT count(*), max(position) FROM conversations.change'; }

# Keeps the log of every container that starts from now on: those that are replaced are removed, with their logs.
keep_logs() {
    local id name events
    exec 3< <(exec docker events --filter event=start --filter "label=com.docker.compose.project=$PROJECT" --format '{{.ID}} {{.Actor.Attributes.name}}')
    events=$!
    trap 'kill "$events" $(jobs -p) 2>/dev/null' EXIT
    trap exit TERM
    while read -r id name <&3; do
        # A container that starts again keeps its log, so this writes the whole of it.
        docker logs -f --timestamps "$id" >"$log/containers/$name-${id:0:12}.log" 2>&1 &
    done
}

# What explains a failure of the load, while the database is there.
keep_evidence() {
    docker cp "$PROJECT-soak:/var/lib/strata/journal" "$log" && gzip "$log"/journal/*
    compose exec -T postgres pg_dump -U strata strata | gzip >"$log/database.sql.gz"
}

remove() {
    docker rm -fv "$PROJECT-soak" "$PROJECT-db" "$PROJECT-cache" >/dev/null 2>&1
    if [ "${KEEP:-}" = "" ]; then compose --profile test --profile tools down -v -t 10 >/dev/null 2>&1; fi
}
finish() {
    remove
    [ -z "$keeper" ] || kill "$keeper" 2>/dev/null
    if [ $failures = 0 ]; then rm -rf "$log"; else say "what explains it is in $log"; fi
}
log='' keeper=''
trap finish EXIT
remove
log=$(mktemp -d "${STRATA_SMOKE_EVIDENCE:-${TMPDIR:-/tmp}}/strata-smoke.XXXXXX")
mkdir "$log/containers"
keep_logs &
keeper=$!

for image in "${STRATA_IMAGE:-strata:dev}" "${STRATA_EDGE_IMAGE:-strata-edge:dev}"; do
    say "      $image: $(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) MB"
done

# --- Up

at=$SECONDS
check "up" quietly compose up -d --no-build --wait
check "the first message is delivered" quietly compose run --rm --no-deps soak --users 3 --conversations 1 --seconds 1
took=$((SECONDS - at))
check "… within 60 s of docker compose up ($took s)" test $took -le 60
check "the demo, over TLS" quietly compose run --rm strata demo
check "webhooks cannot read the secret of the cluster" quietly closed webhooks cluster/secret
for pair in conversations:metadata metadata:conversations conversations:webhooks metadata:webhooks webhooks:conversations webhooks:metadata presence:metadata; do
    check "${pair%:*} cannot read the database's URL of ${pair#*:}" quietly closed "${pair%:*}" "${pair#*:}/url"
done
grep -E 'Passed|app id' "$log/compose"
check "up again changes nothing" quietly compose up -d --no-build --wait

# --- Scaled, with load

check "the receiver of webhooks begins" quietly compose up -d --no-build --no-deps receiver
check "the load begins" quietly compose run -d --no-deps --name "$PROJECT-soak" soak --receiver http://receiver:8080 --journal /var/lib/strata/journal
check "… and writes" await 120 soak_says "users write"
check "scaled: 3 gateways, 2 of each service" scaled 3 2
sleep 20
check "every gateway has answered requests" served gateway strata_gateway_request_duration_seconds_count
for service in conversations metadata presence webhooks; do
    check "every instance of $service has answered calls" served "$service" strata_rpc_server_calls_total
done
check "every instance of webhooks has told the receiver" served webhooks strata_webhooks_deliveries_total

# --- Everything breaks once

for service in gateway conversations metadata presence webhooks redis postgres; do
    id=$(first "$service")
    check "kill -9 of one of $service" crash "$id"
    check "… which comes back" await 60 restarted "$id"
    sleep 3
done
for service in redis postgres; do
    id=$(first "$service")
    check "$service is cut off from the network" part "$id" back
    sleep 10
    check "… and is back" rejoin "$id" back "$service"
    sleep 10
done
id=$(first receiver)
check "the receiver of webhooks is cut off from the network" part "$id" out
sleep 5
check "… and is back" rejoin "$id" out receiver
check "rolling update: every instance is replaced" quietly deploy/rolling.sh
for service in edge redis postgres; do
    check "restart of $service" quietly docker restart -t 40 "$(first "$service")"
    check "… which is healthy again" await 60 healthy "$(first "$service")"
done
check "scaled down" scaled 1 1
check "… one gateway is left" count_is gateway 1

# --- The result

docker kill -s INT "$PROJECT-soak" >/dev/null
status=$(timeout 480 docker wait "$PROJECT-soak")
docker logs "$PROJECT-soak" 2>&1 | tail -60
check "nothing was lost, doubled or out of order, for clients and for webhooks" test "$status" = 0
[ "$status" = 0 ] || keep_evidence
quietly compose --profile test rm -fsv receiver

# --- Down and up again

before=$(rows)
check "down" quietly compose down -t 40
check "up" quietly compose up -d --no-build --wait
check "the data is as it was ($before)" test "$(rows)" = "$before"
check "and goes on" quietly compose run --rm --no-deps soak --users 3 --conversations 1 --seconds 2

# --- Backup and restore

before=$(rows)
check "backup" quietly deploy/backup.sh "$log/backup"
check "a restore over what is there is refused" refused deploy/restore.sh "$log/backup"
check "down, with all data" quietly compose down -v -t 40
check "restore" quietly deploy/restore.sh "$log/backup"
check "the data is as it was ($before)" test "$(rows)" = "$before"
check "and goes on" quietly compose run --rm --no-deps soak --users 3 --conversations 1 --seconds 2

# --- A second database on the same server

# An app that is made in the new database, which is the smallest, and moves to the other one.
moves() {
    local app
    app=$(compose run --rm --no-deps -T strata app create --name Moved --json | grep -o 'layer:///apps/production/[0-9a-f-]*' | head -1) || return
    compose run --rm --no-deps -T strata app list | grep "^$app .* in second" || return
    compose run --rm --no-deps -T strata app move "$app" main || return
    compose run --rm --no-deps -T strata app list | grep "^$app .* in main"
}
check "a second database" quietly compose exec -T postgres createdb -U strata --maintenance-db=template1 second
export STRATA_DATABASE_PLACES="main=postgres:5432/strata second=postgres:5432/second" STRATA_DATABASES=main,second
check "up, with two databases" quietly compose up -d --no-build --wait --force-recreate
check "messages are delivered" quietly compose run --rm --no-deps soak --users 3 --conversations 1 --seconds 2
check "an app moves" quietly moves
unset STRATA_DATABASE_PLACES STRATA_DATABASES

# --- PostgreSQL and Redis elsewhere: two servers outside the project, over TLS, with an owner that is not a superuser

elsewhere() {
    compose run --rm --no-deps secrets || return
    compose run --rm --no-deps migrate strata --version || return
    local pem=/run/strata/tls/edge.pem
    docker run -d --name "$PROJECT-db" --network "${PROJECT}_back" --network-alias db.elsewhere -e POSTGRES_PASSWORD=of-the-superuser \
        -v "${PROJECT}_secrets:/run/strata:ro" --user 0:0 --entrypoint sh postgres:15-bookworm -c "install -o postgres -m 600 $pem /tmp/server.pem &&
            exec docker-entrypoint.sh postgres -c ssl=on -c ssl_cert_file=/tmp/server.pem -c ssl_key_file=/tmp/server.pem" || return
    docker run -d --name "$PROJECT-cache" --network "${PROJECT}_back" --network-alias cache.elsewhere \
        -v "${PROJECT}_secrets:/run/strata:ro" --user redis --group-add 10005 redis:7.0-bookworm redis-server \
        --port 0 --tls-port 6379 --tls-cert-file $pem --tls-key-file $pem --tls-ca-cert-file /run/strata/certificate.pem --tls-auth-clients no \
        --requirepass of-the-cache --maxmemory 100mb --maxmemory-policy volatile-ttl || return
    await 60 docker exec "$PROJECT-db" pg_isready -q -h 127.0.0.1 || return
    docker exec -u postgres "$PROJECT-db" psql -c "CREATE ROLE owner LOGIN CREATEROLE PASSWORD 'of-the-owner'" -c "CREATE DATABASE strata OWNER owner"
}
check "down, with all data" quietly compose down -v -t 40
# Both use the edge's certificate, so it has to name them.
export STRATA_TLS_HOSTS=db.elsewhere,cache.elsewhere
check "a PostgreSQL and a Redis elsewhere, with TLS" quietly elsewhere
database="db.elsewhere/strata?sslmode=verify-full&sslrootcert=/run/strata/certificate.pem"
STRATA_DATABASE_URL="postgres://owner:of-the-owner@$database"
STRATA_CONVERSATIONS_DATABASE_URL="postgres://strata_conversations:$(secret owner/conversations-password)@$database"
STRATA_METADATA_DATABASE_URL="postgres://strata_metadata:$(secret owner/metadata-password)@$database"
STRATA_WEBHOOKS_DATABASE_URL="postgres://strata_webhooks:$(secret owner/webhooks-password)@$database"
STRATA_REDIS_URL="rediss://:of-the-cache@cache.elsewhere:6379?ssl_ca_certs=/run/strata/certificate.pem"
export STRATA_DATABASE_URL STRATA_CONVERSATIONS_DATABASE_URL STRATA_METADATA_DATABASE_URL STRATA_WEBHOOKS_DATABASE_URL STRATA_REDIS_URL
check "up, without those of the project" quietly compose up -d --no-build --wait --scale postgres=0 --scale redis=0
check "… none of which runs" test "$(containers postgres | wc -l)$(containers redis | wc -l)" = 00
check "messages are delivered" quietly compose run --rm --no-deps soak --users 3 --conversations 1 --seconds 2

if [ $failures -gt 0 ]; then
    say "$failures of the above failed"
    exit 1
fi
say "all passed"
