"""The order of samples as a pure function. Knows numbers and keys; refuses to know files, tokens or batches.

Which sample comes at which place depends on (fingerprint of the data, seed, epoch, index) and nothing else: there is no
generator to store, and neither batch size, worker count nor a restart can change the order. The place is one integer.
"""

import hashlib

import numpy as np

ROUNDS = 8
MAX_COUNT = 2**62


def key(*parts: str | int) -> str:
    """One digest of several parts; no two different lists of parts give the same text to digest.

    The name of a part's type is in the digest, so a number of numpy or a truth value would give another one.
    """
    assert all(type(part) in (str, int) for part in parts), f"expected str and int, found {parts!r}"
    text = "".join(f"{type(part).__name__}:{len(str(part))}:{part}," for part in parts)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def numbers(key: str | bytes, count: int) -> np.ndarray:
    """Numbers of 64 bits drawn from a key."""
    data = key.encode("utf-8") if isinstance(key, str) else key
    return np.frombuffer(hashlib.shake_256(data).digest(8 * count), "<u8").astype(np.uint64)


def permuted(indices: np.ndarray, count: int, key: str | bytes) -> np.ndarray:
    """Where a keyed permutation of range(count) sends some indices. Costs nothing but the indices asked for."""
    return _permuted(np.asarray(indices), count, numbers(key, ROUNDS)[:, None])


def _permuted(indices: np.ndarray, count: int, keys: np.ndarray) -> np.ndarray:
    """A Feistel network over the next power of four; what falls outside range(count) is sent through again.

    `keys` has a row for each round, and one column for all indices or a column for each. Walking on along a cycle of a
    permutation until it is back inside a subset is itself a permutation of the subset (Black and Rogaway, 2002).
    """
    if not 1 <= count <= MAX_COUNT:
        raise ValueError(f"cannot permute {count} things")
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        raise ValueError(f"expected indices from 0 to {count - 1}, found {indices.min()} to {indices.max()}")
    half = np.uint64(max(1, ((count - 1).bit_length() + 1) // 2))
    result = indices.astype(np.uint64).ravel()
    columns = np.broadcast_to(keys, (len(keys), result.size))
    outside = np.arange(result.size)
    while outside.size:
        result[outside] = _feistel(result[outside], half, columns[:, outside])
        outside = outside[result[outside] >= count]
    return result.astype(np.int64).reshape(indices.shape)


def _feistel(values: np.ndarray, half: np.uint64, keys: np.ndarray) -> np.ndarray:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = values >> half, values & mask
    for row in keys:
        left, right = right, left ^ (mixed(right + row) & mask)
    return (left << half) | right


def mixed(x: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64 (Steele et al., 2014): every bit of the input stirs every bit of the output."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class WindowOrder:
    """Which window of a stream of tokens is the i-th sample.

    In an epoch the stream is cut into `per_epoch` windows of `context` tokens, and one more token to predict:

        tokens  0 … phase | window | window | … | window | left over

    The phase differs from epoch to epoch, so that windows begin anywhere and every token is met; so does the order of
    the windows. A stream too short for one window is itself the only window.
    """

    def __init__(self, tokens: int, context: int, fingerprint: str, seed: int):
        if tokens < 1 or context < 1:
            raise ValueError(f"expected at least 1 token and a context of at least 1, found {tokens} and {context}")
        self.tokens, self.context, self.fingerprint, self.seed = tokens, context, fingerprint, seed
        # One window fewer than would fit leaves room for the phase to range over a whole window and more.
        self.per_epoch = max(1, tokens // context - 1)
        self.slack = max(0, tokens - 1 - self.per_epoch * context)

    def starts(self, indices: np.ndarray) -> np.ndarray:
        """Where in the stream samples begin, for global sample numbers 0, 1, 2, …"""
        epochs, within = np.divmod(np.asarray(indices, np.int64), self.per_epoch)
        unique, column = np.unique(epochs, return_inverse=True)
        drawn = [numbers(key(self.fingerprint, self.seed, int(epoch)), ROUNDS + 1) for epoch in unique]
        keys = np.array(drawn, np.uint64).reshape(-1, ROUNDS + 1).T[:, column.ravel()]
        phase = (keys[ROUNDS] % np.uint64(self.slack + 1)).astype(np.int64).reshape(epochs.shape)
        return phase + self.context * _permuted(within, self.per_epoch, keys[:ROUNDS])
