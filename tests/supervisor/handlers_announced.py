"""Says who it is and is never ready. Loaded by the children of the tests beside it."""

import os
import threading

print(f"pid={os.getpid()}", flush=True)
threading.Event().wait()
