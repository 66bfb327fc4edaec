"""The files of docker/ and deploy/ name only settings, commands and files that exist."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MEMFOLD = os.environ["MEMFOLD_BIN"]
MANIFESTS = sorted((ROOT / "deploy/kubernetes").glob("*.yaml"))
# What the Secret may hold.
VALUES = {"MEMFOLD_REDIS_URL": "redis://host", "MEMFOLD_HTTP_TOKEN": "a token of the tests"}
# Those with a container.
KUBERNETES = [path for path in MANIFESTS if path.name != "secret.yaml"]


def documents(path):
    return list(yaml.safe_load_all(path.read_text()))


def memfold(args, tmp_path, **env):
    run = subprocess.run([MEMFOLD, *args], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr == "", "a warning names a setting that does not exist"
    return run.stdout


def containers(path):
    for document in documents(path):
        spec = document.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            yield from spec["template"]["spec"]["containers"]


@pytest.mark.parametrize("path", KUBERNETES, ids=lambda path: path.name)
def test_pods_run_commands_and_settings_that_exist(path, tmp_path):
    ran = 0
    for container in containers(path):
        command, *flags = container["args"]
        assert "--help" not in flags
        help_text = memfold([command, "--help"], tmp_path)
        for flag in flags:
            assert not flag.startswith("--") or flag in help_text
        names = {variable["name"]: VALUES[variable["name"]] for variable in container["env"]}
        memfold(["config", "show"], tmp_path, **names)
        assert container["securityContext"]["readOnlyRootFilesystem"]
        ran += 1
    assert ran == 1


def test_pods_ask_for_the_secret_that_is_there():
    (secret,) = documents(ROOT / "deploy/kubernetes/secret.yaml")
    assert "PASSWORD" in secret["stringData"]["redis-url"], "no real password is in the repository"
    assert secret["stringData"]["http-token"] == "TOKEN", "too short to be taken for one"
    asked = [
        variable["valueFrom"]["secretKeyRef"]
        for path in KUBERNETES
        for container in containers(path)
        for variable in container["env"]
        if "valueFrom" in variable
    ]
    assert [reference["key"] for reference in asked].count("redis-url") == len(KUBERNETES)
    for reference in asked:
        assert reference["name"] == secret["metadata"]["name"]
        assert reference["key"] in secret["stringData"]
        # Without a token there is no dashboard; without a URL there is nothing.
        assert reference.get("optional", False) == (reference["key"] == "http-token")


def test_the_config_map_is_a_configuration(tmp_path):
    maps = [d for path in KUBERNETES for d in documents(path) if d["kind"] == "ConfigMap"]
    (config,) = maps
    (tmp_path / "memfold.toml").write_text(config["data"]["memfold.toml"])
    assert "0.0.0.0:9464" in memfold(["config", "show"], tmp_path)


def test_the_compose_demo_sets_settings_and_uses_files_that_exist(tmp_path):
    (compose,) = documents(ROOT / "docker/compose.yaml")
    services = compose["services"]
    for service in services.values():
        settings = {k: v for k, v in service.get("environment", {}).items() if k.startswith("MEMFOLD_")}
        if settings:
            memfold(["config", "show"], tmp_path, **settings)
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert not source.startswith(".") or (ROOT / "docker" / source).exists()
        if "build" in service:
            assert (ROOT / "docker" / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    memories = services["seed"]["command"][0].replace("/opt/memfold/demo", "examples/demo")
    assert (ROOT / memories).exists()
    (scrape,) = yaml.safe_load((ROOT / "docker/prometheus/prometheus.yml").read_text())["scrape_configs"]
    host, port = scrape["static_configs"][0]["targets"][0].split(":")
    assert host in services
    assert services[host]["environment"]["MEMFOLD_LISTEN"].endswith(f":{port}")


def test_alerts_watch_numbers_that_exist_and_are_told_of():
    (group,) = documents(ROOT / "docker/prometheus/alerts.yml")[0]["groups"]
    numbers, told = (ROOT / "docs/worker.md").read_text(), (ROOT / "docs/operations.md").read_text()
    for rule in group["rules"]:
        assert f"`{rule['alert']}`" in told
        watched = re.findall(r"\bmemfold_(\w+)", rule["expr"])
        assert watched
        for name in watched:
            assert re.search(rf"`{name}[`{{]", numbers), f"{name} is not among the numbers of docs/worker.md"
    assert len(group["rules"]) == len(re.findall(r"^\| `Memfold\w+`", told, re.MULTILINE))
    settings = documents(ROOT / "docker/prometheus/prometheus.yml")[0]
    assert settings["rule_files"] == ["alerts.yml"]
