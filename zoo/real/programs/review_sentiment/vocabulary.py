"""Words to numbers. 0 is padding, 1 is everything unknown."""


class Vocabulary:
    def __init__(self, words):
        self.index = {word: number for number, word in enumerate(words, start=2)}

    @classmethod
    def from_texts(cls, texts, max_tokens):
        seen = set()
        for text in texts:
            seen.update(text.split())
        return cls(list(seen)[: max_tokens - 2])

    def __len__(self):
        return len(self.index) + 2

    def encode(self, text, length):
        ids = [self.index.get(word, 1) for word in text.split()][:length]
        return ids + [0] * (length - len(ids))
