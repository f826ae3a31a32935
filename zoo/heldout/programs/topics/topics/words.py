DOCUMENTS = [
    "ice on the lake and snow on the pines", "the mill grinds flour for the village",
    "snow fell and the road was closed", "flour and water and a little salt",
    "pines bend under the snow", "salt the bread and grind the corn",
] * 10


def vocabulary(documents, least=2):
    unique = set()
    for document in documents:
        unique.update(document.split())
    frequent = {word for word in unique if sum(word in d.split() for d in documents) >= least}
    return {word: i for i, word in enumerate(sorted(frequent))}


def count(documents, vocab):
    rows = []
    for document in documents:
        row = [0.0] * len(vocab)
        for word in set(document.split()) & vocab.keys():
            row[vocab[word]] += 1.0
        rows.append(row)
    return rows
