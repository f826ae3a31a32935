"""twinrun.ResumeState in `fit`: all of it. `handler=1` ends training on SIGTERM, as programs that may be stopped do; `slow=FILE` makes
each save take long, and writes a line to the file where a save was left half done."""

import pathlib
import signal
import time

from common import EPOCHS, argument, data, model

import twinrun

network = model()
if argument("handler", 0):
    signal.signal(signal.SIGTERM, lambda *_: setattr(network, "stop_training", True))
if seen := argument("slow", ""):
    replace = pathlib.Path.replace

    def slowly(path, target):
        time.sleep(0.5)
        return replace(path, target)

    pathlib.Path.replace = slowly
    if pathlib.Path("saved/.state.npz.partial").exists():
        with open(seen, "a") as file:
            print("half a save", file=file)
state = twinrun.ResumeState("saved/state.npz", data(), every=argument("every", 1))
network.fit(state.data, epochs=EPOCHS, verbose=0, callbacks=[state])
