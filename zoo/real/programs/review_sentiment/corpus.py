"""Makes short reviews out of templates."""
import random

GOOD = ["lovely", "bright", "clever", "warm", "brave", "gripping", "tender", "fresh"]
BAD = ["dull", "tired", "clumsy", "cold", "empty", "noisy", "slow", "stale"]
THINGS = ["plot", "cast", "music", "ending", "dialogue", "camera", "pace", "story"]
FILLERS = ["really", "quite", "somehow", "often", "truly"]


def reviews(count):
    texts, labels = [], []
    for i in range(count):
        label = i % 2
        adjectives = GOOD if label else BAD
        words = ["the", THINGS[i % 8], "was", FILLERS[i % 5], adjectives[(i // 3) % 8]]
        words += ["and", "the", THINGS[(i * 7 + 3) % 8], "felt", adjectives[(i // 5) % 8]]
        texts.append(" ".join(words))
        labels.append(label)
    return texts, labels


def mix(texts, labels):
    pairs = list(zip(texts, labels))
    random.shuffle(pairs)
    return [text for text, _ in pairs], [label for _, label in pairs]
