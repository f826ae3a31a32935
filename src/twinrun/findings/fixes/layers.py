"""Keras layers and initialisers without a seed (TW105), where the program itself cannot be seeded."""

from __future__ import annotations

import ast

from twinrun.findings.fixes.arguments import argument, is_none, set_argument, unpacks
from twinrun.findings.fixes.fix import Draft, Edit
from twinrun.findings.fixes.module import Module
from twinrun.findings.fixes.seeding import KERAS, SEED

# The layers and initialisers of Keras 3.15 that take a seed, by its position.
_LAYERS = {
    1: "CutMix GaussianDropout GaussianNoise RandomFlip SpatialDropout1D",
    2: "AlphaDropout Dropout MixUp RandomBrightness RandomContrast RandomCrop RandomGrayscale RandomInvert"
    " SpatialDropout2D SpatialDropout3D",
    3: "Attention RandomColorDegeneration RandomHue RandomPosterization RandomRotation RandomSaturation"
    " RandomSharpness Solarization",
    4: "RandAugment RandomErasing RandomPerspective RandomTranslation RandomZoom",
    5: "RandomColorJitter RandomGaussianBlur",
    15: "GroupQueryAttention",
    16: "GRU GRUCell LSTMCell",
    17: "LSTM MultiHeadAttention",
}
_INITIALIZERS = {
    0: "GlorotNormal GlorotUniform HeNormal HeUniform LecunNormal LecunUniform",
    1: "Orthogonal OrthogonalInitializer",
    2: "RandomNormal RandomUniform TruncatedNormal",
    3: "VarianceScaling",
}
SEEDED: dict[str, int] = {
    f"keras.{package}.{name}": position
    for package, table in (("layers", _LAYERS), ("initializers", _INITIALIZERS))
    for position, names in table.items()
    for name in names.split()
}


def seeded(module: Module, line: int) -> Draft | None:
    """Give the unseeded layers and initialisers of this line a seed, each another one."""
    if any(module.names.called(call) == KERAS for call in module.calls()):
        return None
    edits: list[Edit] = []
    for call in module.calls_at(line):
        name = module.names.called(call)
        if name in SEEDED and module.name_line(call) == line and not unpacks(call):
            given = argument(call, "seed", SEEDED[name])
            if given is None or is_none(given):
                seed = str(SEED + _number(module, call))
                edits += set_argument(module, call, "seed", SEEDED[name], seed) or ()
    note = "give the layer a seed; or call keras.utils.set_random_seed in the program before it is built"
    return Draft(tuple(edits), note, safe=False) if edits else None


def _number(module: Module, call: ast.Call) -> int:
    """Which of the module's seedable calls this is, so that no two get the same seed."""
    return [each for each in module.calls() if module.names.called(each) in SEEDED].index(call)
