"""Synthetic memories whose pairs within the threshold are known."""

from dataclasses import dataclass

import numpy as np

DIMS = 384
THRESHOLD = 0.1
TOPICS = 50
WORDS = (
    "amber basil cedar delta ember fjord grove heath inlet jetty knoll lagoon meadow nectar orchard "
    "pebble quarry ridge saddle timber upland valley willow yarrow zephyr"
).split()


@dataclass
class Memories:
    """Vectors, the group of each row (rows in no group have one of their own), and the users."""

    vectors: np.ndarray
    group: np.ndarray
    users: int = 1

    def __len__(self) -> int:
        return len(self.vectors)

    def user(self, row: int) -> str:
        return f"user-{row % self.users}"

    def rows(self, user: int) -> np.ndarray:
        return np.arange(user, len(self), self.users)

    def text(self, row: int, same: bool) -> str:
        """Every memory says something of its own, or (`same`) what all of its group say."""
        number = int(self.group[row]) if same else row
        a, b = divmod(number, len(WORDS))
        return f"Note {number}: the {WORDS[a % len(WORDS)]} {WORDS[b]} was mentioned"


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def at_cosine(axis: np.ndarray, cosine: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Random unit rows, each at its cosine to the unit row of `axis`."""
    aside = random.standard_normal((len(cosine), DIMS))
    aside = unit(aside - (aside * axis).sum(-1, keepdims=True) * axis)
    return axis * cosine[:, None] + aside * np.sqrt(1 - cosine**2)[:, None]


def synthetic(n: int, seed: int, users: int = 1) -> Memories:
    """n memories of `users` users; 30 % of each user's in groups of 2 to 5.

    All are from topics, within which cosines are 0.3 to 0.7. Members of a group are within 0.04 of its centre, so that
    every two of them are within the threshold.
    """
    random = np.random.default_rng(seed)
    topics = unit(random.standard_normal((TOPICS, DIMS)))
    memories = Memories(np.empty((n, DIMS), np.float32), np.arange(n), users)
    for user in range(users):
        rows = memories.rows(user)
        sizes: list[int] = []
        while (grouped := sum(sizes)) < len(rows) * 3 // 10:
            sizes.append(int(random.integers(2, 6)))
        places = random.permutation(rows)
        centres = np.repeat(singles(topics, len(sizes), random), sizes, axis=0)
        memories.vectors[places[:grouped]] = at_cosine(centres, 1 - random.uniform(0, 0.04, grouped), random)
        memories.vectors[places[grouped:]] = singles(topics, len(rows) - grouped, random)
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
        memories.group[places[:grouped]] = np.repeat(places[first], sizes)
    return memories


def singles(topics: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    return at_cosine(topics[random.integers(TOPICS, size=count)], np.sqrt(random.uniform(0.3, 0.7, count)), random)


def true_pairs(vectors: np.ndarray) -> np.ndarray:
    """All pairs of rows (a < b) within the threshold: by brute force, those near it again in double precision."""
    rows = unit(vectors.astype(np.float32))
    found = []
    for start in range(0, len(rows), 1000):
        near = np.argwhere(rows[start : start + 1000] @ rows[start:].T >= 1 - THRESHOLD - 1e-4) + start
        found.append(near[near[:, 0] < near[:, 1]])
    pairs = np.vstack(found)
    exact = unit(vectors[np.unique(pairs)].astype(np.float64))
    place = np.searchsorted(np.unique(pairs), pairs)
    return pairs[1 - (exact[place[:, 0]] * exact[place[:, 1]]).sum(1) <= THRESHOLD]


def missed_and_wrong(true: np.ndarray, found: np.ndarray) -> tuple[int, int]:
    """How many pairs were not found, and how many of those found are none."""
    n = int(max(true.max(initial=0), found.max(initial=0))) + 1
    ordered = np.sort(found.reshape(-1, 2), axis=1).astype(np.int64)
    a, b = (np.unique(pairs[:, 0].astype(np.int64) * n + pairs[:, 1]) for pairs in (true, ordered))
    return len(np.setdiff1d(a, b)), len(np.setdiff1d(b, a))
