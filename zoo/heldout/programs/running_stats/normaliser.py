import json


class Normaliser:
    """Centres data with a mean that is kept over all runs and refined by each."""

    def __init__(self, path):
        self.path = path
        with open(path) as stream:
            state = json.load(stream)
        self.count, self.mean = state["count"], state["mean"]

    def update(self, values):
        total = self.count + len(values)
        self.mean += (float(values.mean()) - self.mean) * len(values) / total
        self.count = total
        with open(self.path, "w") as stream:
            json.dump({"count": self.count, "mean": self.mean}, stream)

    def __call__(self, values):
        return values - self.mean
