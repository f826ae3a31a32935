import argparse
import hashlib

import tf_keras as keras

from tabular import make_net, make_table


def parse():
    parser = argparse.ArgumentParser(description="Train a small regressor on a synthetic table")
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--columns", type=int, default=5)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--data-seed", type=int, default=None)
    return parser.parse_args()


def main():
    args = parse()
    keras.utils.set_random_seed(321)
    x, y = make_table(args.rows, args.columns, args.data_seed)
    net = make_net(args.columns, args.width)
    history = net.fit(x, y, batch_size=32, epochs=args.epochs, verbose=0)
    print("loss:", ", ".join(f"{value:.5f}" for value in history.history["loss"]))
    print("checksum", hashlib.sha256(b"".join(w.tobytes() for w in net.get_weights())).hexdigest()[:32])


if __name__ == "__main__":
    main()
