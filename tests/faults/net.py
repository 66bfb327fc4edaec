"""What stands between the workers and the world: ways to the servers that can be cut, and an LLM that can fail.

Both run in one thread of their own.
"""

import asyncio
import json
import random
import re
import threading
from collections.abc import Callable

from cluster import NAME


class Net:
    """The thread with its event loop."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def soon(self, function: Callable, *args):
        self.loop.call_soon_threadsafe(function, *args)


class Way:
    """The way of one worker: a Sentinel that names the primary, and a port for each server, both of the worker's own.

    The worker asks the Sentinel as it does anywhere; what it is told is the port that leads to the server, so that its
    connections can be cut. Without a Sentinel, the first port is all that there is.
    """

    def __init__(self, net: Net, servers: list[int], sentinel: int | None = None):
        self.net = net
        self.open: set[asyncio.StreamWriter] = set()
        # Bytes of answers that still pass; then all connections end, in the middle of an answer.
        self.cut_after: int | None = None
        # Called when so many commands with this word have passed.
        self.watch: tuple[bytes, int, Callable] | None = None
        # The ports of this way by those of the servers.
        self.ports = {server: net.call(self._listen(server, self._answered)) for server in servers}
        self.sentinel = net.call(self._listen(sentinel, self._named)) if sentinel else None

    def url(self) -> str:
        if self.sentinel:
            return f"redis+sentinel://127.0.0.1:{self.sentinel}/{NAME}"
        return f"redis://127.0.0.1:{next(iter(self.ports.values()))}"

    async def _listen(self, to: int, answered: Callable[[bytes], bytes]) -> int:
        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
            await self._carry(to, answered, reader, writer)

        server = await asyncio.start_server(carry, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def _carry(
        self,
        to: int,
        answered: Callable[[bytes], bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ):
        try:
            up, down = await asyncio.open_connection("127.0.0.1", to)
        except OSError:
            writer.transport.abort()
            return
        self.open |= {writer, down}
        commands = asyncio.create_task(self._pump(reader, down, self._sent))
        answers = asyncio.create_task(self._pump(up, writer, answered))
        await asyncio.wait({commands, answers}, return_when=asyncio.FIRST_COMPLETED)
        self.open -= {writer, down}
        for end in (writer, down):
            end.transport.abort()
        commands.cancel()
        answers.cancel()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, look: Callable[[bytes], bytes]):
        try:
            while data := await reader.read(1 << 16):
                writer.write(look(data))
                await writer.drain()
        except OSError:
            pass

    def _sent(self, data: bytes) -> bytes:
        if self.watch and self.watch[0] in data:
            word, left, act = self.watch
            self.watch = (word, left - 1, act) if left > 1 else None
            if left <= 1:
                act()
        return data

    def _answered(self, data: bytes) -> bytes:
        if self.cut_after is None:
            return data
        passes, self.cut_after = data[: self.cut_after], self.cut_after - len(data)
        if self.cut_after < 0:
            self.cut_after = None
            # A little later, so that the part of the answer is on its way.
            self.net.loop.call_later(0.001, self._hang_up)
        return passes

    def _named(self, data: bytes) -> bytes:
        """The Sentinel's answer with the port of this way in place of the server's."""
        for server, own in self.ports.items():
            named, here = str(server).encode(), str(own).encode()
            data = data.replace(b"$%d\r\n%s\r\n" % (len(named), named), b"$%d\r\n%s\r\n" % (len(here), here))
        return data

    def _hang_up(self):
        for writer in self.open:
            writer.transport.abort()

    def cut(self, after: int):
        """Ends all connections after so many more bytes of answers."""
        self.cut_after = after

    def when(self, word: bytes, count: int, act: Callable):
        """Calls `act` just before the server gets the command with `word`, for the `count`th time."""
        self.watch = (word, count, act)


class Llm:
    """Joins memories of one form (`X likes Y`, `X likes Y with A`, `X likes Y with B`) as it is asked to; `failing` is the share of
    questions to which it gives no answer, or a bad one."""

    SENTENCE = re.compile(r"^(\S+ likes .*?)(?: with (.*?))?\.?$")

    def __init__(self, net: Net, seed: int):
        self.random = random.Random(seed)
        self.failing = 0.0
        self.asked = self.failed = 0
        self.port = net.call(self._listen())

    async def _listen(self) -> int:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1]) if length else 0)
                await asyncio.sleep(self.random.uniform(0, 0.1))
                answer = await self._answer(json.loads(body))
                if answer is None:
                    break
                status, content = answer
                writer.write(
                    b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
                    % (status, len(content))
                    + content
                )
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, ValueError):
            pass
        writer.transport.abort()

    async def _answer(self, question: dict) -> tuple[int, bytes] | None:
        """Status and body; None = it hangs up."""
        self.asked += 1
        user = question["messages"][1]["content"]
        memories = json.loads(user[user.index("[\n") : user.index("\n]") + 2])
        texts, ids = [memory["text"] for memory in memories], [memory["id"] for memory in memories]
        if self.random.random() >= self.failing:
            return 200, completion(self._same(texts, ids))
        self.failed += 1
        match self.random.randrange(8):
            case 0:
                return 500, b'{"error": {"message": "not now"}}'
            case 1:
                return 429, b'{"error": {"message": "too many"}}'
            case 2:
                await asyncio.sleep(self.random.uniform(0, 3))
                return None
            case 3:
                return 200, completion("")
            case 4:
                return 200, completion("I cannot help with that.")
            case 5:
                return 200, completion(self._same(texts, ids)[:-9])
            case 6:  # it leaves one memory out
                return 200, completion(self._same(texts[1:], ids))
            case _:  # it makes one up
                return 200, completion(self._same([*texts, f"{texts[0].split(' with ')[0]} with zqinventedk"], ids))

    def _same(self, texts: list[str], ids: list[str]) -> str:
        """The answer that the memories are one, and what they say together; or that they differ."""
        found = [self.SENTENCE.match(text) for text in texts]
        if not texts or not all(found) or len({match[1] for match in found}) != 1:
            return answer("different", "they differ", [])
        words = dict.fromkeys(word for match in found if match[2] for word in match[2].split(", "))
        return answer("same", f"{found[0][1]} with {', '.join(words)}" if words else found[0][1], ids)


def answer(verdict: str, text: str, ids: list[str]) -> str:
    facts = [{"text": text, "sources": ids}] if ids else []
    return json.dumps({"verdict": verdict, "text": text, "facts": facts, "superseded": [], "left_out": []})


def completion(content: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 0, "completion_tokens": 9}}).encode()
