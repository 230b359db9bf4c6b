#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the Helm chart deploy/helm/strata.

check_chart.py HELM MANIFESTS FOLDER

HELM       the program
MANIFESTS  the objects of deploy/kubernetes, as `kubectl kustomize` renders them
FOLDER     where the rendered charts are written: default.yaml, all.yaml (all values changed) and others

1. With the default values the chart renders the objects of MANIFESTS, with the differences of `comparable`.
2. Every value has an effect: another value renders another text.
3. Some values have the effect that README.md of the chart promises.
4. The schema refuses unknown keys, and values of a wrong type.

Prints one line for each difference, and exits with 1 if there is any.
"""
import copy
import json
import pathlib
import re
import subprocess
import sys

import jsonschema
import yaml

CHART = pathlib.Path("deploy/helm/strata")
# Settings and labels have any keys, and a list is one value.
FREE = re.compile(r"(^|\.)(settings|requests|limits|annotations|ingressNamespace|metricsNamespace|nodeSelector)$")
# Another value for the default that is not text, or that is text of a certain form.
OTHER = {
    "image.digest": "sha256:" + "0" * 64, "image.pullPolicy": "Always", "image.pullSecrets": ["other"], "content.size": "7Gi",
    "content.objectStore.url": "s3+https://store.example/bucket",
    "networkPolicies.objectStore.to": [{"ipBlock": {"cidr": "192.0.2.12/32"}}],
    "networkPolicies.postgres.to": [{"ipBlock": {"cidr": "192.0.2.10/32"}}], "networkPolicies.redis.to": [{"ipBlock": {"cidr": "192.0.2.11/32"}}],
    "networkPolicies.deniedReceivers.ipv4": ["192.0.2.0/24"], "networkPolicies.deniedReceivers.ipv6": ["2001:db8::/32"],
    "tolerations": [{"key": "other", "operator": "Exists"}],
}


def leaves(values, path=""):
    """The values that are neither objects with fixed keys nor empty, as path and value."""
    for key, value in values.items():
        name = f"{path}.{key}".lstrip(".")
        if isinstance(value, dict) and not FREE.search(name):
            yield from leaves(value, name)
        else:
            yield name, value


def changed(values, path, value):
    """A copy of the values with another one at the path."""
    result = copy.deepcopy(values)
    *parents, last = path.split(".")
    place = result
    for key in parents:
        place = place[key]
    place[last] = value
    return result


def other(path, value):
    if path in OTHER:
        return OTHER[path]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, dict):
        key = "STRATA_OTHER" if path.endswith("settings") else "other"
        return value | {key: "7"}
    return "other"


class Chart:
    def __init__(self, helm, folder):
        self.helm, self.folder = helm, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.values = yaml.safe_load((CHART / "values.yaml").read_text())

    def run(self, name, values):
        """Renders the chart with these values. Returns the finished process."""
        file = self.folder / f"{name}.values"
        file.write_text(yaml.safe_dump(values))
        return subprocess.run(
            [self.helm, "template", "strata", str(CHART), "--namespace", "strata", "--values", str(file)], capture_output=True, text=True, check=False)

    def text(self, name, values):
        """The rendered YAML. Exits if there is none."""
        result = self.run(name, values)
        if result.returncode:
            sys.exit(f"{CHART}: {name}: {result.stderr.strip()}")
        (self.folder / f"{name}.yaml").write_text(result.stdout)
        return result.stdout

    def render(self, name, values):
        """The rendered objects."""
        return list(filter(None, yaml.safe_load_all(self.text(name, values))))


def by_name(objects):
    """The objects by kind and name. A ConfigMap of kustomize has the digest of its content in its name."""
    return {(item["kind"], re.sub(r"-[a-z0-9]{10}$", "", item["metadata"]["name"]) if item["kind"] == "ConfigMap" else item["metadata"]["name"]): item
            for item in objects}


def comparable(value):
    """The value without the differences that are allowed between the chart and the manifests:

    * The release has a namespace, so objects name none.
    * ConfigMaps have fixed names. The annotation checksum/settings replaces pods, where kustomize gives a new name.
    * The annotations of Helm.
    * The order of lists whose items have names.
    """
    if isinstance(value, dict):
        result = {key: comparable(item) for key, item in value.items() if key != "namespace" and not key.startswith(("helm.sh/", "checksum/"))}
        if "annotations" in value and not result["annotations"]:
            del result["annotations"]
        return result
    if isinstance(value, list):
        items = [comparable(item) for item in value]
        if items and all(isinstance(item, dict) and "name" in item for item in items):
            return {item["name"]: item for item in items}
        return items
    return re.sub(r"^((?:gateway-)?settings)-[a-z0-9]{10}$", r"\1", value) if isinstance(value, str) else value


def differences(chart, manifests, path=""):
    """One line for each value that only one of the two has, or that differs."""
    if isinstance(chart, dict) and isinstance(manifests, dict):
        for key in sorted(chart.keys() | manifests.keys(), key=str):
            yield from differences(chart.get(key), manifests.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(chart, list) and isinstance(manifests, list) and len(chart) == len(manifests):
        for index, pair in enumerate(zip(chart, manifests)):
            yield from differences(*pair, f"{path}[{index}]")
    elif chart != manifests:
        yield f"{path}: the chart has {chart!r}, the manifests have {manifests!r}"


def compare(objects, manifests):
    """The differences of objects. Helm makes the namespace of a release, or it exists."""
    chart, wanted = by_name(objects), by_name(manifests)
    del wanted["Namespace", "strata"]
    for kind, name in sorted(chart.keys() | wanted.keys()):
        pair = (comparable(chart.get((kind, name))), comparable(wanted.get((kind, name))))
        if None in pair:
            yield f"{kind} {name}: only in the {'manifests' if pair[0] is None else 'chart'}"
        else:
            if kind == "ConfigMap":
                pair[1]["metadata"]["name"] = name
            yield from (f"{kind} {name}: {line}" for line in differences(*pair))


def pods(objects):
    """The pod templates by name."""
    return {item["metadata"]["name"]: item["spec"]["template"] for item in objects if item["kind"] in ("Deployment", "Job")}


def check_effects(chart):
    """Values without an effect. Those of an object store need its URL."""
    stored = changed(chart.values, "content.objectStore.url", "s3://bucket")
    for path, value in leaves(chart.values):
        base = stored if ".objectStore." in path else chart.values
        if chart.text(path, changed(base, path, other(path, value))) == chart.text("base", base):
            yield f"{path}: another value has no effect"


def all_changed(chart):
    """The values with all of them changed, except those that leave objects out."""
    result = chart.values
    for path, value in leaves(chart.values):
        if not isinstance(value, bool) and path not in ("content.existingClaim", "content.objectStore.url"):
            result = changed(result, path, other(path, value))
    return result


def check_promises(chart, default):
    """Effects that README.md names."""
    kinds = lambda objects: {item["kind"] for item in objects}
    render = lambda path, value: chart.render(f"promise-{path}", changed(chart.values, path, value))
    replaced = lambda objects: {name for name, pod in pods(objects).items() if pod != pods(default)[name]}
    fixed = by_name(render("gateway.replicas", {"min": 3, "max": 3}))
    if ("HorizontalPodAutoscaler", "gateway") in fixed or fixed["Deployment", "gateway"]["spec"].get("replicas") != 3:
        yield "gateway.replicas: equal bounds must give a fixed number of pods"
    if replaced(render("settings", {"STRATA_LOG_LEVEL": "debug"})) != {"console", "conversations", "gateway", "metadata", "presence", "webhooks"}:
        yield "settings: a change must replace the pods of the six processes"
    if replaced(render("gateway.settings", {"STRATA_PUBLIC_URL": "https://other.example"})) != {"gateway", "webhooks"}:
        yield "gateway.settings: a change must replace the pods of gateways and webhooks"
    if replaced(render("metadata.settings", {"STRATA_OTHER": "7"})) != {"metadata"}:
        yield "metadata.settings: a change must replace the pods of metadata"
    if replaced(render("console.settings", {"STRATA_OTHER": "7"})) != {"console"}:
        yield "console.settings: a change must replace the pod of the console"
    if by_name(render("console.replicas", 1))["Deployment", "console"]["spec"]["replicas"] != 1:
        yield "console.replicas: 1 must switch the console on"
    for path, kind in ("content.enabled", "PersistentVolumeClaim"), ("ingress.enabled", "Ingress"), ("networkPolicies.enabled", "NetworkPolicy"):
        objects = render(path, False)
        if kind in kinds(objects):
            yield f"{path}: false must leave out every {kind}"
        if path == "content.enabled" and "/var/lib/strata/content" in str(objects):
            yield "content.enabled: false must leave out the volume and the directory"
    if "PersistentVolumeClaim" in kinds(render("content.existingClaim", "other")):
        yield "content.existingClaim: the chart must make no claim"
    stored = render("content.objectStore.url", "s3://bucket")
    if "PersistentVolumeClaim" in kinds(stored) or "/var/lib/strata/content" in str(stored):
        yield "content.objectStore.url: the chart must leave out the volume and the directory"
    if ("NetworkPolicy", "object-store") not in by_name(stored):
        yield "content.objectStore.url: a network policy must let gateways call the store"
    images = {pod["spec"]["containers"][0]["image"] for pod in pods(render("image.repository", "registry.example/other")).values()}
    if images != {"registry.example/other:dev"}:
        yield f"image.repository: all pods must have the image, and they have {sorted(images)}"
    for path, value in leaves(chart.values["secrets"]):
        objects = render(f"secrets.{path}", "other-name")
        if f"'secretName': '{value}'" in str(objects):
            yield f"secrets.{path}: a pod still mounts {value}"


def check_refusals(chart):
    """Wrong values that the schema accepts."""
    schema = jsonschema.Draft7Validator(json.loads((CHART / "values.schema.json").read_text()))
    objects = {path.rpartition(".")[0] for path, _ in leaves(chart.values)}
    wrong = {f"{path}.unknown".lstrip("."): 1 for path in objects}
    wrong |= {path: [7] if isinstance(value, list) else {"wrong": []} for path, value in leaves(chart.values)}
    for path, value in sorted(wrong.items()):
        if schema.is_valid(changed(chart.values, path, value)):
            yield f"values.schema.json: accepts {path}: {value}"
    # Helm applies the schema, and templates refuse what it cannot.
    for path, value in ("gateway.replicas", {"min": 3, "max": 2}), ("settings", {"STRATA_LOG_LEVEL": 7}):
        result = chart.run(f"refused-{path}", changed(chart.values, path, value))
        if result.returncode == 0 or path.rpartition(".")[2] not in result.stderr:
            yield f"{path}: {value} must be refused by its name: {result.stderr.strip()}"


def main():
    helm, manifests, folder = sys.argv[1:]
    chart = Chart(helm, folder)
    default = chart.render("default", {})
    with open(manifests, encoding="utf-8") as file:
        problems = list(compare(default, yaml.safe_load_all(file)))
    chart.text("all", all_changed(chart))
    problems += [*check_effects(chart), *check_promises(chart, default), *check_refusals(chart)]
    if problems:
        sys.exit("\n".join(f"{CHART}: {problem}" for problem in problems))
    print(f"{CHART}: {len(default)} objects as in deploy/kubernetes; {len(list(leaves(chart.values)))} values")


if __name__ == "__main__":
    main()
