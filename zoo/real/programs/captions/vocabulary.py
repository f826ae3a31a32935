"""The words that captions are made of."""


def load(path):
    with open(path, encoding="utf-8") as file:
        words = {line.strip().lower() for line in file if line.strip()}
    return {word: i for i, word in enumerate(words)}
