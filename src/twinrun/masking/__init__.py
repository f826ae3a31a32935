"""Keeps credentials out of everything that is written: results, recordings, baselines, environments. Imports nothing of
Twinrun's, so that every part of it can mask what it makes.

`mask` is for a text, `mask_arguments` for a command line, `Masked` for a type whose values are written down."""

from twinrun.masking.arguments import mask_arguments
from twinrun.masking.text import MASK, mask, mask_tokens, strip_url, strip_user_info
from twinrun.masking.values import NO_SECRETS, Masked, Secrets, each_text, masked

__all__ = [
    "MASK", "NO_SECRETS", "Masked", "Secrets", "each_text", "mask", "mask_arguments", "mask_tokens", "masked",
    "strip_url", "strip_user_info",
]  # fmt: skip
