from .data import make_table
from .net import make_net

__all__ = ["make_net", "make_table"]
