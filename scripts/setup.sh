#!/usr/bin/env bash
# Installs what is missing to build and run Strata on Debian or Ubuntu; does nothing, and needs no root, where all is there.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }

# The toolchain is the one thing apt does not have.
find_swift() {
    command -v swift >/dev/null 2>&1 && return
    for directory in /opt/swift/usr/bin /usr/share/swift/usr/bin /usr/local/swift/usr/bin "$HOME/.local/share/swiftly/bin"; do
        if [ -x "$directory/swift" ]; then
            say "Swift is in $directory but not in PATH; add it: export PATH=$directory:\$PATH"
            exit 69
        fi
    done
    say "A Swift toolchain is needed, 6.3 or newer: https://www.swift.org/install/linux/"
    exit 69
}

has_postgres() {
    command -v postgres >/dev/null 2>&1 && return
    for server in /usr/lib/postgresql/*/bin/postgres; do [ -x "$server" ] && return; done
    return 1
}

missing=()
want() { # want PACKAGE TEST...
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}

find_swift
want git command -v git
want make command -v make
want curl command -v curl
want jq command -v jq
want pkg-config command -v pkg-config
want libpq-dev pkg-config --exists libpq
want libsqlite3-dev pkg-config --exists sqlite3
want libhiredis-dev test -e /usr/include/hiredis/hiredis.h
want postgresql has_postgres
want postgresql-client command -v psql
want redis-server command -v redis-server
want util-linux command -v setpriv
want iproute2 command -v ip
want libfaketime sh -c 'ls /usr/lib/*/faketime/libfaketime.so.1'
want python3 command -v python3
want python3-venv python3 -c 'import ensurepip'
want python3-yaml python3 -c 'import yaml'
[ ${#missing[@]} -eq 0 ] && exit 0

say "Missing: ${missing[*]}"
[ "${1:-}" = --check ] && exit 69
command -v apt-get >/dev/null 2>&1 || { say "This is no Debian or Ubuntu; install these by hand."; exit 69; }
root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || { say "Neither root nor sudo; as root run: apt-get install ${missing[*]}"; exit 77; }
    root=(sudo)
fi

# Strata runs a PostgreSQL and a Redis of its own. The packages would each start another one, on the usual ports and at every boot: while they are
# installed here, no cluster is made and no service started. What was there before is not touched.
policy=/usr/sbin/policy-rc.d
no_cluster=/etc/postgresql-common/createcluster.d/strata-setup.conf
made_policy=0
cleanup() {
    "${root[@]}" rm -f "$no_cluster"
    "${root[@]}" rmdir --ignore-fail-on-non-empty "$(dirname "$no_cluster")"
    [ $made_policy -eq 0 ] || "${root[@]}" rm -f "$policy"
}
if [[ " ${missing[*]} " == *" postgresql "* || " ${missing[*]} " == *" redis-server "* ]]; then
    trap cleanup EXIT
    "${root[@]}" mkdir -p "$(dirname "$no_cluster")"
    echo "create_main_cluster = false" | "${root[@]}" tee "$no_cluster" >/dev/null
    if [ ! -e "$policy" ]; then
        made_policy=1
        printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" >/dev/null
        "${root[@]}" chmod 755 "$policy"
    fi
fi

# Waits for another update that may be running.
patient=(-o DPkg::Lock::Timeout=120 -o Acquire::Retries=3)
"${root[@]}" apt-get "${patient[@]}" update -q
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${patient[@]}" install -q -y --no-install-recommends "${missing[@]}" </dev/null
if [[ " ${missing[*]} " == *" redis-server "* ]] && [ -d /run/systemd/system ]; then
    "${root[@]}" systemctl disable --quiet redis-server 2>/dev/null || true
fi
