"""Runs the checks of `checks/` in one process with TensorFlow: a request per line, an answer per line."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent
_loaded: dict[str, ModuleType] = {}


def load(name: str) -> ModuleType:
    if name not in _loaded:
        spec = importlib.util.spec_from_file_location(f"checks_{name}", FOLDER / "checks" / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        _loaded[name] = module
    return _loaded[name]


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.path.insert(0, str(FOLDER))
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    for line in sys.stdin:
        module, name = json.loads(line)
        printed = io.StringIO()
        try:
            with redirect_stdout(printed):
                getattr(load(module), name)()
            answer = None
        except BaseException:
            answer = traceback.format_exc() + printed.getvalue()
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
