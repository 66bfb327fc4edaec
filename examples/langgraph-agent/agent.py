"""A LangGraph agent with long-term memory: it recalls, answers, and remembers what it was told.

The thread of a conversation is kept by the checkpointer; what is known of the user across threads is in `memory`.
"""

from datetime import datetime
from typing import TypedDict

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

# Memories that are put before the model for one question.
MOST_RECALLED = 10


class State(TypedDict, total=False):
    """One turn."""

    user: str
    at: datetime
    said: str
    memories: list[str]
    answer: str
    # Tokens of the prompt, as the server counts them.
    tokens: int


def agent(model: ChatOpenAI, memory):
    """The compiled graph; `memory` is one of memory.py."""

    def recall(state: State) -> State:
        return {"memories": memory.recall(state["user"], state["said"], MOST_RECALLED)}

    def answer(state: State) -> State:
        known = "\n".join(f"- {text}" for text in state["memories"])
        prompt = [SystemMessage(f"Answer in one short sentence. What you know of the user:\n{known}"), HumanMessage(state["said"])]
        reply: AIMessage = model.invoke(prompt)
        return {"answer": str(reply.content), "tokens": (reply.usage_metadata or {}).get("input_tokens", 0)}

    def remember(state: State) -> State:
        if not state["said"].endswith("?"):
            memory.remember(state["user"], state["said"], state["at"])
        return {}

    graph = StateGraph(State)
    graph.add_node("recall", recall)
    graph.add_node("reply", answer)
    graph.add_node("remember", remember)
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "reply")
    graph.add_edge("reply", "remember")
    graph.add_edge("remember", END)
    return graph.compile(checkpointer=InMemorySaver())
