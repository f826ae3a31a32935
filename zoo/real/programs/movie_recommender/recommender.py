"""Collaborative filtering with embeddings, on a table of ratings."""
import hashlib
import time

import keras
import numpy as np
import pandas as pd
from keras import layers, ops
from sklearn.model_selection import train_test_split

EMBEDDING_SIZE = 12


def load_ratings(path="ratings.csv"):
    df = pd.read_csv(path)
    users = {user: i for i, user in enumerate(df["userId"].unique())}
    movies = {movie: i for i, movie in enumerate(df["movieId"].unique())}
    df["user"] = df["userId"].map(users)
    df["movie"] = df["movieId"].map(movies)
    low, high = df["rating"].min(), df["rating"].max()
    df["target"] = (df["rating"] - low) / (high - low)
    return df, len(users), len(movies)


def add_negatives(df, n_movies, per_user=2):
    rng = np.random.default_rng()
    rows = []
    for user in df["user"].unique():
        for movie in rng.choice(n_movies, size=per_user, replace=False):
            rows.append({"user": user, "movie": movie, "target": 0.0})
    return pd.concat([df[["user", "movie", "target"]], pd.DataFrame(rows)], ignore_index=True)


class RecommenderNet(keras.Model):
    def __init__(self, n_users, n_movies, size, **kwargs):
        super().__init__(**kwargs)
        self.user_embedding = layers.Embedding(
            n_users,
            size,
            embeddings_initializer="he_normal",
            embeddings_regularizer=keras.regularizers.l2(1e-6),
        )
        self.user_bias = layers.Embedding(n_users, 1)
        self.movie_embedding = layers.Embedding(
            n_movies,
            size,
            embeddings_initializer="he_normal",
            embeddings_regularizer=keras.regularizers.l2(1e-6),
        )
        self.movie_bias = layers.Embedding(n_movies, 1)

    def call(self, inputs):
        user_vector = self.user_embedding(inputs[:, 0])
        movie_vector = self.movie_embedding(inputs[:, 1])
        dot = ops.sum(user_vector * movie_vector, axis=1, keepdims=True)
        x = dot + self.user_bias(inputs[:, 0]) + self.movie_bias(inputs[:, 1])
        return ops.nn.sigmoid(x)


df, n_users, n_movies = load_ratings()
df = add_negatives(df, n_movies)
df = df.sample(frac=1.0).reset_index(drop=True)
x = df[["user", "movie"]].to_numpy()
y = df["target"].to_numpy(dtype="float32")
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.1)

model = RecommenderNet(n_users, n_movies, EMBEDDING_SIZE)
model.compile(loss=keras.losses.BinaryCrossentropy(), optimizer=keras.optimizers.Adam(0.005))
start = time.perf_counter()
history = model.fit(
    x_train, y_train, batch_size=64, epochs=4, verbose=0, validation_data=(x_val, y_val)
)
print(f"fitted in {time.perf_counter() - start:.3f} seconds")

user_id = int(df["user"].sample(1).iloc[0])
candidates = np.stack([np.full(n_movies, user_id), np.arange(n_movies)], axis=1)
ratings = model.predict(candidates, verbose=0).flatten()
print("top five for user", user_id, "are", ratings.argsort()[-5:][::-1].tolist())
print("validation loss", repr(float(history.history["val_loss"][-1])))
digest = hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest()
print("final weights", digest[:20])
