"""Windows of words, with true contexts and sampled negatives."""
import random

import numpy as np
import tensorflow as tf


def build_vocabulary(lines):
    words = {word for line in lines for word in line.split()}
    return {word: number for number, word in enumerate(words, start=1)}


def encode(line, vocab):
    return [vocab[word] for word in line.split()]


def positive_pairs(sequence, window):
    for i, target in enumerate(sequence):
        reach = random.randint(1, window)
        for j in range(max(0, i - reach), min(len(sequence), i + reach + 1)):
            if i != j:
                yield target, sequence[j]


def generate_training_data(sequences, vocab_size, window, num_ns):
    targets, contexts, labels = [], [], []
    for sequence in sequences:
        for target, context in positive_pairs(sequence, window):
            context_class = tf.reshape(tf.constant([context], dtype="int64"), (1, 1))
            negatives, _, _ = tf.random.log_uniform_candidate_sampler(
                true_classes=context_class,
                num_true=1,
                num_sampled=num_ns,
                unique=True,
                range_max=vocab_size,
                name="negative_sampling",
            )
            targets.append(target)
            contexts.append(np.concatenate([[context], negatives.numpy()]))
            labels.append([1.0] + [0.0] * num_ns)
    return np.array(targets), np.array(contexts), np.array(labels, "float32")
