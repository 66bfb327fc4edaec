"""The API does what docs/openapi.json says of it."""

import json

import pytest
from conftest import ROOT, until
from jsonschema import Draft202012Validator, FormatChecker

DESCRIPTION = json.loads((ROOT / "docs/openapi.json").read_text())


class Described:
    """Asks, and checks each answer against the description."""

    def __init__(self, web):
        self.web = web
        self.asked = set()

    def __call__(self, method: str, path: str, body=None, status: int = 200, token=..., **parts: str):
        operation = DESCRIPTION["paths"][path][method]
        if body is not None:
            self.check(operation["requestBody"]["content"]["application/json"]["schema"], body)
        options = {} if token is ... else {"token": token}
        got, kind, document = self.web.ask(method.upper(), path.format(**parts), body, **options)
        assert got == status, document
        described = operation["responses"][str(status)]["content"]
        assert list(described) == [kind], path
        self.check(described[kind]["schema"], document)
        if status < 300:
            self.asked.add((method, path))
        return document

    @staticmethod
    def check(schema: dict, document):
        # References lead into the whole description.
        whole = {**schema, "components": DESCRIPTION["components"]}
        errors = list(Draft202012Validator(whole, format_checker=FormatChecker()).iter_errors(document))
        assert not errors, "\n".join(str(error) for error in errors[:3])


def test_the_description_is_a_schema_of_its_time():
    assert DESCRIPTION["openapi"].startswith("3.1")
    for schema in DESCRIPTION["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    names = [operation["operationId"] for path in DESCRIPTION["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names))


def test_every_answer_is_as_described(web):
    web.remember("ana", "Likes tea", "2026-03-01", 0)
    web.remember("ana", "likes tea.", "2026-03-02", 0, 0.01)
    web.remember("ana", "Rent is due on the 3rd", "2026-03-03", 2)
    web.remember("ana", "Rent is due on the 4th", "2026-03-04", 2, 0.01)
    for i, (old, new) in enumerate([("cola", "coffee"), ("milk", "water"), ("juice", "beer")]):
        user = ["ana", "ben", "cleo"][i]
        web.remember(user, f"Favourite drink is {old}", "2026-01-05", 4)
        web.remember(user, f"Favourite drink is {new}", "2026-02-05", 5)
    api = Described(web)
    assert api("get", "/api/v1/openapi.json") == DESCRIPTION
    ana = api("post", "/api/v1/users/find", {"user": "ana"})["id"]
    assert len(api("get", "/api/v1/users/{user}/plan", user=ana)["merges"]) == 1
    assert api("get", "/api/v1/users/{user}/skipped", user=ana)["reasons"]
    api("post", "/api/v1/users/{user}/requests", status=202, user=ana)
    until("ana is merged", lambda: len(web.texts("ana")) == 5)
    merges = until("the merge is listed", lambda: api("get", "/api/v1/users/{user}/merges", user=ana)["merges"])
    assert merges[0]["before"] and merges[0]["after"]
    assert api("get", "/api/v1/merges")["merges"] == merges
    merge = merges[0]["merge_id"]
    api("get", "/api/v1/merges/{merge}", merge=merge)
    assert api("post", "/api/v1/merges/{merge}/undo", merge=merge)["undone"][0]["merge_id"] == merge
    assert api("get", "/api/v1/merges/{merge}", merge=merge)["state"] == "undone"
    for user, decision in [
        ("ana", {"decision": "latest"}),
        ("ben", {"decision": "keep", "reason": "both"}),
        ("cleo", {"decision": "text", "text": "Favourite drink is beer"}),
    ]:
        id_ = api("post", "/api/v1/users/find", {"user": user})["id"]
        (conflict,) = api("get", "/api/v1/users/{user}/conflicts", user=id_)["conflicts"]
        path, parts = "/api/v1/users/{user}/conflicts/{conflict}/decision", {"user": id_, "conflict": conflict["id"]}
        # A text that leaves something out is refused.
        api("post", path, decision, status=409 if user == "cleo" else 200, **parts)
    assert api("get", "/api/v1/users")["total"] == 3
    api("get", "/api/v1/users/{user}", user=ana)
    api("get", "/api/v1/metrics")
    until("a run is told", lambda: api("get", "/api/v1/status")["runs"])
    described = {(method, path) for path, operations in DESCRIPTION["paths"].items() for method in operations}
    assert api.asked == described


@pytest.mark.parametrize("path", list(DESCRIPTION["paths"]))
def test_every_problem_is_as_described(web, path):
    api = Described(web)
    parts = {"user": "0123456789ab", "merge": "01M", "conflict": "x"}
    for method, operation in DESCRIPTION["paths"][path].items():
        api(method, path, status=401, token=None, **parts)
        if "{" in path:
            body = {"decision": "latest"} if path.endswith("decision") else None
            api(method, path, body, status=404, **parts)
