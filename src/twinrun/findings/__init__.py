"""The single catalogue of causes: codes, names, pages, and the finding type that carries them."""
