"""The recipe itself, without memfold: what the other tests build on is so."""

import pytest
from recipe import EDITIONS, MemoryType
from redisvl.exceptions import RedisSearchError
from store import documents, indexed

SEMANTIC = MemoryType.SEMANTIC


@pytest.mark.parametrize("edition", EDITIONS, ids=lambda edition: edition.name)
def test_what_the_agent_stores_it_finds(redis, new_agent, edition):
    agent = new_agent(edition)
    agent.store_memory("User prefers window seats on flights", SEMANTIC, "tyler", metadata='{"source": "chat"}')
    [memory] = agent.retrieve_memories("Which seat does the user want?", SEMANTIC, "tyler", distance_threshold=0.9)
    assert memory.content == "User prefers window seats on flights"
    assert memory.metadata == '{"source": "chat"}'
    assert (memory.user_id, memory.memory_type) == ("tyler", SEMANTIC)
    shape = "memory::" if edition.double_separator else "memory:"
    assert memory.id.startswith(shape) and len(memory.id) == len(shape) + 26
    assert memory.id.removeprefix(shape) != str(memory.memory_id)
    assert indexed(redis) == {memory.id.encode()}


@pytest.mark.parametrize("edition", EDITIONS, ids=lambda edition: edition.name)
def test_a_repetition_is_stored_once_without_a_thread_and_again_with_one(redis, new_agent, edition):
    agent = new_agent(edition)
    for _ in range(3):
        agent.store_memory("User prefers window seats on flights", SEMANTIC, "tyler")
    assert len(documents(redis)) == 1
    for thread in ("t-1", "t-2"):
        agent.store_memory("User prefers window seats on flights", SEMANTIC, "tyler", thread_id=thread)
    assert len(documents(redis)) == 3


@pytest.mark.parametrize("edition", EDITIONS, ids=lambda edition: edition.name)
def test_what_becomes_of_the_thread(redis, new_agent, edition):
    new_agent(edition).store_memory("User prefers window seats", SEMANTIC, "tyler", thread_id="t-1")
    [stored] = documents(redis).values()
    assert stored.fields().get("thread_id") == ("t-1" if edition.keeps_thread else None)


def test_the_tool_stores_for_everybody_and_no_json(redis, agent):
    config = {"configurable": {"user_id": "tyler"}}
    agent.store_memory_tool("User likes hiking", SEMANTIC, {"source": "chat", "confidence": "high"}, config)
    [stored] = documents(redis).values()
    body = stored.fields()
    assert body["user_id"] == "system"
    assert body["metadata"] == "{'source': 'chat', 'confidence': 'high'}"
    assert "User likes hiking" in agent.retrieve_memories_tool("User likes hiking", [SEMANTIC])


def test_the_agent_cannot_read_the_memories_of_an_address(redis, agent):
    agent.store_memory("User likes hiking", SEMANTIC, "alice@example.com")
    assert len(documents(redis)) == 1
    with pytest.raises(RedisSearchError, match="(?i)syntax error"):
        agent.retrieve_memories("User likes hiking", SEMANTIC, "alice@example.com")
