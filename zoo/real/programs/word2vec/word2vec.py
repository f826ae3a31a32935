"""Skip-gram with negative sampling, in the manner of the TensorFlow word2vec tutorial."""
import hashlib

import tensorflow as tf
from tensorflow.keras import layers

from text import sentences
from windows import build_vocabulary, encode, generate_training_data

BATCH_SIZE = 128
BUFFER_SIZE = 4000
EMBEDDING_DIM = 16
NUM_NS = 4


class Word2Vec(tf.keras.Model):
    def __init__(self, vocab_size, embedding_dim):
        super().__init__()
        self.target_embedding = layers.Embedding(vocab_size, embedding_dim, name="w2v_embedding")
        self.context_embedding = layers.Embedding(vocab_size, embedding_dim)

    def call(self, pair):
        target, context = pair
        if len(target.shape) == 2:
            target = tf.squeeze(target, axis=1)
        word_emb = self.target_embedding(target)
        context_emb = self.context_embedding(context)
        return tf.einsum("be,bce->bc", word_emb, context_emb)


def main():
    lines = sentences()
    vocab = build_vocabulary(lines)
    sequences = [encode(line, vocab) for line in lines]
    targets, contexts, labels = generate_training_data(sequences, len(vocab) + 1, window=2, num_ns=NUM_NS)
    print("targets", targets.shape, "contexts", contexts.shape)

    dataset = tf.data.Dataset.from_tensor_slices(((targets, contexts), labels))
    dataset = dataset.shuffle(BUFFER_SIZE).batch(BATCH_SIZE, drop_remainder=True)
    dataset = dataset.cache().prefetch(tf.data.AUTOTUNE)

    word2vec = Word2Vec(len(vocab) + 1, EMBEDDING_DIM)
    word2vec.compile(
        optimizer="adam",
        loss=tf.keras.losses.CategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    history = word2vec.fit(dataset, epochs=6, verbose=0)
    print("loss", [repr(v) for v in history.history["loss"]])
    weights = word2vec.get_layer("w2v_embedding").get_weights()[0]
    print("final weights", hashlib.sha256(weights.tobytes()).hexdigest()[:20])


if __name__ == "__main__":
    main()
