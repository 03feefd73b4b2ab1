"""Waiting until the machine has come to rest."""

import os
import time

# Above this load average `measure.machine` warns that something else runs.
BUSY = 0.5
MOST_SECONDS, STEP_SECONDS = 300, 5


def wait(say):
    """Until the load average is not above BUSY, for MOST_SECONDS at most. It is a mean of more than the last minute: what was built
    or run just before is in it still."""
    for waited in range(0, MOST_SECONDS, STEP_SECONDS):
        busy = os.getloadavg()[0]
        if busy <= BUSY:
            return
        if not waited:
            say(f"the load average is {busy:.1f}: waiting until it is {BUSY}, {MOST_SECONDS // 60} minutes at most …")
        time.sleep(STEP_SECONDS)
