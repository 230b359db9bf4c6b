#!/usr/bin/env bash
# Runs schemathesis over docs/openapi.yaml and docs/server-openapi.yaml against a Strata of its own, which is started for it and removed afterwards, and tells by its exit status
# whether a request was answered with a server error or by anything the description does not have. Same seed, same requests. Before that it runs the programs
# and commands of docs/clients.md, compares the limits in docs/protocol.md, uses the Server API as older libraries do, and runs the bot of docs/server-api.md, with
# the same system.
# STRATA_VENV: where its Python packages are kept, .build/venv if unset. Further words go to schemathesis.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }
strata=$PWD/.build/debug/strata
[ -x "$strata" ] || { say "There is no $strata; make build first."; exit 69; }

venv=${STRATA_VENV:-$PWD/.build/venv}
scripts/venv.sh
"$venv/bin/python" scripts/check_examples.py

work=$(mktemp -d "${TMPDIR:-/tmp}/strata-api.XXXXXX")
# As root, strata runs its PostgreSQL as another user, which must be able to enter strata's home.
chmod 711 "$work"
pid=
finish() {
    local status=$?
    if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then
        kill -INT "$pid"
        # As long as strata itself may wait for its services and servers.
        for _ in {1..900}; do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        kill -KILL "$pid" 2>/dev/null || true
    fi
    [ -z "$pid" ] || wait "$pid" 2>/dev/null || true
    if [ $status -ne 0 ] && [ -s "$work/log" ] && grep -qE '"level":"(error|critical)"' "$work/log"; then
        say "Errors that Strata logged:"
        grep -E '"level":"(error|critical)"' "$work/log" | tail -20 >&2
    fi
    rm -rf "$work" || true
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

export STRATA_HOME=$work/home
unset STRATA_HTTP_PORT STRATA_HTTPS_PORT STRATA_HTTP_HOST STRATA_PUBLIC_URL
read -r http https < <(python3 -c '
import socket
held = [socket.socket() for _ in range(2)]
for one in held: one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in held))')
STRATA_CONSOLE=false "$strata" dev --http-port "$http" --https-port "$https" --log-level warning >"$work/log" 2>&1 &
pid=$!
export STRATA_API=http://127.0.0.1:$http
for _ in {1..1800}; do
    curl -sf -o /dev/null -I "$STRATA_API/ping" && break
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
done
curl -sf -o /dev/null -I "$STRATA_API/ping" || { say "Strata did not start:"; tail -20 "$work/log" >&2; exit 70; }
python3 scripts/check_clients.py
python3 scripts/check_limits.py
"$venv/bin/python" scripts/check_server_clients.py
python3 scripts/check_bot.py

accept='Accept: application/vnd.layer+json; version=3.0'
created=$("$strata" app create --name Schemathesis --json)
app=$(jq -r .app <<<"$created")
# Ana and Ben get more conversations than strangers may make in an hour.
curl -sSf -X PATCH -H "$accept" -H 'Content-Type: application/vnd.layer-patch+json' -H "Authorization: Bearer $(jq -r .serverToken <<<"$created")" \
    "$STRATA_API/apps/${app##*/}" -d '[{"operation": "set", "property": "stranger_additions_per_hour", "value": 10000}]'
token() { "$strata" token --app "$app" --user "$1" --nonce "$(curl -sSf -X POST -H "$accept" "$STRATA_API/nonces" | jq -r .nonce)"; }
sign_in() {
    jq -n --arg app "$app" --arg token "$(token "$1")" '{app_id: $app, identity_token: $token}' |
        curl -sSf -X POST -H "$accept" -H 'Content-Type: application/json' -d @- "$STRATA_API/sessions" | jq -r .session_token
}
ana=$(sign_in ana)
ben=$(sign_in ben)
for number in 1 2 3 4 5 6; do
    "$strata" announce --app "$app" --from "The operators" --to ana --to ben "Announcement $number" >/dev/null
done
STRATA_SEED=$(jq -n --arg app "$app" --arg ana "$ana" --arg ben "$ben" --arg t1 "$(token cleo)" --arg t2 "$(token dan)" \
    '{app: $app, ana: $ana, ben: $ben, tokens: [$t1, $t2]}')
export STRATA_SEED

created=$("$strata" app create --name ServerSchemathesis --json)
server=$(jq -r '.app | split("/") | last' <<<"$created")
"$strata" app index add metadata.status "$server" >/dev/null
curl -sSf -X POST -H "$accept" -H 'Content-Type: application/json' -H "Authorization: Bearer $(jq -r .serverToken <<<"$created")" \
    "$STRATA_API/apps/$server/users/alice/identity" -d '{"display_name": "Alice"}'

# What is checked: no 5xx, and that status, content type, headers and body are as described. Not checked, because the contract says otherwise:
# - negative_data_rejection, positive_data_acceptance: unknown members and parameters are ignored, page sizes that are too large cut down, bare ids and
#   URIs both taken; and whether an id is that of an object of the user's is nothing that a schema tells;
# - unsupported_method, allow_header_conformance: a known path with another method is 404 invalid_endpoint, not 405;
# - missing_required_header: a missing Upload-Content-Type is 422, not 400;
# - ignored_auth: DELETE /sessions/… takes a session and needs none; and a request may be refused for something else before its session is looked at.
checks=not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance
# The Server API: the same checks. Not of webhooks, which would have the system call addresses that are made up.
(cd "$work" && "$venv/bin/schemathesis" run "$OLDPWD/docs/server-openapi.yaml" --url "$STRATA_API/apps/$server" \
    -H "Authorization: Bearer $(jq -r .serverToken <<<"$created")" --exclude-path-regex '^/webhooks' --checks "$checks" --phases examples,coverage,fuzzing \
    --max-examples 10 --seed 3 --generation-deterministic --suppress-health-check all --request-timeout 15 --warnings off --continue-on-failure)
export SCHEMATHESIS_HOOKS=schemathesis_hooks PYTHONPATH=$PWD/scripts PYTHONDONTWRITEBYTECODE=1
cd "$work"
"$venv/bin/schemathesis" run "$OLDPWD/docs/openapi.yaml" --url "$STRATA_API" -H "Authorization: Layer session-token=\"$ana\"" \
    --checks "$checks" --phases examples,coverage,fuzzing --max-examples 25 --seed 3 --generation-deterministic \
    --suppress-health-check all --request-timeout 15 --warnings off --continue-on-failure "$@"
