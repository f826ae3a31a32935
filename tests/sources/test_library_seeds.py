"""Calls of libraries that leave out their seed: named with the user's own line and what to write, confirmed, and pinned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import LIBRARIES, check, twinrun, write
from twinrun.knowledge.library_seeds import seedless

WITH_LIBRARIES = {"PYTHONPATH": str(LIBRARIES)}
needs_libraries = pytest.mark.skipif(
    not LIBRARIES.is_dir(), reason="gymnasium, pandas and the like are not installed here"
)

CARTPOLE = """
import gymnasium as gym
import twinrun
env = gym.make("CartPole-v1")
{before}
obs, _ = {reset}
for _ in range(20):
    obs, *_ = env.step({action})
    twinrun.probe("obs", obs)
twinrun.probe("reset again", env.reset()[0])
"""
OWN_ENVIRONMENT = """
import gymnasium as gym
import numpy as np
import twinrun

class Walk(gym.Env):
    observation_space = gym.spaces.Box(-10, 10, (1,))
    action_space = gym.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed={handed_on})
        self.at = self.np_random.uniform()  # draws
        return np.array([self.at]), {{}}

class Doubled(gym.Wrapper):
    def reset(self, **kwargs):
        obs, info = self.env.reset(**kwargs)
        return obs * 2, info

def episode(env):
    return env.reset({seed})[0]  # resets

twinrun.probe("obs", episode(Doubled(Walk())))
"""
WORKERS = """
import gymnasium as gym
import twinrun
if __name__ == "__main__":
    envs = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="async")
    obs, _ = envs.reset()  # resets
    twinrun.probe("obs", obs)
    twinrun.probe("reset again", envs.reset()[0])
    envs.close()
"""
SPLIT = """
import numpy as np
from sklearn.model_selection import train_test_split
import twinrun
train, test = train_test_split(np.arange(40.0))  # guilty
twinrun.probe("train", train)
"""
FOREST = """
import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
import twinrun
x = np.arange(40.0).reshape(20, 2)
trees = ExtraTreesRegressor(n_estimators=3)
trees.fit(x, x[:, 0] % 3)  # guilty
twinrun.probe("predicted", trees.predict(x + 0.5))
"""
FRAME = """
import pandas as pd
import twinrun
rows = pd.DataFrame({"a": range(40)}).sample(frac=1.0)  # guilty
twinrun.probe("rows", rows["a"].to_numpy())
"""
NORMAL = """
from scipy import stats
import twinrun
twinrun.probe("noise", stats.norm(0, 1).rvs(5))  # guilty
"""
SOBOL = """
from scipy.stats import qmc
import twinrun
points = qmc.Sobol(d=2)  # guilty
twinrun.probe("points", points.random(4))
"""


def cartpole(*, reset: str = "env.reset()", action: str = "0", before: str = "") -> str:
    return CARTPOLE.format(reset=reset, action=action, before=before)


def own_environment(*, handed_on: str = "seed", seed: str = "") -> str:
    return OWN_ENVIRONMENT.format(handed_on=handed_on, seed=seed)


def named(program: Path) -> list[tuple[str, int, str, str]]:
    """Code, line, message and fix of what was found, all of it confirmed."""
    found = twinrun("check", "--output-format", "json", program, env=WITH_LIBRARIES).document
    assert found["verdict"] == "diverges", found
    assert all(finding["confirmed"] for finding in found["findings"]), found["findings"]
    return [(each["code"], each["line"], each["message"], each["fix"]) for each in found["findings"]]


def line(program: str, part: str) -> int:
    return next(number for number, text in enumerate(program.splitlines(), 1) if part in text)


@needs_libraries
@pytest.mark.parametrize(
    ("program", "code", "mark", "message", "fix"),
    [
        (cartpole(), "TW103", "env.reset()", "environment is reset without a seed", "env.reset(seed=42)"),
        (cartpole(reset="env.reset(seed=1)", action="env.action_space.sample()"), "TW103", "sample()",
         "space is sampled without a seed", "env.action_space.seed(42)"),
        (own_environment(), "TW103", "# resets", "is reset without a seed", "env.reset(seed=42)"),
        (own_environment(handed_on="None", seed="seed=1"), "TW103", "# draws",
         "draws before it is given a seed", "super().reset(seed=seed)"),
        (WORKERS, "TW103", "# resets", "is reset without a seed", "envs.reset(seed=42)"),
        pytest.param(SPLIT, "TW102", "# guilty", "train_test_split shuffles without random_state", "", marks=pytest.mark.slow),
        (FOREST, "TW102", "# guilty", "scikit-learn's fit draws without random_state", ""),
        (FRAME, "TW102", "# guilty", "pandas's sample draws without random_state", "random_state=42"),
        pytest.param(NORMAL, "TW102", "# guilty", "SciPy's rvs draws without random_state", "random_state=42", marks=pytest.mark.slow),
        pytest.param(SOBOL, "TW103", "# guilty", "SciPy makes a generator without a seed", "rng=42", marks=pytest.mark.slow),
    ],
    ids=["reset", "sample", "own environment", "seed not handed on", "workers", "split", "fit", "frame", "rvs", "sobol"],
)  # fmt: skip
def test_a_call_without_its_seed_is_named(
    tmp_path: Path, program: str, code: str, mark: str, message: str, fix: str
) -> None:
    script = write(tmp_path, program)
    ((found, at, said, advice),) = named(script)
    assert (found, at) == (code, line(program, mark))
    assert message in said and fix in advice


TOGETHER = "".join(
    [
        cartpole(),
        cartpole(reset="env.reset(seed=1)", action="env.action_space.sample()"),
        own_environment(),
        own_environment(handed_on="None", seed="seed=1"),
        SPLIT,
        FOREST,
        FRAME,
        NORMAL,
        SOBOL,
    ]
)


@needs_libraries
@pytest.mark.parametrize("program", [TOGETHER, WORKERS], ids=["together", "workers"])
def test_pinned_they_repeat(tmp_path: Path, program: str) -> None:
    assert check(write(tmp_path, program), "--pin", env=WITH_LIBRARIES).document["verdict"] == "repeats"


@needs_libraries
def test_what_is_reset_and_what_is_sampled_are_two_causes(tmp_path: Path) -> None:
    program = cartpole(action="env.action_space.sample()")
    found = named(write(tmp_path, program))
    assert {(code, at) for code, at, *_ in found} == {
        ("TW103", line(program, "env.reset()")),
        ("TW103", line(program, "sample()")),
    }


@needs_libraries
def test_an_environment_that_was_given_its_seed_once_is_no_cause(tmp_path: Path) -> None:
    seeded = {"reset": "env.reset(seed=1)", "before": "env.action_space.seed(1)"}
    script = write(tmp_path, cartpole(action="env.action_space.sample()", **seeded))
    assert check(script, env=WITH_LIBRARIES).document["verdict"] == "repeats"


def controls(*words: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = twinrun("doctor", "--output-format", "json", *words, env=WITH_LIBRARIES).document[
        "controls"
    ]
    return found


@needs_libraries
def test_generators_of_libraries_are_read_back(tmp_path: Path) -> None:
    script = write(tmp_path, cartpole())
    plain, pinned = (controls(*words, script)["library-generators"] for words in ((), ("--pin",)))
    assert (plain["state"], plain["ok"], plain["set_by"]) == ("1 made without a seed", False, "default")
    assert (pinned["state"], pinned["ok"], pinned["set_by"]) == ("1 seeded", True, "twinrun")


@pytest.mark.parametrize(
    ("library", "function", "expected"),
    [
        ("sklearn", "make_blobs", "write make_blobs(…, random_state=42)"),
        ("sklearn", "fit_transform", "give the estimator random_state=42 where it is made"),
        ("sklearn", "split", "give the splitter random_state=42 where it is made"),
        ("scipy", "differential_evolution", "give it rng=42 (seed=42 before SciPy 1.15)"),
        ("gym", "sample", "call env.action_space.seed(42) before the first sample()"),
        (
            "albumentations",
            "__init__",
            "write A.Compose(…, seed=42), or call set_random_seed(42) on what is made here",
        ),
    ],
)
def test_what_to_write_depends_on_the_function(library: str, function: str, expected: str) -> None:
    known = seedless(library, function)
    assert known is not None and known.write == expected


def test_nothing_is_claimed_about_other_libraries() -> None:
    assert seedless("", "") is None and seedless("pandas", "read_csv") is None
    assert seedless("albumentations", "__call__") is None  # release 1 has no seed to give
