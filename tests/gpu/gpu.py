"""How a program gets the GPU, which is hidden from all other tests."""

from __future__ import annotations

# Two twins share it, and each would otherwise take all of its memory.
GPU = {"CUDA_VISIBLE_DEVICES": "0", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
