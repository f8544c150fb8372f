"""Access tokens of bots: made here, shown once, kept as a digest only."""

import hashlib
import hmac
import secrets


def new_token() -> str:
    """A token of 192 random bits that needs no quoting in a URL or a header."""
    return secrets.token_urlsafe(24)


def hash_token(token: str) -> str:
    """SHA-256 in hex: a random token is long enough that a plain digest can't be searched."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def matches(bot_hash: str, token: str) -> bool:
    """Whether `token` is the one behind `bot_hash`, in constant time; an empty hash fits nothing."""
    return bool(bot_hash) and hmac.compare_digest(bot_hash, hash_token(token))
