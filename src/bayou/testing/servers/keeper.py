"""Keep one server alive for exactly as long as somebody holds the other end of our standard input.

Run as a script: `keeper.py FOLDER COMMAND…`. The command runs inside the folder; both are gone once standard input
ends. The kernel closes a pipe however its holder ends, so a test run that is killed outright leaves no server behind.
(A parent-death signal would not do: it follows the thread that started the process, and exists on Linux only.)
"""

import os
import shutil
import signal
import subprocess
import sys
import threading


def keep(folder: str, command: list[str]) -> None:
    """Run the command until it ends or is no longer wanted, then remove whatever is left of it."""
    server = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL)  # noqa: S603 - what the test helper asked for
    unwanted = threading.Event()

    def watch() -> None:
        sys.stdin.buffer.read()
        unwanted.set()
        server.kill()  # throwaway data: nothing is worth a slow shutdown

    threading.Thread(target=watch, daemon=True).start()
    status = server.wait()
    if unwanted.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"[ended by itself with status {status}]", flush=True)  # noqa: T201 - into the server's own output
    os.killpg(0, signal.SIGKILL)  # what the server started, and this process


if __name__ == "__main__":
    keep(sys.argv[1], sys.argv[2:])
