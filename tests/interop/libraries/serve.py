"""Lets a program with libraries of its own be called line by line: {"call": name, …arguments} in, {"result": …} out."""

import json
import sys
import traceback
from collections.abc import Callable


def serve(calls: dict[str, Callable]):
    """Answers until standard input ends. What the libraries print goes to standard error."""
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"result": calls[request.pop("call")](**request)}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=out, flush=True)
