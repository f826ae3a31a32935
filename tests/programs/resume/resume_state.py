"""twinrun.ResumeState in `fit`: all of it."""

import sys

from common import EPOCHS, data, model

import twinrun

every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
state = twinrun.ResumeState("saved/state.npz", data(), every=every)
model().fit(state.data, epochs=EPOCHS, verbose=0, callbacks=[state])
