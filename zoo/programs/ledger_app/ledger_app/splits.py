"""Rows of the ledger, split into training and validation parts."""
import random


def read_rows(count=160):
    return [[(i * 37 % 101) / 101.0, (i * 17 % 89) / 89.0, float(i % 2)] for i in range(count)]


def split(rows, fraction=0.8):
    rows = list(rows)
    random.shuffle(rows)
    cut = int(len(rows) * fraction)
    return rows[:cut], rows[cut:]
