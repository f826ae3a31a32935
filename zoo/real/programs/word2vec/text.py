"""A toy corpus: who does what where."""

WHO = ["the baker", "a sailor", "my sister", "the old king", "our teacher", "a young fox"]
DOES = ["sings", "waits", "dances", "reads a letter", "counts coins", "looks around"]
WHERE = ["in the garden", "by the sea", "at the market", "under a tree", "on the bridge"]


def sentences():
    lines = []
    for i, who in enumerate(WHO):
        for j, does in enumerate(DOES):
            where = WHERE[(i * 2 + j) % len(WHERE)]
            lines.append(f"{who} {does} {where}")
    return lines * 2
