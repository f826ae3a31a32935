# %% arrays of scikit-learn and SciPy, and Keras layers with and without a seed
import numpy as np, random, time, os, queue, threading
import keras, tensorflow as tf
from sklearn.utils import shuffle, resample
from sklearn.datasets import make_blobs
import scipy.stats as st
from concurrent.futures import ThreadPoolExecutor
import multiprocessing as mp
x, y = make_blobs(100)  #! TW102
x = shuffle(x)
z = resample(x, y)
w = st.norm.rvs(size=3)
model = keras.Sequential()
model.add(keras.layers.Dense(3, kernel_initializer=keras.initializers.get("he_normal")))  #! TW105
model.add(keras.layers.Dropout(0.0))
model.add(keras.layers.Dropout(0.5, seed=3))
model.add(keras.layers.LSTM(3, dropout=0.1, kernel_initializer="zeros", recurrent_initializer="zeros"))
model.add(keras.layers.GaussianNoise(0.1))
model.add(keras.layers.RandomFlip("horizontal", 7))
model.compile("sgd", "mse")
model.fit(x, y, callbacks=[keras.callbacks.LearningRateScheduler(lambda e: random.random())])  #! TW101 TW201
model.fit(z[0], w)

# %% generator objects of every kind, and what is written into variables
import numpy as np, random, time
import tensorflow as tf
from sklearn.preprocessing import StandardScaler
g = tf.random.Generator.from_seed(int(time.time()))  #! TW303
h = tf.random.Generator.from_state([1,2,3], alg=1)
k = tf.random.get_global_generator()  #! TW103
a = g.normal([3]); b = h.uniform([3]); c = k.normal([2])
parts = k.split(2)
g.reset_from_seed(1)
tf.random.set_global_generator(h)
rng = np.random.Generator(np.random.PCG64())  #! TW103
ss = np.random.SeedSequence()  #! TW103
kids = [np.random.default_rng(s) for s in ss.spawn(3)]
v = tf.Variable(a); v2 = tf.Variable(b); v3 = tf.Variable(c)
v.assign(kids[0].normal(size=3))
v.assign(rng.permutation(5))
sr = random.SystemRandom().random()  #! TW108
v.assign(sr)
s = StandardScaler(); s.fit(np.random.rand(3))
loss = sum({"a","b"})
loss.backward()
random.seed(*[1]); np.random.set_state(np.random.get_state()); 
v.assign(random.random()); v.assign(np.random.rand())

# %% datasets and loaders of every library, with and without a shuffle
import tensorflow as tf, tensorflow_datasets as tfds, os, random, numpy as np, pathlib
from multiprocessing import Pool
import datasets as hub
import pandas as pd
df = pd.read_csv("x").sample(frac=1)  #! TW102
d = hub.load_dataset("x").shuffle()  #! TW201
d2 = hub.load_dataset("x").shuffle(seed=1)
gen = tf.keras.preprocessing.image.ImageDataGenerator().flow_from_directory("x")  #! TW201
gen2 = tf.keras.preprocessing.image.ImageDataGenerator().flow_from_directory("x", shuffle=False)
def work(a): return np.random.rand() + a  #! TW205
with Pool(4) as pool:
    res = pool.starmap(work, [(1,), (2,)])
    r2 = list(pool.imap_unordered(work, [1,2]))  #! TW205
    r3 = pool.apply_async(work, (3,)).get()
train, info = tfds.load("mnist", split=["train","test"], shuffle_files=True, with_info=True)  #! TW202
a, b = tf.keras.utils.split_dataset(train, shuffle=True)  #! TW201
c = tf.data.experimental.make_csv_dataset("x", 3)  #! TW201
i = tf.keras.utils.image_dataset_from_directory("x", subset="both", validation_split=0.1)  #! TW201
t = tf.keras.utils.timeseries_dataset_from_array(df, df, 3)
t2 = tf.keras.utils.timeseries_dataset_from_array(df, df, 3, shuffle=True)  #! TW201
files = tf.data.Dataset.list_files("x*", shuffle=None)  #! TW201
files2 = tf.data.Dataset.list_files(os.listdir("x"), shuffle=False)  #! TW302
m = tf.keras.Model(); m.fit(gen); m.fit(gen2); m.fit(d); m.fit(d2); m.fit(res); m.fit(r2); m.fit(r3); m.fit(df)
strategy = tf.distribute.MirroredStrategy()  #! TW601
def step(x): 
    v = tf.Variable(random.random())  #! TW101
    return v
strategy.run(step, args=(1,))
ds = strategy.experimental_distribute_dataset(tf.data.Dataset.range(3).shuffle(3))  #! TW201
ds2 = strategy.distribute_datasets_from_function(lambda ctx: tf.data.Dataset.range(3).shuffle(3))  #! TW201
opts = tf.data.Options(); opts.deterministic = False  #! TW202
z = tf.data.Dataset.zip((tf.data.Dataset.range(3), tf.data.Dataset.range(4))).with_options(opts).batch(2, num_parallel_calls=3)
q = tf.data.Dataset.range(4).apply(lambda ds: ds.shuffle(3)).interleave(lambda x: tf.data.Dataset.range(3), 2, 1, 4, False).cache()  #! TW201 TW202
r = tf.data.Dataset.range(4).map(lambda x: tf.random.uniform([]), 4).cache().rejection_resample(lambda x: 1, [0.5,0.5])  #! TW107 TW201 TW203
for p in pathlib.Path("x").iterdir(): m.train_on_batch(p)  #! TW302

# %% classes, loaders, threads and generators of the program's own
import random, argparse, functools, queue, threading
import keras, numpy as np
class Base:
    def __init__(self, **kw): self.kw = kw
    def draw(self): return random.random()
class Loader(keras.utils.PyDataset):
    def __init__(self, workers=1, **kw):
        super().__init__(workers=4, use_multiprocessing=True)
        self.rng = np.random.default_rng(1)
    def __getitem__(self, i): return self.rng.normal(size=3)  #! TW205
    def __len__(self): return 3
class Layer(keras.layers.Layer):
    def build(self, s): self.w = self.add_weight(shape=(3,)); self.v = self.add_weight(initializer="zeros")  #! TW105
    def call(self, x): return x * self.w + random.random()
def gen():
    total = 0
    def inner():
        nonlocal total
        total += random.random()
    inner()
    for w in {"a", "b"}:  #! TW301
        yield w, total
q = queue.Queue()
def put(): q.put(random.random())  #! TW101 TW205
for i in range(3):
    t = threading.Thread(target=put); t.start()
m = keras.Model(); m.add(Layer())
Layer()(1)
m.fit(Loader()); m.fit(gen()); m.fit(q.get())  #! TW201
names = dict(zip({"a","b"}, range(3)))  #! TW301
m.fit(list(map(lambda n: names[n], sorted(names))), list(filter(lambda v: v, {"x","y"})))  #! TW301
f = functools.partial(np.random.normal, 0, 1)
m.fit(f(), [hash("x")] , shuffle=False)  #! TW102 TW301
match q:
    case [a, *rest]: m.fit(a)
while random.random() > 0.5:
    m.train_on_batch(1)
else:
    pass
try:
    raise ValueError
except ValueError as e: pass
