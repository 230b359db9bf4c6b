#!/usr/bin/env bash
# Runs the example Chat in this terminal, with the system of `make run`. The first call creates the app "Chat", which all users share.
# chat.sh PROGRAMS USER [further words for the example]
#
# PROGRAMS: the directory of the programs, such as .build/debug
set -euo pipefail

programs=$(cd "$1" && pwd)
user=$2
shift 2
[ -n "$user" ] || { echo "Say who you are: make chat USER=alice" >&2; exit 64; }
export PATH="$programs:$PATH"
home=${STRATA_HOME:-.strata}
if [ ! -e "$home/state.json" ]; then
    echo "No system runs in $home. Start one in another terminal: make run" >&2
    exit 69
fi
url=$(jq -er '.httpsURLs[0]' "$home/state.json")
certificate=$(jq -er .certificate "$home/state.json")

# If two terminals start at once, one creates the app while the other waits for it.
exec 9<"$home/keys"
flock 9
app=$(jq -r 'select(.name == "Chat") | .app' "$home"/keys/*.json 2>/dev/null | head -n 1) || true
[ -n "$app" ] || app=$(strata app create --name Chat --json | jq -er .app)
exec 9<&-

exec "$programs/ChatExample" --app "$app" --user "$user" --url "$url" --ca "$certificate" --directory "$home/chat" "$@"
