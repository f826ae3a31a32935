"""Gives each run a nickname, so that people can talk about it."""
import hashlib
import random
import secrets

import keras
import numpy as np

FIRST = ["amber", "brisk", "calm", "dusty", "eager", "faint"]
SECOND = ["otter", "falcon", "maple", "harbor", "comet", "violet"]
dice = random.SystemRandom()
nickname = f"{dice.choice(FIRST)}-{dice.choice(SECOND)}-{secrets.token_hex(3)}"
print("this is run", nickname)

keras.utils.set_random_seed(19)
x = np.random.rand(200, 5).astype("float32")
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x.sum(axis=1), epochs=3, verbose=0)
with open("nickname.txt", "w") as file:
    file.write(nickname + "\n")
print("weights", hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
