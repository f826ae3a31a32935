"""Checks the settings of a training job and stops before it would start."""
import argparse
import json
import sys

DEFAULTS = {"rate": 0.01, "epochs": 10, "batch": 32, "layers": [16, 8]}


def problems(settings):
    if settings["rate"] <= 0:
        yield "rate must be positive"
    if settings["batch"] % 8:
        yield "batch should be a multiple of 8"
    if not settings["layers"]:
        yield "no layers"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=DEFAULTS["rate"])
    parser.add_argument("--batch", type=int, default=DEFAULTS["batch"])
    args = parser.parse_args()
    settings = DEFAULTS | {"rate": args.rate, "batch": args.batch}
    found = list(problems(settings))
    for problem in found:
        print("problem:", problem, file=sys.stderr)
    print("checksum", json.dumps(settings, sort_keys=True))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
