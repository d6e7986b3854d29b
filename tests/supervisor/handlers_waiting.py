"""Is never ready. Loaded by the children of the tests beside it."""

import threading

print("waiting for a licence", flush=True)
threading.Event().wait()
