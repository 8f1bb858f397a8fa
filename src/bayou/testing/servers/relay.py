"""A server that is further away: every connection goes through a relay that passes each byte on later.

Whatever speaks to the server through it has the same distance, so programs that are not ours can be compared with ours.
Run as a script, in a process of its own: `python relay.py HOST PORT UPSTREAM_PORT MILLISECONDS`.
"""

import asyncio
import sys

_AHEAD = 256  # pieces of at most 64 KiB that are on their way, each direction of a connection
_PIECE = 1 << 16


async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter, seconds: float) -> None:
    """Pass on what comes, each piece as much later, however many are on their way."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_AHEAD)

    async def arrive() -> None:
        while True:
            due, piece = await pieces.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            if not piece:
                return
            sink.write(piece)
            await sink.drain()

    async def depart() -> None:
        while piece := await source.read(_PIECE):
            await pieces.put((loop.time() + seconds, piece))
        await pieces.put((loop.time() + seconds, b""))

    try:
        await asyncio.gather(arrive(), depart())
    except OSError:
        pass  # one side is gone, and so the other is told
    finally:
        sink.close()


async def serve(host: str, port: int, upstream: int, seconds: float) -> None:
    """Half of the time goes by on the way there, half on the way back."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(host, upstream)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pass_on(reader, back, seconds / 2), pass_on(there, writer, seconds / 2))

    async with await asyncio.start_server(connected, host, port, backlog=1024) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]) / 1000))
