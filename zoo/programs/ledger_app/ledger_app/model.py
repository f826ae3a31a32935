import keras


def build(width):
    init = keras.initializers.GlorotUniform
    model = keras.Sequential([
        keras.Input((2,)),
        keras.layers.Dense(width, activation="tanh", kernel_initializer=init(seed=1)),
        keras.layers.Dense(1, activation="sigmoid", kernel_initializer=init(seed=2)),
    ])
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
    return model
