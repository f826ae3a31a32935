import hashlib

from .network import network
from .series import load_series
from .settings import DEFAULTS, set_seeds


def main(settings):
    set_seeds(settings["seed"])
    x, y = load_series(settings["window"])
    network.fit(x, y, epochs=settings["epochs"], batch_size=settings["batch"], verbose=0)
    print("mse", network.evaluate(x, y, verbose=0))
    weights = b"".join(w.tobytes() for w in network.get_weights())
    print("checksum", hashlib.sha256(weights).hexdigest()[:20])


if __name__ == "__main__":
    main(DEFAULTS)
