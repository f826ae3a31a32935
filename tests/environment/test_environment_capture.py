"""Reading the environment: with TensorFlow, without it, and where fields cannot be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import executable
from twinrun.environment import capture as capturing
from twinrun.environment import machine, packages, user_files
from twinrun.environment.capture import capture
from twinrun.environment.environment import UNREAD, Environment
from twinrun.errors import BadRecording
from twinrun.frameworks.protocol import Framework

PROGRAM = """
import json, os, sys, time
import helper
import tensorflow as tf
tf.config.threading.set_intra_op_parallelism_threads(3)
tf.config.experimental.enable_op_determinism()
from twinrun.environment.capture import capture
early = capture().as_json()
from tensorflow.python.eager import context
asleep = not context.context()._initialized
import keras
tf.distribute.OneDeviceStrategy("/cpu:0")
tf.reduce_sum(tf.ones([4]))
times = []
for _ in range(5):
    start = time.thread_time()
    late = capture(data_files=["data.csv", "missing.csv"])
    times.append(time.thread_time() - start)
print(json.dumps({"early": early, "late": late.as_json(), "asleep": asleep, "seconds": min(times)}))
"""


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("program")
    (folder / "train.py").write_text(PROGRAM)
    (folder / "helper.py").write_text("VALUE = 1\n")
    (folder / "data.csv").write_text("1,2,3\n")
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONHASHSEED": "7",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
    }
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    document: dict[str, dict] = json.loads(done.stdout.splitlines()[-1])
    return document


def test_threads_and_flags_are_those_in_effect(captured: dict[str, dict]) -> None:
    framework = captured["late"]["facts"]["framework"]
    assert framework["intra_op_threads"] == 3
    assert framework["inter_op_threads"] == len(os.sched_getaffinity(0))
    assert framework["op_determinism"] is True
    assert framework["onednn"] in (True, False)
    assert framework["devices"]["kind"] == "cpu"
    assert framework["strategy"] == {"name": "OneDeviceStrategy", "workers": 1}


def test_versions_are_those_installed(captured: dict[str, dict]) -> None:
    from importlib.metadata import version

    facts = captured["late"]["facts"]
    assert facts["framework"]["version"] == version("tensorflow")
    assert facts["framework"]["keras"]["keras"] == version("keras")
    assert facts["packages"]["loaded"]["numpy"] == version("numpy")
    assert "pytest" in facts["packages"]["installed"]
    assert "pytest" not in facts["packages"]["loaded"]


def test_the_key_names_what_is_in_effect(captured: dict[str, dict]) -> None:
    key = captured["late"]["key"]
    assert key["vector"] == "sse4"
    assert key["intra_op_threads"] == 3
    assert captured["late"]["name"].startswith("tf")
    assert "-cpu-sse4-3t-det-" in captured["late"]["name"]


def test_reading_does_not_start_the_framework(captured: dict[str, dict]) -> None:
    assert captured["asleep"] is True
    assert (
        captured["early"]["facts"]["framework"]["devices"]["note"] == "the program had not asked for devices"
    )


def test_the_user_s_own_files_have_digests(captured: dict[str, dict]) -> None:
    facts = captured["late"]["facts"]
    assert set(facts["code"]["sources"]) == {"train.py", "helper.py"}
    assert facts["data"]["data.csv"]["bytes"] == 6
    assert "missing.csv" not in facts["data"]


def test_the_hash_seed_is_the_one_the_interpreter_started_with(captured: dict[str, dict]) -> None:
    assert captured["late"]["facts"]["python"]["hash_seed"] == "7"


def test_reading_takes_less_than_three_tenths_of_a_second_of_processor_time(
    captured: dict[str, dict],
) -> None:
    assert captured["seconds"] < 0.3


def test_no_framework_is_imported_where_the_program_imports_none(tmp_path: Path) -> None:
    script = (
        "import sys, json\n"
        "from twinrun.environment.capture import capture\n"
        "environment = capture()\n"
        "heavy = ('tensorflow', 'keras', 'torch', 'jax', 'numpy')\n"
        "print(json.dumps([environment.name, [name for name in heavy if name in sys.modules]]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    name, loaded = json.loads(done.stdout)
    assert name.startswith("none-cpu-")
    assert loaded == []


def test_setting_the_hash_seed_inside_the_process_is_not_believed(tmp_path: Path) -> None:
    script = (
        "import os; os.environ['PYTHONHASHSEED'] = '5'\n"
        "from twinrun.environment.machine import hash_seed; print(hash_seed())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "random"


def test_a_group_that_cannot_be_read_says_so_and_the_others_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> dict[str, object]:
        raise PermissionError(13, "no such luck")

    monkeypatch.setattr(machine, "read_cpu", broken)
    environment = capture()
    assert environment.facts["cpu"]["unread"].startswith(UNREAD + "PermissionError")
    assert environment.unread == ["cpu.unread"]
    assert environment.facts["python"]["version"]


def test_a_describer_that_fails_does_not_stop_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Framework):
        module, describer = "json", "no.such.module"

    monkeypatch.setattr(capturing, "frameworks", lambda: (Broken(),))
    monkeypatch.setattr(json, "__version__", "1", raising=False)
    assert capture().facts["framework"]["unread"].startswith(UNREAD)


def test_an_environment_survives_being_written_and_read() -> None:
    environment = capture()
    again = Environment.from_json(json.loads(json.dumps(environment.as_json())))
    assert again == environment
    assert again.name == environment.name


@pytest.mark.parametrize(
    "document", [None, [], {}, {"key": 1}, {"key": {}, "facts": []}, {"key": {}, "facts": {"a": 1}}]
)
def test_what_is_no_environment_is_refused(document: object) -> None:
    with pytest.raises(BadRecording):
        Environment.from_json(document)


@pytest.mark.parametrize(
    ("files", "line", "limit"),
    [
        ({"cpu.max": "150000 100000"}, "0::/", 1.5),
        ({"cpu.max": "max 100000"}, "0::/", None),
        ({"cpu.max": "max 100000", "pod/cpu.max": "50000 100000"}, "0::/pod", 0.5),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu,cpuacct:/", 2.0),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu:/", None),
        ({}, "0::/not/mounted/here", None),
    ],
)
def test_cgroup_limits_of_both_versions_are_read(
    tmp_path: Path, files: dict[str, str], line: str, limit: float | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    process = tmp_path / "self"
    process.write_text(line + "\n")
    assert machine.cgroup_limit(tmp_path, process) == limit


@pytest.mark.parametrize(
    ("flags", "cap", "level"),
    [
        ("sse2 sse4_1 avx avx2 fma", "", "avx2"),
        ("sse2 sse4_1 avx avx2 fma", "SSE41", "sse4"),
        ("sse2 sse4_1 avx avx2 fma", "AVX512_CORE", "avx2"),
        ("sse2 sse4_1 avx avx2 fma avx512f avx512bw avx512vl avx512dq", "AVX2", "avx2"),
        ("sse2 sse4_1 avx avx2 fma avx512f avx512bw avx512vl avx512dq", "nonsense", "avx512"),
        ("fp asimd", "", "neon"),
        ("fp asimd sve", "SSE41", "sve"),
    ],
)
def test_the_instruction_set_in_effect_is_the_cpu_s_unless_capped_lower(
    flags: str, cap: str, level: str
) -> None:
    assert machine.vector_in_effect(flags.split(), {"ONEDNN_MAX_CPU_ISA": cap} if cap else {}) == level


def _git(folder: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def test_the_commit_and_whether_files_changed_since_are_read(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("x = 1\n")
    _git(tmp_path, "add", "a.py")
    _git(tmp_path, "commit", "-qm", "one")
    clean = user_files.GitState(tmp_path).read()
    assert len(clean["commit"]) == 40
    assert clean["dirty"] is False
    (tmp_path / "a.py").write_text("x = 2\n")
    assert user_files.GitState(tmp_path).read() == {**clean, "dirty": True}


def test_a_folder_without_git_has_no_commit_and_no_complaint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert user_files.GitState(tmp_path).read() == {"commit": "none"}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert user_files.GitState(tmp_path).read()["commit"].startswith(UNREAD)


def test_a_git_that_does_not_answer_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(tmp_path / "git", "#!/bin/sh\nexec sleep 30\n")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert "did not answer" in user_files.GitState(tmp_path, patience=0.2).read()["commit"]


def test_a_large_data_file_is_sampled_and_a_change_of_its_size_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_files, "WHOLE", 1 << 16)
    large = tmp_path / "large.bin"
    large.write_bytes(bytes(5 << 20))
    first = user_files.read_data([large], tmp_path)["large.bin"]
    assert first["sampled"] is True
    with large.open("ab") as file:
        file.write(b"\0")
    assert user_files.read_data([large], tmp_path)["large.bin"]["digest"] != first["digest"]


def test_files_outside_the_program_s_folder_are_named_without_their_path(tmp_path: Path) -> None:
    elsewhere = tmp_path / "home" / "somebody" / "data"
    elsewhere.mkdir(parents=True)
    (elsewhere / "x.csv").write_text("1")
    project = tmp_path / "project"
    project.mkdir()
    assert list(user_files.read_data([elsewhere / "x.csv"], project)) == ["…/data/x.csv"]


def test_distributions_are_read_from_the_names_of_their_folders(tmp_path: Path) -> None:
    for name in (
        "Some_Package-1.2.dist-info",
        "other.thing-2.0rc1.dist-info",
        "old-3.1-py3.11.egg-info",
        "broken.dist-info",
    ):
        (tmp_path / name).mkdir()
    (tmp_path / "Some_Package-1.2.dist-info" / "direct_url.json").write_text(
        '{"url": "file:///x", "dir_info": {"editable": true}}'
    )
    found = packages.read_packages([str(tmp_path)])
    assert found["installed"] == {"old": "3.1", "other-thing": "2.0rc1", "some-package": "1.2"}
    assert found["origins"] == {"some-package": "editable"}


def test_a_machine_with_a_driver_and_no_library_to_ask_it_says_so(tmp_path: Path) -> None:
    driver = tmp_path / "version"
    driver.write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
    )
    facts = machine.read_gpu(driver)
    assert facts["driver"] == "550.54.15"
    assert machine.read_gpu(tmp_path / "absent") == {"count": 0}


def test_the_accelerator_s_libraries_are_read_from_what_is_mapped(tmp_path: Path) -> None:
    from twinrun.frameworks.tensorflow.describe import loaded_libraries

    maps = tmp_path / "maps"
    start = "7f00-7f01 r-xp 00000000 08:01 123 "
    names = (
        "libcudnn.so.9",
        "libcudnn.so.9.1.0",
        "libcublas.so.12.5.3.2",
        "libcuda.so.550.54.15",
        "libm.so.6",
    )
    maps.write_text("".join(f"{start}/usr/lib/{name}\n" for name in names))
    assert loaded_libraries(maps) == {"cudnn": "9.1.0", "cublas": "12.5.3.2", "driver": "550.54.15"}
