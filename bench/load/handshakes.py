#!/usr/bin/env python3
"""Full TLS handshakes, one after the other on several processes: handshakes.py PORT PATH SECONDS.

Each request opens its own connection, offers no session and closes it after the answer. Prints one
line of JSON: answers, failures, how many sessions were resumed all the same (must be 0), the
99th percentile of the time from connect to the answer's end, and what was negotiated.
"""

import json
import multiprocessing
import socket
import ssl
import sys
import time

# More than one, so that a handshake's waiting overlaps with the next one's arithmetic.
PROCESSES = 4


def exchange(context, port, path):
    """One connection with one request; returns whether it resumed, and what was negotiated."""
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), 10) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with context.wrap_socket(plain, suppress_ragged_eofs=True) as secure:
            secure.sendall(request)
            answer = b""
            while piece := secure.recv(65536):
                answer += piece
            if not answer.startswith(b"HTTP/1.1 200"):
                raise OSError(f"answered {answer[:40]!r}")
            return secure.session_reused, f"{secure.version()} {secure.cipher()[0]}"


def run(port, path, seconds):
    """Exchanges until the time is over."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    times, resumed, failed, negotiated = [], 0, 0, ""
    end = time.monotonic() + seconds
    while (begin := time.monotonic()) < end:
        try:
            reused, negotiated = exchange(context, port, path)
        except OSError:
            failed += 1
            continue
        resumed += reused
        times.append(time.monotonic() - begin)
    return times, resumed, failed, negotiated


def main():
    """Runs the processes and adds up what they saw."""
    port, path, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    with multiprocessing.Pool(PROCESSES) as pool:
        parts = pool.starmap(run, [(port, path, seconds)] * PROCESSES)
    times = sorted(time for part in parts for time in part[0])
    print(json.dumps({
        "requests": len(times),
        "failed": sum(part[2] for part in parts),
        "resumed": sum(part[1] for part in parts),
        "p99_ms": times[int(len(times) * 0.99)] * 1000 if times else None,
        "negotiated": parts[0][3],
    }))


if __name__ == "__main__":
    main()
