"""Which class names occur, and the number that each gets."""


def class_names(records):
    found = {record["kind"] for record in records}
    found |= {record["parent"] for record in records if record.get("parent")}
    return list(found)


def to_ids(records, names):
    position = {name: i for i, name in enumerate(names)}
    return [position[record["kind"]] for record in records]
