#!/usr/bin/env bash
# Tests against another version of PostgreSQL or Redis, with the packages of whichever Debian release has it. Installs nothing, needs no root.
# test-versions.sh postgres 15|17|18 [short | words for scripts/test.sh]
# test-versions.sh redis 7|8|valkey|valkey-9 [short | words for scripts/test.sh]
#
# `short` runs the schema and the statements only, as CI does. The packages are unpacked below .build/servers, together with the libraries and the
# loader of their own release, because a server of a newer release does not run on an older C library.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }
usage() {
    sed -n '3,4s/^# /scripts\//p' "$0" >&2
    exit 64
}

# Debian's releases, the oldest first. The first one that has the version is used.
releases=(bookworm trixie forky)

kind=${1:-}
version=${2:-}
[ -n "$version" ] || usage
shift 2
case $kind in
postgres) package=postgresql-$version major=$version ;;
redis)
    case $version in
    valkey) package=valkey-server major='' ;;
    valkey-*) package=valkey-server major=${version#valkey-} ;;
    *) package=redis-server major=$version ;;
    esac
    ;;
*) usage ;;
esac
[[ $major =~ ^[0-9]*$ ]] || usage

# A directory that the user whom PostgreSQL runs as can enter: for root that is another user.
servers=$PWD/.build/servers
mkdir -p "$servers"
if [ "$(id -u)" -eq 0 ]; then
    other=$(id -u postgres 2>/dev/null || id -u nobody)
    if ! setpriv --reuid="$other" --clear-groups test -x "$servers"; then
        servers=/var/tmp/strata-servers
        mkdir -p "$servers"
        [ -O "$servers" ] || { say "$servers belongs to another user."; exit 73; }
    fi
fi

# Prints the machine's own mirror with a label: of packages, or of security updates.
# shellcheck disable=SC2016
mirror() { apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Origin: Debian' "Label: $1" 2>/dev/null | sort -u | head -n 1; }
keyring=''
for file in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do [ -e "$file" ] && keyring=$file && break; done
main=$(mirror Debian)
security=$(mirror Debian-Security)
if [ -z "$keyring" ] || [ -z "$main" ]; then
    say "The packages come from Debian's mirrors, and apt knows none here. Name a server instead: STRATA_TEST_POSTGRES, STRATA_TEST_REDIS (CONTRIBUTING.md)."
    exit 69
fi

# apt with the lists of one release, and a machine on which nothing is installed.
# aptly RELEASE apt-get|apt-cache WORDS...
aptly() {
    local state=$servers/apt/$1 program=$2
    shift 2
    "$program" -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
        -o Dir::Etc::preferences=/dev/null -o Dir::State::lists="$state/lists" -o Dir::State::status="$state/status" \
        -o Dir::State::extended_states="$state/extended" -o Dir::Cache="$state/cache" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o APT::Sandbox::User= -o Debug::NoLocking=1 -o Acquire::Retries=3 -o APT::Get::List-Cleanup=0 "$@"
}

# Brings the lists of a release up to date, unless that was done within a day.
refresh() {
    local release=$1 state=$servers/apt/$1
    [ -n "$(find "$state/fresh" -mmin -1440 2>/dev/null)" ] && return
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    : >"$state/status"
    echo "deb [signed-by=$keyring] $main $release main" >"$state/sources.list"
    [ -z "$security" ] || echo "deb [signed-by=$keyring] $security $release-security main" >>"$state/sources.list"
    say "Asking Debian's release $release for $package"
    aptly "$release" apt-get update -qq || return
    touch "$state/fresh"
}

release=''
for candidate in "${releases[@]}"; do
    refresh "$candidate" || { say "apt cannot read the lists of the release $candidate."; exit 69; }
    found=$(aptly "$candidate" apt-cache policy "$package" | awk '$1 == "Candidate:" && $2 != "(none)" { sub(/^[0-9]+:/, "", $2); print $2 }')
    [[ -n $found && ( -z $major || $found == "$major".* ) ]] && release=$candidate && break
done
if [ -z "$release" ]; then
    say "None of Debian's releases ${releases[*]} has $kind $version, so its packages cannot be had from here."
    say "Name a server of that version instead: STRATA_TEST_POSTGRES, STRATA_TEST_REDIS (CONTRIBUTING.md)."
    exit 69
fi
say "$package $found, of Debian's release $release"

# The server, its programs and every library that they need. The rest of what the packages depend on is for an installed server.
mapfile -t packages < <(
    aptly "$release" apt-get -s --no-install-recommends install "$package" \
        | sed -nE 's/^Inst ([^ ]+) \(([^ ]+) .*/\1=\2/p' \
        | grep -E '^(lib|postgresql-[0-9]|postgresql-client-[0-9]|redis-|valkey-)' | grep -vE '^lib[^=]*perl' | sort
)
home=$servers/$kind-$version
contents=$(printf '%s\n' "$home" "${packages[@]}")
if [ "$(cat "$home/contents" 2>/dev/null)" != "$contents" ]; then
    rm -rf "$home"
    mkdir -p "$home/debs" "$home/tree" "$home/loader"
    (cd "$home/debs" && aptly "$release" apt-get download -qq "${packages[@]}")
    for archive in "$home"/debs/*.deb; do dpkg -x "$archive" "$home/tree"; done
    rm -rf "$home/debs"

    loader=$(find "$home/tree/" -type f \( -name 'ld-linux*.so.*' -o -name 'ld-[0-9]*.so' \) | head -n 1)
    library=$(dirname "$loader")
    case $kind in
    postgres) bin=$home/tree/usr/lib/postgresql/$version/bin ;;
    redis) bin=$home/tree/usr/bin ;;
    esac
    # Valkey answers to the names of Redis, too.
    for program in "$bin"/valkey-*; do [ -e "$program" ] && ln -sfn "$(basename "$program")" "$bin/redis-${program##*/valkey-}"; done
    # A script in the place of each program runs it by the loader. PostgreSQL finds its files by the path of the script, which is its first word,
    # and the name of the process is that of the link to the loader.
    mv "$bin" "$home/programs"
    mkdir "$bin"
    for program in "$home"/programs/*; do
        name=$(basename "$program")
        ln -s "$loader" "$home/loader/$name"
        # shellcheck disable=SC2016
        printf '#!/bin/sh\nexec %q --library-path %q --argv0 "$0" %q "$@"\n' "$home/loader/$name" "$library" "$program" >"$bin/$name"
        chmod 755 "$bin/$name"
    done
    ln -sfn "$bin" "$home/bin"
    printf '%s\n' "$contents" >"$home/contents"
fi
export PATH=$home/bin:$PATH

# A test fails if another server answers.
case $package in
postgresql-*) export STRATA_TEST_POSTGRES_VERSION=$version ;;
redis-server) export STRATA_TEST_REDIS_VERSION=redis_version:${found%%.*} ;;
valkey-server) export STRATA_TEST_REDIS_VERSION=valkey_version:${found%%.*} ;;
esac
case $kind:${1:-} in
postgres:short)
    shift
    set -- --filter '^PostgresTests\.|^(ConversationsTests|MetadataTests|WebhooksTests|StrataTests)\.(.*/)?(ColumnTests|SchemaFilesTests|FunctionFilesTests|PlanTests)/' "$@"
    ;;
postgres:) set -- --filter '^(PostgresTests|ConversationsTests|MetadataTests|WebhooksTests|ConformanceTests)\.|^StrataTests\.(ColumnTests|PrivatePostgresTests|DevSystemTests)/|^EndToEndTests\.(.*/)?DemoTests/' ;;
redis:short)
    shift
    set -- --filter '^(RedisTests|PresenceTests)\.' "$@"
    ;;
redis:) set -- --filter '^(RedisTests|PresenceTests|ConformanceTests)\.|^StrataTests\.(PrivateRedisTests|DevSystemTests)/|^EndToEndTests\.(.*/)?(DemoTests|RedisClusterTests)/' ;;
esac
exec scripts/test.sh "$@"
