"""Prints what every racing pipeline gives once it is repeatable, with a given number of parallel calls.

python streams.py CALLS
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))

import example_pipelines

import twinrun


def main() -> None:
    calls = int(sys.argv[1])
    found = {}
    for name, build in example_pipelines.RACING.items():
        made = twinrun.repeatable(build(calls), seed=11)
        print_of = twinrun.data_fingerprint(made, epochs=2)
        found[name] = [[epoch.ordered, epoch.elements] for epoch in print_of.epochs]
    racing = twinrun.data_fingerprint(example_pipelines.RACING["random_op_in_parallel_map"](calls))
    sys.stdout.write("\n" + json.dumps({"streams": found, "not repeatable": racing.ordered}) + "\n")


if __name__ == "__main__":
    main()
