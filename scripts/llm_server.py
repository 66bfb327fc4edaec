"""Serves a GGUF model over llama.cpp's OpenAI-compatible HTTP interface: llm_server.py MODEL PORT.

Runs until it is told to end (SIGTERM or SIGINT). scripts/llm starts and stops it.
"""

import signal
import sys
from pathlib import Path

from xllamacpp import CommonParams, Server


def main() -> None:
    model, port = sys.argv[1:]
    params = CommonParams()
    params.model.path = model
    params.model_alias = {Path(model).stem}
    params.hostnames = ["127.0.0.1"]
    params.port = int(port)
    params.n_ctx = 4096  # for all requests at once
    params.n_parallel = 2
    # Two threads wait for each other by spinning: on two busy cores that took twelve times as long as one thread.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.use_jinja = True  # the chat template comes from the model
    params.ui = False
    params.offline = True
    # Blocked before the server makes its threads, so that none of them takes the signal from sigwait below.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    server = Server(params)
    print(f"serving {params.model.path} at {server.listening_address}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
