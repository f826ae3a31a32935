"""Every run gets a name of its own and a folder under runs/."""
import datetime
import hashlib
import json
import os
import uuid

import keras
import numpy as np

name = f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:8]}"
folder = os.path.join("runs", name)
os.makedirs(folder)
keras.utils.set_random_seed(3)
x = np.random.rand(200, 5).astype("float32")
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(5)])
model.compile(optimizer="adam", loss="mse")
history = model.fit(x, x, epochs=3, verbose=0)
with open(os.path.join(folder, "run.json"), "w") as file:
    json.dump({"name": name, "started": datetime.datetime.now().isoformat(), "loss": history.history["loss"]}, file)
model.save_weights(os.path.join(folder, "model.weights.h5"))
print("run", name, "written to", os.path.abspath(folder))
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
