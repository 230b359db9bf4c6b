#!/usr/bin/env bash
# The commands of docs/clients.md, "curl", as one script. A test runs it, and another compares the two texts.
# API: base URL of a gateway, http://localhost:8080 if unset. The command `strata` is taken from .build/debug unless PATH has one.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
command -v strata >/dev/null || export PATH="$root/.build/debug:$PATH"

# --- clients.md ---
API=${API:-http://localhost:8080}
VERSION='Accept: application/vnd.layer+json; version=3.0'
JSON='Content-Type: application/json'

# An app; its private key stays in .strata/keys.
APP=$(strata app create --name "Tour" --json | jq -r .app)

# Alice signs in: a nonce, an identity token that names it, a session.
NONCE=$(curl -sSf -X POST -H "$VERSION" "$API/nonces" | jq -r .nonce)
TOKEN=$(strata token --app "$APP" --user alice --nonce "$NONCE")
SESSION=$(curl -sSf -X POST -H "$VERSION" -H "$JSON" "$API/sessions" \
    -d "{\"app_id\": \"$APP\", \"identity_token\": \"$TOKEN\"}" | jq -r .session_token)
AUTH="Authorization: Layer session-token=\"$SESSION\""

# A conversation with Bob.
ID=$(curl -sSf -X POST -H "$VERSION" -H "$JSON" -H "$AUTH" "$API/conversations" \
    -d '{"participants": ["layer:///identities/bob"], "metadata": {"title": "Weekend trip"}}' | jq -r '.id | split("/") | last')

# One key of its metadata, nested.
curl -sSf -X PATCH -H "$VERSION" -H 'Content-Type: application/vnd.layer-patch+json' -H "$AUTH" "$API/conversations/$ID" \
    -d '[{"operation": "set", "property": "metadata.trip.city", "value": "Porto"}]'

# A message.
curl -sSf -X POST -H "$VERSION" -H "$JSON" -H "$AUTH" "$API/conversations/$ID/messages" \
    -d '{"parts": [{"mime_type": "text/plain", "body": "Train leaves at 8"}]}' | jq .

# What Alice sees now.
curl -sSf -H "$VERSION" -H "$AUTH" "$API/conversations/$ID" | jq '{metadata, total_message_count, unread_message_count}'
# --- end ---
