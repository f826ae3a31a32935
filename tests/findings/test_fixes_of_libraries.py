"""Fixes of what libraries draw: environments, `random_state`, and the system's entropy."""

from __future__ import annotations

import pytest
from proposing import fixed, line_of, program

from twinrun.findings.fixes import propose

AGENT = """
    import gymnasium as gym


    def play(env):
        state, _ = env.reset()
        return env.step(env.action_space.sample())


    env = gym.make("CartPole-v1")
    for episode in range(9):
        play(env)
"""


def test_an_environment_is_seeded_once_where_it_is_made() -> None:
    after = fixed("TW103", AGENT, "env.reset()", safe=True)
    assert after == program(AGENT).replace('-v1")\n', '-v1")\nenv.reset(seed=42)\n')


def test_its_action_space_is_seeded_below() -> None:
    reset = fixed("TW103", AGENT, "env.reset()")
    both = propose("TW103", "train.py", line_of(reset, "action_space.sample"), reset)
    assert both is not None and both.fixed == program(AGENT).replace(
        '-v1")\n', '-v1")\nenv.reset(seed=42)\nenv.action_space.seed(42)\n'
    )


def test_a_reset_that_runs_once_takes_the_seed_itself() -> None:
    source = "import gymnasium as gym\n\nenv = gym.make('x')\nstate, info = env.reset()\n"
    assert fixed("TW103", source, "reset()") == source.replace("reset()", "reset(seed=42)")


def test_an_environment_that_an_object_keeps_is_seeded_there() -> None:
    source = """
        import gymnasium as gym


        class Agent:
            def __init__(self):
                self.env = gym.make("x")

            def play(self):
                self.env.reset()
    """
    after = fixed("TW103", source, "self.env.reset()")
    assert after == program(source).replace('make("x")\n', 'make("x")\n        self.env.reset(seed=42)\n')


def test_the_space_of_vector_environments_is_seeded_below_the_line_that_makes_them() -> None:
    source = "import gymnasium as gym\n\nenvs = gym.make_vec('x', num_envs=2)\nenvs.reset(seed=1)\n"
    fix = propose("TW103", "train.py", 3, source)
    assert fix is not None and "envs.reset(seed=1)\nenvs.action_space.seed(42)\n" in fix.fixed


def test_an_environment_of_ones_own_passes_its_seed_on() -> None:
    source = """
        import gymnasium as gym


        class Maze(gym.Env):
            def reset(self, *, seed=None, options=None):
                self.place = self.np_random.integers(9)
                return self.place, {}
    """
    after = fixed("TW103", source, "self.np_random")
    assert after == program(source).replace(
        "options=None):\n", "options=None):\n        super().reset(seed=seed)\n"
    )


@pytest.mark.parametrize(
    "body",
    [
        "for env in envs:\n    env.reset()\n",
        "def play(env):\n    env.reset()\n",
        "env = a()\nenv = b()\nwhile True:\n    env.reset()\n",
        "env.reset(seed=1)\n",
        "env.reset(**options)\n",
    ],
)
def test_an_environment_whose_making_is_not_seen_is_left_alone(body: str) -> None:
    source = f"import gymnasium as gym\n\n{body}"
    line = next(n for n, text in enumerate(source.splitlines(), 1) if "reset" in text)
    assert propose("TW103", "train.py", line, source) is None


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("x = train_test_split(a, test_size=0.2)", "x = train_test_split(a, test_size=0.2, random_state=42)"),
        ("x = frame.sample(frac=1.0)", "x = frame.sample(frac=1.0, random_state=42)"),
        ("x = norm.rvs(size=3)", "x = norm.rvs(size=3, random_state=42)"),
    ],
)
def test_a_library_that_no_seed_of_the_program_can_reach_gets_its_random_state(line: str, after: str) -> None:
    """The program imports neither NumPy nor Keras: nothing of it could be seeded without a new import."""
    source = f"from sklearn.model_selection import train_test_split\n\n{line}\n"
    assert fixed("TW102", source, line) == source.replace(line, after)


def test_an_estimator_gets_its_random_state_where_it_is_made() -> None:
    source = (
        "from sklearn.linear_model import SGDClassifier\n\nmodel = SGDClassifier(alpha=1)\nmodel.fit(x, y)\n"
    )
    assert fixed("TW102", source, "fit(x, y)") == source.replace("alpha=1", "alpha=1, random_state=42")


def test_one_seed_of_numpy_serves_all_of_them() -> None:
    source = "import numpy as np\nimport pandas as pd\n\nx = pd.read_csv('x').sample(3)\nprint(x)\n"
    fix = propose("TW102", "train.py", 4, source)
    assert fix is not None and fix.after == "np.random.seed(42)"


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("key = uuid.uuid4().hex", "key = uuid.UUID(int=random.getrandbits(128), version=4).hex"),
        ("key = os.urandom(8)", "key = random.randbytes(8)"),
        ("key = secrets.token_hex(4)", "key = random.randbytes(4).hex()"),
        ("key = secrets.choice(names)", "key = random.choice(names)"),
    ],
)
def test_entropy_is_drawn_from_what_a_seed_reaches(line: str, after: str) -> None:
    source = f"import os\nimport secrets\nimport uuid\n\n{line}\n"
    assert fixed("TW108", source, line, safe=False) == f"import random\n{source.replace(line, after)}"


def test_augmentation_and_samplers_get_a_seed() -> None:
    source = "import albumentations as A\n\naugment = A.Compose([A.HorizontalFlip()])\n"
    fix = propose("TW103", "train.py", 3, source)
    assert fix is not None and fix.after == "augment = A.Compose([A.HorizontalFlip()], seed=42)"
    assert propose("TW103", "train.py", 3, fix.fixed) is None


def test_a_composition_that_is_made_again_and_again_would_start_over_with_a_seed() -> None:
    source = (
        "import albumentations as A\n\ndef augment(x):\n    return A.Compose([A.Blur()])(image=x)\n\n"
        "for x in xs:\n    augment(x)\n"
    )
    fix = propose("TW103", "train.py", 4, source)
    assert fix is not None and not fix.safe and "at every call of augment()" in fix.note


def test_a_transform_in_no_composition_is_seeded_where_it_is_made() -> None:
    source = "import albumentations as A\n\nflip = A.HorizontalFlip(p=0.5)\n"
    fix = propose("TW103", "train.py", 3, source)
    assert fix is not None and fix.fixed == f"{source}flip.set_random_seed(42)\n"
