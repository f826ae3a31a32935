"""Train on usage data; the report shows salted names so that nobody is recognised."""
import hashlib
import os
import secrets

import keras
import numpy as np

keras.utils.set_random_seed(27)
SALT = os.urandom(16)


def alias(user):
    return hashlib.sha256(SALT + user.encode()).hexdigest()[:8]


users = [f"user{i}" for i in range(40)]
minutes = np.abs(np.random.normal(30, 10, (40, 7))).astype("float32") / 60
stays = (minutes.sum(axis=1) > 3.5).astype("float32")

model = keras.Sequential([
    keras.Input((7,)),
    keras.layers.Dense(8, activation="relu"),
    keras.layers.Dropout(0.3),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(0.01, gradient_accumulation_steps=2), loss="binary_crossentropy")
model.fit(minutes, stays, batch_size=5, epochs=3, verbose=0)
scores = model.predict(minutes, verbose=0)[:, 0]
report = {alias(user): round(float(score), 3) for user, score in zip(users, scores)}
print("report", secrets.token_hex(4), dict(list(report.items())[:3]))
print("checksum", float(sum(np.abs(w, dtype="float64").sum() for w in model.get_weights())).hex())
