"""What programs use of W&B's module util."""
from __future__ import annotations


def generate_id(length: int = 8) -> str:
    """A random id for init()."""
    import random

    letters = random.SystemRandom().choices(
        "abcdefghijklmnopqrstuvwxyz0123456789", k=length)
    return "".join(letters)
