"""Two transactions at the same time."""

import threading
import time

from store.verbs import rows

PATIENCE = 20


def wait_until_someone_waits(place):
    """Until a transaction of the store waits for another. SQLite does not tell; there both orders must do."""
    end = time.monotonic() + PATIENCE
    store = place.open()
    while place.engine == "postgres" and not rows(store, "select 1 from pg_locks where not granted"):
        assert time.monotonic() < end, "nobody waits"


class Meanwhile(threading.Thread):
    """Something done in a thread of its own; `outcome` is what it gave or raised."""

    def __init__(self, work):
        super().__init__(daemon=True)
        self.work = work
        self.outcome = None
        self.start()

    def run(self):
        try:
            self.outcome = self.work()
        except Exception as error:
            self.outcome = error

    def result(self):
        self.join(PATIENCE)
        assert not self.is_alive()
        return self.outcome
