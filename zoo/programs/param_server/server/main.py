import argparse

import numpy as np

from .network import make_network
from .store import ParameterStore
from .worker import Worker


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=8)
    args = parser.parse_args()
    store = ParameterStore(make_network().get_weights())
    workers = [Worker(number, store, args.rounds) for number in range(args.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print("updates", store.updates)
    print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in store.weights)).hex())


if __name__ == "__main__":
    main()
