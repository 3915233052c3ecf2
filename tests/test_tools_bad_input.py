"""Bad input to `layoutc`: the exit status, the reason, and that nothing half-written is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layoutc.errors import LayoutcError
from layoutc.tools.files import replaced
from layoutc.tools.layoutc import main
from layoutc.tools.npy_files import read_npy

Capture = pytest.CaptureFixture[str]

HUGE = "9" * 30

DESCRIBE = [
    ("nChw8q", (), 1, "unknown axis 'q'"),
    ("nChw0c", (), 1, "block"),
    ("nChw1000000000c", (), 1, "block"),
    ("n" * 10_000, (), 1, "error: "),
    ("nChw" + "8c" * 5_000, (), 1, "error: "),
    ("(" * 10_000, (), 1, "error: "),
    ("affine_map<" + "(" * 10_000, (), 1, "error: "),
    ("affine_map<(d0) -> (" + "(" * 5_000 + "d0" + ")" * 5_000 + ")>", (), 1, "error: "),
    ("affine_map<(d0) -> (d0 floordiv 0)>", (), 1, "error: "),
    ("affine_map<(d0) -> (d0 * d0)>", (), 1, "error: "),
    ("", (), 1, "error: "),
    (" ", (), 1, "error: "),
    ("nchw\x00", (), 1, "error: "),
    ("\udcff", (), 1, "error: "),
    ("ñchw", (), 1, "error: "),
    ("onednn:b_fs_yx_fsv16", (), 1, "error: "),
    ("openvino:nChw8c", (), 1, "error: "),
    ("nonsense:nchw", (), 1, "unknown notation 'nonsense', expected one of onednn openvino"),
    ("zzz:ab", (), 1, "unknown notation 'zzz'"),
    (" nchw", (), 1, "a blank before or behind the layout"),
    ("nchw\n", (), 1, "a blank before or behind the layout"),
    ("onednn: nchw", (), 1, "a blank before or behind the layout"),
    ("BlockingDesc({1,4}, {0,1", (), 1, "error: "),
    ("{2,3},{5,1}", ("--dims", "2,4"), 1, "dims (2, 4) differ"),
    ("{2,3},{5}", (), 1, "error: "),
    ("nchw", ("--dims", "2,17,5"), 1, "rank 3"),
    ("nchw", ("--dims", "2,17,5,4,1"), 1, "rank 5"),
    ("nchw", ("--dims", ""), 1, "rank 0"),
    ("nchw", ("--dims", "2,-17,5,4"), 1, "-17"),
    ("nchw", ("--dims", "2,0,5,4"), 1, "hold 0"),
    ("nchw", ("--dims", f"2,{HUGE},5,4"), 1, HUGE),
    (
        "nchw",
        ("--dims", "4294967296,4294967296,5,4"),
        1,
        "dims (4294967296, 4294967296, 5, 4) need more than 2^63 bits",
    ),
    ("ab", ("--dims", "4,6", "--offset", str(2**63 - 1)), 1, f"base offset {2**63 - 1} needs more than 2^63 bits"),
    ("nchw", ("--dims", "2,17,5,4", "--dtype", "f33"), 1, "unknown element type 'f33'"),
    ("nchw", ("--dims", "2,17,5,4", "--strides", "1,2,3"), 1, "got 3 strides, expected 4"),
    ("nchw", ("--dims", "2,17,5,4", "--strides", "1,2,3,-4"), 1, "-4"),
    ("nchw", ("--dims", "2,17,5,4", "--offset", "-1"), 1, "base offset"),
    ("nchw", ("--dims", "2,17,5,4", "--offset", HUGE), 1, f"base offset is {HUGE}, expected 0 or more and below 2^63"),
    ("nchw", ("--dims", "2,17,5,4", "--low", "1"), 1, "low border (1,) has rank 1"),
    ("nchw", ("--dims", "2,17,5,4", "--high", "1,1,1,-1"), 1, "high border"),
    ("bfyx", ("--dims", "1,2,3,4", "--low", "1,1"), 1, "low border (1, 1) has rank 2, layout"),
    ("bfyx", ("--dims", "1,2,3,4", "--high", "1,1"), 1, "high border (1, 1) has rank 2, layout"),
    ("nchw", ("--dims", "2,17,5,4", "--align", "1,8"), 1, "got 2 alignments, expected 4, one per axis"),
    ("nchw", ("--align", "1,8,1,1"), 2, "--align need --dims"),
    ("nchw", ("--dims", "2,x,5,4"), 1, "'x' is not an integer"),
    ("nchw", ("--dims", "2,,5,4"), 1, "'' is not an integer"),
    ("nchw", ("--dims", "2.0,17,5,4"), 1, "'2.0' is not an integer"),
    ("nchw", ("--dims", "2,17,5," + "9" * 10_000), 1, "is not an integer"),
    ("nchw", ("--dims", "2,٣,5,4"), 1, "is not an integer"),
    ("nchw", ("--dims",), 2, "requires an argument"),
    ("nchw", ("--dtype", "f32"), 2, "need --dims"),
    ("affine_map<(d0, d1) -> (d0)>", (), 1, "gives strides, an offset or sizes: it needs --dims"),
    ("affine_map<(d0) -> (d0 + 1)>", (), 1, "gives strides, an offset or sizes: it needs --dims"),
    ("strided<[4, 1]>", (), 1, "gives strides, an offset or sizes: it needs --dims"),
    ("nchw", ("--dims", "2,17,5,4", "--lines", "-1"), 1, "neither a number of lines"),
    ("nchw", ("--dims", "2,17,5,4", "--offset", "one"), 1, "'one' is not an integer"),
    ("nchw", ("--bogus",), 2, "No such option"),
]

COMPILE = ("compile", "--from", "ab", "--to", "ba", "--dims", "2,3")

OTHERS = [
    ((), 2, "Usage: layoutc"),
    (("bogus",), 2, "No such command"),
    (("describe",), 2, "Missing argument 'NOTATION'"),
    (("translate", "nChw8c", "--to", "klingon"), 1, "unknown notation 'klingon'"),
    (("translate", "nChw8c", "--to", "directml"), 1, "DirectML has one stride per axis"),
    (("translate", "nchw", "nhwc"), 2, "unexpected extra argument"),
    (("compile", "--from", "nchw"), 2, "Missing option '--to'"),
    (("compile", "--from", "nchw", "--to", "nhwc"), 2, "needs 4 dims, got none; --dims names them"),
    (("compile", "--from", "nchw", "--to", "nhwc", "--dims", "1,2,3"), 1, "rank 3"),
    (("compile", "--from", "nchw", "--to", "abc", "--dims", "1,2,3,4"), 1, "rank"),
    (("compile", "--from", "ab", "--to", "{2,3},{0,1}", "--dims", "2,3"), 1, "offset"),
    ((*COMPILE, "--to-dtype", "s8", "--reciprocal"), 2, "--reciprocal needs --dst-scale"),
    ((*COMPILE, "--stage", "source"), 2, "--stage needs --emit ir"),
    (
        (*COMPILE, "--emit", "ir", "--stage", "x"),
        1,
        "error: --stage: 'x' is not one of",
    ),
    ((*COMPILE, "--emit", "exe"), 1, "'exe' is not one of"),
    ((*COMPILE, "--emit", "so"), 2, "--emit so needs -o FILE"),
    ((*COMPILE, "--name", "int"), 1, "'int' cannot be the name"),
    ((*COMPILE, "--name", "f(){}"), 1, "cannot be the name"),
    ((*COMPILE, "--name", "memcpy"), 1, "'memcpy' cannot be the name"),
    ((*COMPILE, "-o", ""), 1, "error: -o / --output: '' names no file"),
    ((*COMPILE, "--tuned", ""), 1, "error: --tuned: '' names no file"),
    (("reorder", "", "out.npy", "--from", "a", "--to", "a"), 1, "error: IN_NPY: '' names no file"),
    (("reorder", "in.npy", "", "--from", "a", "--to", "a"), 1, "error: OUT_NPY: '' names no file"),
    (("tune", "--list", "", "-o", "plans.json"), 1, "error: --list: '' names no file"),
    (("tune", "--list", "-", "-o", ""), 1, "error: -o / --output: '' names no file"),
    ((*COMPILE, "-o", "/nowhere/k.c"), 1, "/nowhere/k.c: no such file"),
    ((*COMPILE, "-o", "/dev/null/k.c"), 1, "error: /dev/null/k.c: not a directory"),
    ((*COMPILE, "-o", "/"), 1, "/: not a regular file"),
    ((*COMPILE, "-o", "/dev/fd/99"), 1, "/dev/fd/99: bad file descriptor"),
    *(((*COMPILE, "--name", name), 1, f"'{name}' cannot be the name") for name in ("_init", "_fini", "_start")),
    *(
        ((*COMPILE, "--name", name), 1, f"'{name}' cannot be the name of a C function, it is one of the C library's")
        for name in ("signal", "read", "open", "kill", "select", "splice", "environ", "fmaxf", "sqrtf32", "_exit")
    ),
]


def check_error(capsys: Capture, arguments: tuple[str, ...], status: int, fragment: str) -> None:
    """One reason on stderr, nothing on stdout."""
    assert main(arguments) == status
    out, err = capsys.readouterr()
    err = err.removeprefix("\n")  # click's answer to Ctrl-C
    assert out == ""
    assert fragment in err
    if status == 1:
        assert err.startswith("layoutc: error: ")
        assert all(line.startswith("  ") for line in err.splitlines()[1:]), err
        assert max(map(len, err.splitlines())) < 400


@pytest.mark.parametrize(
    ("notation", "more", "status", "fragment"),
    DESCRIBE,
    ids=[f"{n[:20]!r} {' '.join(m)[:30]}" for n, m, *_ in DESCRIBE],
)
def test_describe(capsys: Capture, notation: str, more: tuple[str, ...], status: int, fragment: str) -> None:
    check_error(capsys, ("describe", notation, *more), status, fragment)


@pytest.mark.parametrize(("arguments", "status", "fragment"), OTHERS, ids=[" ".join(row[0]) for row in OTHERS])
def test_other_commands(capsys: Capture, arguments: tuple[str, ...], status: int, fragment: str) -> None:
    check_error(capsys, arguments, status, fragment)


SCALED = *COMPILE, "--to-dtype", "s8", "--dst-scale"
REORDER = "reorder", "in.npy", "out.npy", "--from", "ab", "--to", "ba"
TUNE = "tune", "--from", "ab", "--to", "ba", "--dims", "2,3", "-o", "plans.json"

VALUES = {
    "a dim": ((*COMPILE, "--dims", "2,x"), (*COMPILE, "--dims", "2,0")),
    "a count": ((*COMPILE, "--threads", "0"), (*TUNE, "--tries", "0")),
    "a word": ((*COMPILE, "--emit", "exe"), (*COMPILE, "--target", "vax")),
    "a target": ((*COMPILE, "--target", "vax"), (*TUNE, "--target", "plain")),
    "a number": ((*SCALED, "nan"), (*SCALED, "1e400")),
    "a parameter": (
        (*SCALED, "argument@axis=x"),
        ("reorder", "in.npy", "out.npy", *SCALED[1:5], *SCALED[-1:], "argument"),
    ),
    "an axis": ((*SCALED, "1@axis=-1"), (*SCALED, "1@axis=2")),
    "a type": ((*SCALED, "1@dtype=f33"), (*COMPILE, "--dtype", "f33")),
    "a file": ((*COMPILE, "-o", ""), (*COMPILE, "-o", "/nowhere/k.c")),
}
"""calls with the same mistake, one found in the option's text, and one where that is used"""


@pytest.mark.parametrize("alike", VALUES.values(), ids=VALUES)
def test_a_value_that_cannot_be_is_bad_input_whoever_finds_it(
    capsys: Capture, alike: tuple[tuple[str, ...], ...]
) -> None:
    for arguments in alike:
        check_error(capsys, arguments, 1, "error: ")


ARRAY = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)


def whole(path: Path) -> bytes:
    np.save(path, ARRAY)
    return path.read_bytes()


def truncated_data(path: Path) -> None:
    path.write_bytes(whole(path)[:-1])


def truncated_header(path: Path) -> None:
    path.write_bytes(whole(path)[:40])


def damaged_header(path: Path) -> None:
    path.write_bytes(whole(path).replace(b"{'descr'", b"[(((((((", 1))


def giant_claim(path: Path) -> None:
    """A header that promises exabytes, over 96 bytes of data."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999, 99999999, 9, 9), }"
    header += b" " * (128 - 10 - len(header) - 1) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(96))


def trailing_data(path: Path) -> None:
    path.write_bytes(whole(path) + b"!")


def with_shape(shape: str, descr: str = "<f4", fortran: str = "False") -> Any:
    """A file whose header says this, over 96 bytes of data."""

    def write(path: Path) -> None:
        header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}}}\n".encode()
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(96))

    return write


def saved(array: Any) -> Any:
    def save(path: Path) -> None:
        np.save(path, array, allow_pickle=True)

    return save


def nothing(path: Path) -> None:
    assert not path.exists()


def archive(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, one=ARRAY, other=ARRAY)


INPUTS = [
    (nothing, (), "no such file or directory"),
    (Path.mkdir, (), "is a directory"),
    (Path.touch, (), "not a .npy file"),
    (archive, (), "in.npy: an .npz archive, expected one of the .npy files that `unzip` takes out of it"),
    (lambda path: path.write_text("not an array"), (), "not a .npy file"),
    (truncated_data, (), "got 95 bytes of data, expected 96"),
    (truncated_header, (), "not a .npy file, or its header is damaged"),
    (damaged_header, (), "not a .npy file, or its header is damaged"),
    (giant_claim, (), "got 96 bytes of data, expected"),
    (saved(np.array([{}, []], dtype=object)), (), "not plain numbers"),
    (saved(np.zeros((2, 3, 2, 2), "f4,i2")), (), "not plain numbers"),
    (saved(ARRAY.astype(complex)), (), "NumPy type complex128 is no element type, expected one\n"),
    (saved(ARRAY.astype("c8")), (), "NumPy type complex64 is no element type, expected one or its bits as uint64\n"),
    (saved(ARRAY.astype("c8")), ("--dtype", "f64"), "in.npy: element type f64 contradicts the array's complex64"),
    (saved(np.full((2, 3, 2, 2), "text")), (), "no element type"),
    (saved(ARRAY.astype("datetime64[s]")), (), "no element type"),
    (saved(ARRAY.view("V4")), (), "in.npy: NumPy type |V4 does not say what its elements are"),
    (saved(ARRAY.view("V4")), (), "; --dtype names it"),
    (saved(ARRAY), ("--dtype", "bf16"), "has 16 bits, the array's float32 32; --to-dtype is what to convert it to"),
    (saved(ARRAY), ("--dtype", "f33"), "unknown element type 'f33'"),
    (saved(ARRAY), ("--to-dtype", "f33"), "unknown element type 'f33'"),
    (saved(ARRAY), ("--dims", "2,3,2"), "rank 3"),
    (saved(ARRAY), ("--dims", "2,3,2,3"), "in.npy: the array has shape (2, 3, 2, 2), expected (2, 3, 2, 3)"),
    (saved(ARRAY.astype(np.uint8) + 9), ("--dtype", "u4"), "in.npy: array has values from"),
    (saved(ARRAY), ("--dims", "3,2,2,2"), "expected (3, 2, 2, 2)"),
    (
        saved(ARRAY[0]),
        (),
        "in.npy: array of shape (3, 2, 2) does not give the dims of (n, c, h, w) -> (n, c, h, w): got 3",
    ),
    (saved(np.float32(1)), (), "got 0 axes, expected 4, or one and dims"),
    (saved(ARRAY.ravel()), (), "does not give the dims of (n, c, h, w) -> (n, c, h, w): give dims"),
    (saved(ARRAY[:, :0]), (), "expected up to 24 extents of 1 or more"),
    (trailing_data, (), "got 97 bytes of data, expected 96"),
    (with_shape("(True, 24)"), (), "not a .npy file, or its header is damaged"),
    (with_shape("(2.0, 12)"), (), "not a .npy file, or its header is damaged"),
    (with_shape("(" + "1," * 70 + ")"), (), "expected up to 24 extents"),
    (with_shape(f"(0, {HUGE})"), (), "extents of 1 or more"),
    (with_shape("()", "|V0"), (), "not plain numbers"),
    (with_shape("()", "<U0"), (), "not plain numbers"),
    (with_shape("(24,)", "(4,)<f4"), (), "not plain numbers"),
    (with_shape("(24,)", "<f4", "1"), (), "not a .npy file, or its header is damaged"),
    (saved(ARRAY), ("--from", "nChw8c"), "does not give the dims"),
    (
        saved(np.zeros((1, 1, 2, 2, 2), "f4")),
        ("--from", "gs_oi_yxs_gsv4_yxsv4", "--to", "goiyx"),
        "got 5 axes, expected 6",
    ),
    (
        saved(np.zeros((2, 1, 2, 2, 4), "f4")),
        ("--from", "nChw8c"),
        "in.npy: array of shape (2, 1, 2, 2, 4) does not fit",
    ),
    (saved(ARRAY), ("--from", "nchq"), "error: "),
    (saved(ARRAY), ("--to", "nchq"), "error: "),
    (saved(ARRAY), ("--to", "abc"), "rank"),
    (saved(ARRAY[0, 0]), ("--from", "ab", "--to", "{2,2},{1,1}"), "offset"),
]


def input_name(value: Any) -> str | None:
    return getattr(value, "__name__", None) if callable(value) else None


@pytest.mark.parametrize(("make", "more", "fragment"), INPUTS, ids=input_name)
def test_reorder_leaves_an_existing_output(
    capsys: Capture, tmp_path: Path, make: Any, more: tuple[str, ...], fragment: str
) -> None:
    make(tmp_path / "in.npy")
    (tmp_path / "out.npy").write_bytes(b"precious")
    before = sorted(tmp_path.iterdir())
    arguments = ("--from", "nchw", "--to", "nChw8c", "--executor", "reference", *more)
    check_error(capsys, ("reorder", str(tmp_path / "in.npy"), str(tmp_path / "out.npy"), *arguments), 1, fragment)
    assert (tmp_path / "out.npy").read_bytes() == b"precious"
    assert sorted(tmp_path.iterdir()) == before


def test_no_single_damaged_byte_of_a_header_is_a_traceback(tmp_path: Path) -> None:
    path = tmp_path / "in.npy"
    good, refused = whole(path), 0
    for position in range(128):
        for byte in b"\x00(9-O\xff":
            path.write_bytes(good[:position] + bytes([byte]) + good[position + 1 :])
            try:
                assert read_npy(path).nbytes <= 96
            except LayoutcError as error:
                refused += str(error).startswith(str(path))
    assert refused > 300


def test_a_sum_needs_an_output(capsys: Capture, tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", ARRAY)
    files = str(tmp_path / "in.npy"), str(tmp_path / "out.npy")
    arguments = "reorder", *files, "--from", "ab", "--to", "ba", "--sum", "1"
    check_error(capsys, arguments, 1, "out.npy: no such file or directory, --sum adds to what it holds")
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize(("output", "fragment"), [("", "not a regular file"), ("no/out.npy", "no such file")])
def test_reorder_into_what_cannot_be_written(capsys: Capture, tmp_path: Path, output: str, fragment: str) -> None:
    np.save(tmp_path / "in.npy", ARRAY)
    arguments = ("--from", "nchw", "--to", "nhwc", "--executor", "reference")
    check_error(capsys, ("reorder", str(tmp_path / "in.npy"), str(tmp_path / output), *arguments), 1, fragment)
    assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "No space left on device")])
def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "out.npy"
    path.write_bytes(b"precious")
    with pytest.raises((KeyboardInterrupt, MemoryError, OSError)), replaced(path) as file:
        file.write(b"half")
        raise error
    assert path.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("error", "status", "fragment"),
    [(KeyboardInterrupt, 130, "interrupted"), (MemoryError, 1, "not enough memory"), (OSError, 1, "error: ")],
)
def test_what_the_system_raises_is_one_line(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], status: int, fragment: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("layoutc.tools.describe.described_as", fail)
    check_error(capsys, ("describe", "nchw"), status, fragment)


def test_a_tensor_past_the_memory_is_refused(capsys: Capture, tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.zeros((1,), np.float32))
    arguments = ("--from", "{1000000000,100000000},{0,0}", "--to", "ab", "--executor", "reference")
    check_error(capsys, ("reorder", str(tmp_path / "in.npy"), str(tmp_path / "out.npy"), *arguments), 1, "memory")
    assert not (tmp_path / "out.npy").exists()


LAYOUTC = [sys.executable, "-m", "layoutc.tools.layoutc"]
ENDLESS = [*LAYOUTC, "describe", "nchw", "--dims", "99,99,99,99", "--lines", "all"]
"""prints for a minute"""


def test_a_real_process_exits_with_1_and_no_traceback() -> None:
    done = subprocess.run([*LAYOUTC, "describe", "nChw8q"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_error() -> None:
    with subprocess.Popen(ENDLESS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline().startswith("layout")
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize(
    "arguments",
    [
        ("layoutc", "--help"),
        ("layoutc", "describe", "--help"),
        ("layoutc", "translate", "nchw"),
        ("layoutc", *COMPILE),
        ("layoutc", *COMPILE, "-o", "-"),
        ("layoutc", "reorder", "in.npy", "-", "--from", "ab", "--to", "ba", "--executor", "reference"),
        ("layoutc_opt", "in.mlir"),
        ("layoutc_opt", "in.mlir", "-o", "-"),
        ("layoutc_opt", "--version"),
    ],
    ids=" ".join,
)
def test_a_pipe_that_nobody_reads_ends_any_command(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """As it ends other tools: in silence, with the status that a shell shows of them."""
    (tmp_path / "in.mlir").write_text("func.func @f() { func.return }")
    np.save(tmp_path / "in.npy", ARRAY[0, 0])
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", f"layoutc.tools.{arguments[0]}", *arguments[1:]]
    done = subprocess.run(command, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_is_one_line(number: signal.Signals) -> None:
    """Also where the tests run in the background of a shell, which has them ignore it."""
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        ENDLESS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeds
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.readline()
        process.send_signal(number)
        process.stdout.read()
        assert process.stderr.read() in {"layoutc: error: interrupted\n", "\nlayoutc: error: interrupted\n"}
    assert process.returncode == 128 + number


@pytest.mark.parametrize(("command", "module"), [("layoutc", "click"), ("layoutc-opt", "xdsl.xdsl_opt_main")])
def test_ctrl_c_while_modules_are_loaded_is_one_line(command: str, module: str) -> None:
    function = command.replace("-", "_")
    program = f"""
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "{module}":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from layoutc.tools.start import {function}
sys.exit({function}())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, f"{command}: error: interrupted\n")
