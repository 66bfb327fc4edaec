"""A real embedding server: multilingual-e5-small behind OpenAI's protocol."""

import json
import urllib.request
from dataclasses import dataclass


@dataclass
class E5:
    url: str
    dims: int = 384

    def embed_all(self, texts: list[str]) -> list[list[float]]:
        body = json.dumps({"model": "e5-query", "input": texts}).encode()
        request = urllib.request.Request(f"{self.url}/embeddings", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return [item["embedding"] for item in json.load(answer)["data"]]

    def embed(self, text: str) -> list[float]:
        return self.embed_all([text])[0]
