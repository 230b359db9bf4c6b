#!/usr/bin/env bash
# Installs what is missing to build and run Strata on Debian or Ubuntu, upgrades PostgreSQL and Redis to the newest minor version that apt offers,
# and prints their versions. Needs no root if everything is installed.
# setup.sh [--check]
#
# `--check` changes nothing, and ends with status 69 if something is missing.
# Package lists are updated if something is missing, or if they are older than a day (in CI: an hour) and that needs no password.
# An upgrade never asks for a password and never touches servers that run: then the command is printed. In CI it is always done; running servers keep
# their old version until they are restarted. CI is an environment with CI=true.
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

# Prints the path of the PostgreSQL server that Strata starts: the one in PATH, or the newest of Debian's packages, which are outside of it.
find_postgres() {
    local server directories=()
    server=$(command -v postgres) && directories+=("$(dirname "$(readlink -f "$server")")")
    mapfile -t -O "${#directories[@]}" directories < <(printf '%s\n' /usr/lib/postgresql/*/bin | sort -Vr)
    for server in "${directories[@]/%//postgres}"; do
        [ -x "$server" ] && [ -x "${server%postgres}initdb" ] && printf '%s\n' "$server" && return
    done
    return 1
}

find_redis() { command -v redis-server || command -v valkey-server; }

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
want postgresql find_postgres
want postgresql-client command -v psql
want redis-server find_redis
want util-linux command -v setpriv
want iproute2 command -v ip
want libfaketime sh -c 'ls /usr/lib/*/faketime/libfaketime.so.1'
want python3 command -v python3
want python3-venv python3 -c 'import ensurepip'
want python3-yaml python3 -c 'import yaml'

[ ${#missing[@]} -eq 0 ] || say "Missing: ${missing[*]}"
if [ "${1:-}" = --check ]; then
    [ ${#missing[@]} -eq 0 ] || exit 69
    exit 0
fi
has_apt=1
command -v apt-get >/dev/null 2>&1 || has_apt=0
if [ ${#missing[@]} -gt 0 ] && [ $has_apt -eq 0 ]; then
    say "This is no Debian or Ubuntu; install these by hand."
    exit 69
fi

# How commands run as root, and whether that needs no password.
root=()
is_root_free=1
if [ "$(id -u)" -ne 0 ]; then
    root=(sudo)
    if ! command -v sudo >/dev/null 2>&1; then
        [ ${#missing[@]} -eq 0 ] || { say "Neither root nor sudo; as root run: apt-get install ${missing[*]}"; exit 77; }
        is_root_free=0
    elif ! sudo -n true >/dev/null 2>&1; then
        is_root_free=0
    fi
fi

# Strata runs a PostgreSQL and a Redis of its own. The packages would each start another one, on the usual ports and at every boot, and restart those
# that run: while they are installed or upgraded here, no cluster is made, and no service is started or stopped.
policy=/usr/sbin/policy-rc.d
no_cluster=/etc/postgresql-common/createcluster.d/strata-setup.conf
made_policy=0
# The trap calls it.
# shellcheck disable=SC2317
cleanup() {
    "${root[@]}" rm -f "$no_cluster"
    "${root[@]}" rmdir --ignore-fail-on-non-empty "$(dirname "$no_cluster")"
    [ $made_policy -eq 0 ] || "${root[@]}" rm -f "$policy"
}
hold_services() {
    trap cleanup EXIT
    trap 'exit 130' INT TERM
    "${root[@]}" mkdir -p "$(dirname "$no_cluster")"
    echo "create_main_cluster = false" | "${root[@]}" tee "$no_cluster" >/dev/null
    if [ ! -e "$policy" ]; then
        made_policy=1
        printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" >/dev/null
        "${root[@]}" chmod 755 "$policy"
    fi
}

# apt-get as root. It waits for another update that may be running.
apt() {
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 -q "$@" </dev/null
}

# apt enters this directory at each update.
lists=/var/lib/apt/lists/partial
patience=$((24 * 3600))
[ "${CI:-}" != true ] || patience=3600
age=$(($(date +%s) - $(stat -c %Y "$lists" 2>/dev/null || echo 0)))
if [ ${#missing[@]} -gt 0 ]; then
    apt update
elif [ $has_apt -eq 1 ] && [ $is_root_free -eq 1 ] && [ $age -ge $patience ]; then
    apt update >/dev/null || say "apt cannot update its lists now."
fi

if [ ${#missing[@]} -gt 0 ]; then
    [[ " ${missing[*]} " == *" postgresql "* || " ${missing[*]} " == *" redis-server "* ]] && hold_services
    apt install -y --no-install-recommends "${missing[@]}"
    if [[ " ${missing[*]} " == *" redis-server "* ]] && [ -d /run/systemd/system ]; then
        "${root[@]}" systemctl disable --quiet redis-server 2>/dev/null || true
    fi
fi

# True if a process runs a program. Another user's processes show their first word only.
runs() {
    local directory first
    for directory in /proc/[0-9]*; do
        [ "$(readlink "$directory/exe" 2>/dev/null)" = "$(readlink -f "$1")" ] && return
        first=''
        IFS=' ' read -r -d '' first _ <"$directory/cmdline" 2>/dev/null || true
        [ "${first%% *}" = "$1" ] && return
    done 2>/dev/null
    return 1
}

# Prints the package that a program is from.
package_of() {
    [ $has_apt -eq 0 ] || dpkg-query -S "$(cd "$(dirname "$1")" && pwd -P)/$(basename "$1")" 2>/dev/null | sed -n '1s/[:,].*//p' || true
}

# Upgrades a server to the version that apt offers, and adds its version to the summary.
# bring_up_to_date NAME PROGRAM PACKAGE
summary=''
bring_up_to_date() {
    local name=$1 program=$2 package=$3 source packages command note=', not from a package of apt'
    if [ -n "$package" ]; then
        note=', the newest that apt offers'
        if [ "${installed[$package]}" != "${offered[$package]}" ]; then
            # Packages from one source need one version.
            source=$(dpkg-query -W -f '${source:Package}' "$package")
            mapfile -t packages < <(
                dpkg-query -W -f '${source:Package} ${db:Status-Status} ${Package}\n' \
                    | awk -v source="$source" '$1 == source && $2 == "installed" { print $3 }'
            )
            command="apt-get install --only-upgrade ${packages[*]}"
            note=", but apt offers ${offered[$package]#*:}"
            if [ $is_root_free -eq 0 ]; then
                note+="; as root run: $command"
            elif [ "${CI:-}" != true ] && runs "$program"; then
                note+="; it runs, so stop it first, and as root run: $command"
            else
                say "Upgrading $name to ${offered[$package]#*:}"
                hold_services
                if apt install -y --no-install-recommends --only-upgrade "${packages[@]}"; then
                    note=', the newest that apt offers'
                elif [ "${CI:-}" = true ]; then
                    exit 69
                else
                    note+=", and the upgrade failed"
                fi
            fi
        fi
    fi
    summary+="${summary:+; }$name $("$program" --version | sed -E 's/^[^0-9]*([0-9.]+).*/\1/')$note"
}

postgres=$(find_postgres)
redis=$(find_redis)
postgres_package=$(package_of "$postgres")
redis_package=$(package_of "$redis")
declare -A installed=() offered=()
if [ -n "$postgres_package$redis_package" ]; then
    while read -r package old new; do
        installed[$package]=$old
        offered[$package]=$new
    done < <(
        LC_ALL=C apt-cache policy ${postgres_package:+"$postgres_package"} ${redis_package:+"$redis_package"} \
            | awk '/^[^ ]/ { sub(/:.*/, ""); name = $0 } $1 == "Installed:" { old = $2 } $1 == "Candidate:" { print name, old, $2 }'
    )
fi
bring_up_to_date PostgreSQL "$postgres" "$postgres_package"
bring_up_to_date Redis "$redis" "$redis_package"
say "$summary."
