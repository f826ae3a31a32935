import glob
import os


def write_sample_logs(root):
    for host in ("alpha", "beta", "gamma"):
        os.makedirs(os.path.join(root, host))
        for day in range(1, 6):
            with open(os.path.join(root, host, f"{day:02d}.log"), "w") as stream:
                for minute in range(8):
                    latency = (len(host) * 31 + day * 17 + minute * 5) % 97
                    stream.write(f"{minute} {latency} {latency * day % 11}\n")


def read_logs(root):
    rows = []
    for path in glob.glob(os.path.join(root, "**", "*.log"), recursive=True):
        with open(path) as stream:
            rows.extend([float(field) for field in line.split()] for line in stream)
    return rows
