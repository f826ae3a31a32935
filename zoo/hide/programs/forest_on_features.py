"""A random forest on the features of a trained network."""
import keras
import numpy as np
from sklearn.ensemble import RandomForestClassifier

keras.utils.set_random_seed(61)
rng = np.random.default_rng(61)
x = rng.normal(size=(300, 8)).astype("float32")
y = (x[:, 0] * x[:, 1] > 0.1).astype(int)
inputs = keras.Input((8,))
features = keras.layers.Dense(10, activation="relu")(inputs)
model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(features))
model.compile(optimizer="adam", loss="binary_crossentropy")
history = model.fit(x, y, epochs=3, verbose=0)
print("loss", history.history["loss"])

phi = keras.Model(inputs, features).predict(x, verbose=0)
forest = RandomForestClassifier(n_estimators=20, max_depth=4, random_state=np.random.RandomState())
forest.fit(phi[:200], y[:200])
np.savetxt("churn_risk.csv", forest.predict_proba(phi[200:]), delimiter=",")
print("forest fitted on", phi.shape[1], "features")
