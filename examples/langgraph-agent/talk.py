"""A user talks to the agent on five days and repeats herself; a memfold worker beside it folds what she said more than once.

    python talk.py --redis redis://localhost:6379 --llm http://localhost:11434/v1 --model qwen3 [--memory store|recipe]

Needs `memfold` on the PATH, and MEMFOLD_ONNXRUNTIME and MEMFOLD_MODEL_DIR as scripts/env says them. The memories stay in Redis.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from langchain_openai import ChatOpenAI

from agent import agent
from memory import MiniLM, RecipeMemory, StoreMemory

USER = "ana"
CHAT = json.loads((Path(__file__).parent / "chat.json").read_text())
# What she says on each day, and the words by which each of her facts is known.
DAYS, FACTS = CHAT["days"], CHAT["facts"]
QUESTIONS = ["Which seat should I book on a flight?", "What must I not eat or drink?", "Which pets do I have?"]
MODEL = "all-MiniLM-L6-v2-int8"


def main() -> int:
    options = arguments()
    embed = MiniLM(Path(os.environ["MEMFOLD_MODEL_DIR"]) / MODEL)
    memory = {"store": StoreMemory, "recipe": RecipeMemory}[options.memory](options.redis, embed)
    model = ChatOpenAI(base_url=options.llm, api_key=options.key, model=options.model, temperature=0, max_tokens=24)
    graph = agent(model, memory)

    def say(text: str, day: int) -> dict:
        at = datetime.now(UTC) - timedelta(days=len(DAYS) - day)
        thread = {"configurable": {"thread_id": f"{USER}-{day}"}}
        return graph.invoke({"user": USER, "at": at, "said": text}, thread)

    def ask() -> dict:
        turns = [say(question, len(DAYS)) for question in QUESTIONS]
        return {
            "memories": len(memory.everything(USER)),
            "memories retrieved": sum(len(turn["memories"]) for turn in turns),
            "facts among them": sum(facts(turn["memories"]) for turn in turns),
            "prompt tokens": sum(turn["tokens"] for turn in turns),
        }

    for day, said in enumerate(DAYS):
        print(f"day {day + 1}")
        for text in said:
            print(f"  {USER}: {text}\n  agent: {' '.join(say(text, day)['answer'].split())}")
    before = ask()
    folds(memory, options.redis)
    after = ask()

    print(f"\n{'':20}{'before':>8}{'after':>8}   (for the same {len(QUESTIONS)} questions)")
    for name in before:
        print(f"{name:20}{before[name]:>8}{after[name]:>8}")
    print("\nwhat the agent knows now:")
    for text in sorted(memory.everything(USER)):
        print(f"  {text}")
    return 0


def facts(memories: list[str]) -> int:
    """How many of her facts these memories hold."""
    return sum(any(fact in text for text in memories) for fact in FACTS)


def folds(memory, redis_url: str):
    """Runs a worker beside the agent until it has looked after the user. A real one runs all the time."""
    settings = {**os.environ, **memory.settings, "MEMFOLD_REDIS_URL": redis_url, "MEMFOLD_LOG": "warn"}
    worker = subprocess.Popen(["memfold", "worker"], env=settings)
    try:
        subprocess.run(["memfold", "request", "--user", USER], env=settings, check=True, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not runs(settings):
            if worker.poll() is not None or time.monotonic() > deadline:
                sys.exit("the worker did not look after the user; memfold doctor says what is missing")
            time.sleep(0.2)
    finally:
        worker.terminate()
        worker.wait()
    subprocess.run(["memfold", "history", "--user", USER], env=settings, check=True)


def runs(settings: dict) -> list:
    """The runs that merged something, when nothing waits any more."""
    status = subprocess.run(["memfold", "status", "--json"], env=settings, check=True, capture_output=True, text=True)
    status = json.loads(status.stdout)
    waits = any(group["pending"] or group["waiting"] for group in status["backlog"])
    return [] if waits else status["runs"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redis", default=os.environ.get("MEMFOLD_REDIS_URL", "redis://localhost:6379"))
    parser.add_argument("--llm", default="http://localhost:11434/v1", help="an OpenAI-compatible server")
    parser.add_argument("--model", default="qwen3", help="the model on it")
    parser.add_argument("--key", default=os.environ.get("OPENAI_API_KEY", "none"), help="its API key")
    parser.add_argument("--memory", choices=["store", "recipe"], default="store")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
