"""A whole run with secrets all around it: recording, baseline and result are searched for each of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from test_environment_secrets import KINDS, NEEDLES

PROGRAM = """
import keras
import numpy as np

keras.utils.set_random_seed(7)
x = np.ones((8, 2), "float32")
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x[:, :1], verbose=0)
"""


def test_neither_recording_nor_baseline_nor_result_holds_a_secret(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    remote = f"https://x-token:{KINDS['github token']}@example.com/project.git"
    subprocess.run(["git", "remote", "add", "origin", remote], cwd=tmp_path, check=True)
    planted = {f"PLANTED_{number}": value for number, value in enumerate(KINDS.values())}
    planted |= {
        "GITHUB_TOKEN": KINDS["github fine-grained"],
        "XLA_FLAGS": "",
        "KMP_AFFINITY": KINDS["named password"],
    }
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        **planted,
        "TWINRUN_HOME": str(tmp_path / "recordings"),
    }
    secret_arguments = [word for value in KINDS.values() for word in ("--option", value)]
    command = [sys.executable, "-m", "twinrun", "baseline", "record", "--runs", "1", "--name", "kept"]
    command += ["--output-format", "json", "--output-file", "result.json"]
    done = subprocess.run(
        [*command, "train.py", *secret_arguments, "--password", "hunter2hunter2"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "result.json").read_text())["baseline"]["action"] == "recorded"
    written = [path for path in tmp_path.rglob("*") if path.is_file() and ".git" not in path.parts]
    assert {"manifest.json", "steps.sqlite", "result.json"} <= {path.name for path in written}
    assert any(path.parent.name == "kept" for path in written)
    for path in written:
        data = path.read_bytes()
        for kind, needle in NEEDLES.items():
            assert needle.encode() not in data, f"{kind} in {path.relative_to(tmp_path)}"
    for kind, needle in NEEDLES.items():
        assert needle not in done.stdout + done.stderr, f"{kind} on the terminal"
