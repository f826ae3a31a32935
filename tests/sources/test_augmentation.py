"""Libraries that augment images: named with the user's own line, confirmed, and pinned.

The libraries themselves are too large to be installed for this. In their place are small packages with their modules,
classes and attributes, as far as randomness is concerned: those of albumentations 2.0.8 and 1.4.10, and of imgaug 0.4.0."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import check, twinrun, write

INTERFACE = """
import random
import numpy as np

class BasicTransform:
    def __init__(self, p=0.5):
        self.p = p
        self.set_random_seed(None)
    def set_random_seed(self, seed):
        self.random_generator = np.random.default_rng(seed)
        self.py_random = random.Random(seed)
    def __call__(self, image):
        return image + self.random_generator.normal(size=image.shape) if self.py_random.random() < self.p else image

class GaussNoise(BasicTransform):
    def __init__(self, p=1.0):
        super().__init__(p)

def validated(original_init):
    def custom_init(self, *args, **kwargs):
        original_init(self, *args, **kwargs)
    return custom_init

GaussNoise.__init__ = validated(GaussNoise.__init__)
"""
COMPOSITION = """
import random
import numpy as np

class BaseCompose:
    def __init__(self, transforms, p, seed=None):
        self.transforms, self.p = transforms, p
        self.set_random_seed(seed)
    def set_random_seed(self, seed):
        self.random_generator = np.random.default_rng(seed)
        self.py_random = random.Random(seed)
        for transform in self.transforms:
            transform.set_random_seed(seed)

class Compose(BaseCompose):
    def __init__(self, transforms, p=1.0, seed=None):
        super().__init__(transforms, p, seed)
    def __call__(self, image):
        for transform in self.transforms if self.py_random.random() < self.p else ():
            image = transform(image)
        return image
"""
ALBUMENTATIONS_1 = """
import random
import numpy as np

class GaussNoise:
    def __call__(self, image):
        state = np.random.RandomState(random.randint(0, (1 << 32) - 1))
        return image + state.normal(size=image.shape)

class Compose:
    def __init__(self, transforms):
        self.transforms = transforms
    def __call__(self, image):
        for transform in self.transforms if random.random() < 1.0 else ():
            image = transform(image)
        return image
"""
IMGAUG = """
import numpy as np

GLOBAL_RNG = None

def get_global_rng():
    global GLOBAL_RNG
    if GLOBAL_RNG is None:
        seed = np.random.randint(0, 2**31 - 1)
        GLOBAL_RNG = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
    return GLOBAL_RNG

class GaussNoise:
    def __init__(self):
        self.random_state = get_global_rng()
    def __call__(self, image):
        return image + self.random_state.normal(size=image.shape)

def Compose(augmenters):
    return augmenters[0]
"""
LIBRARIES = {
    "albumentations 2": {
        "albumentations/__init__.py": "from .core.composition import *\nfrom .core.transforms_interface import *\n",
        "albumentations/core/__init__.py": "",
        "albumentations/core/composition.py": COMPOSITION,
        "albumentations/core/transforms_interface.py": INTERFACE,
    },
    "albumentations 1": {"albumentations/__init__.py": ALBUMENTATIONS_1},
    "imgaug": {"imgaug/__init__.py": IMGAUG},
}
PROGRAM = """
import {module} as A
import numpy as np
import twinrun

augment = A.Compose(  # made
    [
        A.GaussNoise(),  # noise
    ]{seed}
)
for _ in range(3):
    twinrun.probe("image", augment(np.zeros((4, 4))))  # called
"""


def installed(folder: Path, library: str) -> dict[str, str]:
    """The environment in which the library can be imported."""
    for name, text in LIBRARIES[library].items():
        file = folder / "site-packages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return {"PYTHONPATH": str(folder / "site-packages")}


def program(library: str, seed: str = "") -> str:
    return PROGRAM.format(module=library.partition(" ")[0], seed=seed)


@pytest.mark.parametrize(
    ("library", "code", "mark", "message", "fix"),
    [
        ("albumentations 2", "TW103", "# made",
         "albumentations augments without a seed", "seed=42"),
        ("albumentations 1", "TW101", "# called",
         "albumentations draws from Python's global stream, which is not seeded", "seeds Python's random"),
        ("imgaug", "TW102", "# noise",
         "imgaug draws from NumPy's global stream, which is not seeded", "np.random.seed(42)"),
    ],
    ids=list(LIBRARIES),
)  # fmt: skip
def test_a_library_that_augments_without_a_seed_is_named_and_pinned(
    tmp_path: Path, library: str, code: str, mark: str, message: str, fix: str
) -> None:
    environment, text = installed(tmp_path, library), program(library)
    script = write(tmp_path, text)
    document = twinrun("check", "--output-format", "json", script, env=environment).document
    (found,) = document["findings"]
    line = next(number for number, each in enumerate(text.splitlines(), 1) if mark in each)
    assert (document["verdict"], found["code"], found["line"]) == ("diverges", code, line)
    assert found["confirmed"] and found["message"] == message and fix in found["fix"]
    assert check(script, "--pin", env=environment).document["verdict"] == "repeats"


def test_transforms_that_get_the_seed_of_their_composition_made_none_without(tmp_path: Path) -> None:
    environment = installed(tmp_path, "albumentations 2")
    script = write(tmp_path, program("albumentations 2", ", seed=7"))
    document = twinrun("doctor", "--output-format", "json", script, env=environment).document
    assert document["controls"]["library-generators"]["state"] == "none made"
