KINDS = ["chair", "table", "lamp", "shelf", "stool", "desk"]


def records(count):
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        yield {
            "kind": kind,
            "parent": "furniture" if kind != "lamp" else None,
            "height": 40 + (i * 13) % 90,
            "weight": 1 + (i * 7) % 30,
            "price": 10 + (i * 29) % 400,
        }
