#!/usr/bin/env bash
# Compares the packages that SwiftPM resolved with dependencies.txt, the versions that the tests passed with.
# dependencies.sh check|pin
#
# `check` names each difference. It fails if STRATA_STRICT=1 or STRATA_IMAGE_BUILD=1, and warns otherwise.
# `pin` has SwiftPM take the listed versions, and fails if it cannot.
set -euo pipefail
cd "$(dirname "$0")/.."

is_image=${STRATA_IMAGE_BUILD:-}

# Prints a line for each difference: package, listed version, resolved version; "none" if there is none. Images are built from fewer packages.
differences() {
    awk -F'"' -v is_image="$is_image" '
        function note(version) { if (name != "") found[name] = version; name = "" }
        FNR == NR { if (split($0, row, " ") > 1 && row[1] !~ /^#/) listed[row[1]] = row[2]; next }
        $2 == "identity" { note("none"); name = $4 }
        $2 == "version" && $4 != "" { note($4) }
        END {
            note("none")
            for (name in found) if (listed[name] != found[name]) print name, listed[name] == "" ? "none" : listed[name], found[name]
            if (is_image != 1) for (name in listed) if (listed[name] != "" && !(name in found)) print name, listed[name], "none"
        }' dependencies.txt Package.resolved | sort
}

check() {
    local found name listed resolved
    found=$(differences)
    [ -n "$found" ] || return 0
    while read -r name listed resolved; do
        echo "$name: dependencies.txt has version $listed, but version $resolved was resolved." >&2
    done <<<"$found"
    echo "To take the listed versions: scripts/dependencies.sh pin. To list the resolved ones, once the tests pass: scripts/licences.py" >&2
    [ "$is_image" != 1 ] && [ "${STRATA_STRICT:-}" != 1 ]
}

# One package at a time: SwiftPM keeps the others as they are if it can.
pin() {
    local name listed resolved
    swift package resolve || swift package resolve || swift package resolve
    for _ in 1 2 3; do
        while read -r name listed resolved; do
            [ "$listed" = none ] || [ "$resolved" = none ] || swift package resolve "$name" --version "$listed" </dev/null || true
        done < <(differences)
    done
    STRATA_STRICT=1 check
}

case ${1:-} in
    check | pin) "$1" ;;
    *)
        sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
        exit 64
        ;;
esac
