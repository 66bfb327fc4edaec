"""An agent that does not stop for memfold: it stores, repeats, rewrites and starts again while memories are merged."""

import json
import random
import threading
import time

from recipe import Agent, MemoryType
from store import documents, indexed

SUBJECTS = ["tea", "coffee", "juice", "milk", "water", "soup", "bread", "cheese", "apples", "plums", "rice", "fish"]
TOWNS = ["Ghent", "Porto", "Lyon", "Turku", "Graz", "Leiden"]


class BusyAgent(threading.Thread):
    """Writes as fast as it can; `facts` are the texts that must be found in the end."""

    def __init__(self, agent: Agent, seed: int):
        super().__init__()
        self.agent = agent
        self.random = random.Random(seed)
        self.facts: set[str] = set()
        self.stored: list[str] = []
        self.rewritten = 0
        self.stopping = threading.Event()
        self.error: Exception | None = None

    def run(self):
        try:
            while not self.stopping.is_set():
                self.step()
        except Exception as error:  # told to the test, which a thread cannot fail
            self.error = error

    def step(self):
        chance = self.random.random()
        if chance < 0.8 or not self.stored:
            text = f"User buys {self.random.choice(SUBJECTS)} in {self.random.choice(TOWNS)}"
            # A thread makes the agent store repetitions.
            self.agent.store_memory(text, MemoryType.SEMANTIC, "tyler", f"t-{self.random.random()}")
            self.facts.add(text)
            self.stored.append(text)
        elif chance < 0.97:
            self.rewrite()
        else:
            self.agent.start()

    def rewrite(self):
        """Another text in a memory that is there, in one command: what memfold read of it before is not true any more."""
        keys = [key for key in self.agent.redis.scan_iter(match="memory:*")]
        if not keys:
            return
        key = self.random.choice(keys)
        text = f"User no longer shops, note {self.rewritten}"
        change = {"content": text, "embedding": self.agent.embed(text)}
        # Only if it is still there: it would be no rewriting otherwise.
        script = """
        if redis.call('EXISTS', KEYS[1]) == 0 then return false end
        local old = redis.call('JSON.GET', KEYS[1], '$.content')
        redis.call('JSON.MERGE', KEYS[1], '$', ARGV[1])
        return old
        """
        old = self.agent.redis.eval(script, 1, key, json.dumps(change))
        if old is not None:
            self.rewritten += 1
            self.facts.add(text)
            # The agent gave this text up, unless it stands elsewhere as well; a merged memory stood for all of them.
            self.facts.discard(json.loads(old)[0])


def test_nothing_is_lost_under_an_agent_that_goes_on_writing(redis, agent, memfold):
    agent.redis.json()  # sets how this client reads answers, which must not happen while it is in use
    busy = BusyAgent(agent, seed=7)
    busy.start()
    merged = runs = 0
    deadline = time.monotonic() + 15
    try:
        while time.monotonic() < deadline or merged < 5:
            # 3: just then there was no index, or it was being built. 4: a memory changed meanwhile.
            output = memfold("merge", "--user", "tyler", "--json", codes=(0, 3, 4, 8))
            users = json.loads(output)["users"] if output else []
            merged += sum(len(report.get("merged", [])) for report in users)
            runs += 1
            assert runs < 200, "memfold does not get to merge anything"
    finally:
        busy.stopping.set()
        busy.join()
    assert busy.error is None
    assert busy.rewritten > 0

    texts = {document.fields()["content"] for document in documents(redis).values()}
    assert busy.facts - texts == set()
    # Once all is quiet, what is left to merge is merged, and every memory is found.
    memfold.merge("tyler")
    found = documents(redis)
    texts = [document.fields()["content"] for document in found.values()]
    assert busy.facts <= set(texts)
    assert len(texts) == len(set(texts))
    assert indexed(redis) == found.keys()
