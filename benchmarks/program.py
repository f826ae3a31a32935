"""A plain program for the whole-check measurement: trains for some steps, without Twinrun.

python program.py WORKLOAD STEPS
"""

import sys

import keras
from models import WORKLOADS

keras.utils.set_random_seed(1)
workload = WORKLOADS[sys.argv[1]]
workload.make().fit(workload.data(), steps_per_epoch=int(sys.argv[2]), epochs=1, verbose=0)
