"""How a gang is told to a scheduler: one module a kind of scheduler, behind the interface in `backend.py`."""
