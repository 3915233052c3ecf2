"""`layoutc-opt` on bad input: exit status 1 and the reason, never a traceback."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from layoutc.tools.layoutc_opt import main

Capture = pytest.CaptureFixture[str]


def of_type(type: str) -> str:
    return f"func.func @f(%m: {type}) {{ func.return }}"


def loops(depth: int) -> str:
    opened = "".join(f"scf.for %i{level} = %n to %n step %n {{\n" for level in range(depth))
    return f"func.func @f(%n: index) {{\n{opened}{'}' * depth}\nfunc.return }}"


def nested(depth: int) -> str:
    return f"(d0) -> ({'(' * depth}d0{')' * depth})"


TEXTS = {
    "product": (of_type("memref<2x3xf32, #layout.map<(d0, d1) -> (d0*d1)>>"), "product or quotient of axes"),
    "remainder": (of_type("memref<2x3xf32, #layout.map<(d0, d1) -> (d0 mod d1)>>"), "product or quotient of axes"),
    "division by 0": (of_type("memref<2xf32, #layout.map<(d0) -> (1 floordiv 0)>>"), "division by 0"),
    "deep map": (of_type(f"memref<2xf32, #layout.map<{nested(1500)}>>"), "nested too deeply"),
    "deep affine_map": (of_type(f"memref<2xf32, affine_map<{nested(1500)}>>"), "nested too deeply"),
    "symbol": (of_type("memref<2x3xf32, affine_map<(d0, d1)[s0] -> (d0*s0+d1)>>"), "not supported"),
    "deep loops": (loops(400), "nested too deeply"),
    "string without end": (of_type('memref<2x17x5x4xf32, #layout.tag<"nChw8c> ' + "x" * 60), "closing string"),
    "not UTF-8": ("\udcff", "utf-8"),
    "nothing": ("", "in.mlir: no op in it, expected a module or a function"),
    "a comment": ("\n// no op\n", "in.mlir: no op in it, expected a module or a function"),
    "unknown op": ('"no.such"() : () -> ()', "no.such"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_bad_text_is_an_error_message(tmp_path: Path, capsys: Capture, name: str) -> None:
    text, fragment = TEXTS[name]
    path = tmp_path / "in.mlir"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(SystemExit) as caught:
        main([str(path)])
    message = str(caught.value)
    assert message.startswith("layoutc-opt: error: ")
    assert fragment in message
    assert "Traceback" not in message + capsys.readouterr().err
    assert len(message.splitlines()) <= 5


OPTIONS = {
    "threads=x": "option threads of plan-reorders is 'x', expected a number",
    "threads=1,2": "option threads of plan-reorders is 1,2, expected a number",
    'threads="2, 3"': "option threads of plan-reorders is '2, 3', expected a number",
    "threads=true": "option threads of plan-reorders is True, expected a number",
    "target": "option target of plan-reorders is nothing, expected a text",
    "tuned=3": "option tuned of plan-reorders is 3, expected a text",
    "thread=2": "plan-reorders has no option 'thread', expected one of target threads alignment tuned",
    "target=avx": "unknown target 'avx', expected one of native avx512 avx2 sse2 neon generic",
}


@pytest.mark.parametrize("options", OPTIONS)
def test_a_bad_option_is_named(tmp_path: Path, options: str) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(of_type("memref<2xf32>"))
    with pytest.raises(SystemExit) as caught:
        main([str(path), "-p", f"plan-reorders{{{options}}}"])
    assert str(caught.value) == f"layoutc-opt: error: {OPTIONS[options]}"


@pytest.mark.parametrize("is_file", [True, False])
def test_a_byte_order_mark_is_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, is_file: bool
) -> None:
    text = of_type("memref<2xf32>").encode("utf-8-sig")
    (tmp_path / "in.mlir").write_bytes(text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    main([str(tmp_path / "in.mlir") if is_file else "-"])
    assert "memref<2xf32>" in capsys.readouterr().out


@pytest.mark.parametrize("spec", ["plan-reorders{", "plan-reorders{target=avx2", '"', "a b"])
def test_passes_that_do_not_parse_are_an_error_message(tmp_path: Path, spec: str) -> None:
    (tmp_path / "in.mlir").write_text(of_type("memref<2xf32>"))
    with pytest.raises(SystemExit, match=r"^layoutc-opt: error: "):
        main([str(tmp_path / "in.mlir"), "-p", spec])


def test_a_dash_is_stdin(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(of_type("memref<2xf32>").encode())))
    main(["-"])
    assert "func.func @f(%m: memref<2xf32>)" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [(), ("-",)], ids=["none", "dash"])
def test_a_closed_stdin_is_named(monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(SystemExit, match=r"^layoutc-opt: error: stdin is closed, expected a module or a file$"):
        main(arguments)


@pytest.mark.parametrize("arguments", [("",), ("in.mlir", "-o", "")], ids=["input", "output"])
def test_an_empty_text_names_no_file(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit, match=r"^layoutc-opt: error: '' names no file$"):
        main(arguments)


@pytest.mark.parametrize("passes", [(), ("-p", "resolve-layouts")], ids=["read alone", "resolve-layouts"])
@pytest.mark.parametrize(
    ("text", "op"),
    [
        ('func.func @f(%m: memref<2x3xf32, #layout.tag<"nchw">>) { func.return }', "func.func"),
        ("func.func private @f(tensor<2x3xf32, #layout.map<(d0) -> (d0)>>)", "func.func"),
        ('"test.op"() {t = [memref<2x3xf32, #layout.tag<"ab", low = [1]>>]} : () -> ()', "test.op"),
        ('%0 = "test.op"() : () -> memref<2x3xf32, #layout.tag<"ab", strides = [1]>>', "test.op"),
    ],
    ids=["argument", "declaration", "attribute", "result"],
)
def test_a_layout_that_does_not_fit_its_type(tmp_path: Path, passes: tuple[str, ...], text: str, op: str) -> None:
    """The message is one line with the function, the op and the type; without the pass too, unless it is off."""
    path = tmp_path / "in.mlir"
    path.write_text(text)
    with pytest.raises(SystemExit) as caught:
        main([str(path), *passes])
    message = str(caught.value)
    place = "function 'f': " if op == "func.func" else ""
    assert message.startswith(f"layoutc-opt: error: {place}{op}: ") and "2x3xf32, #layout." in message
    assert len(message.splitlines()) == 1


VALUE_FORM = """
func.func @f(%t: tensor<4xf32>) -> tensor<4xf32, #layout.tag<"A8a">> {
  %r = layout.reorder %t : tensor<4xf32> to tensor<4xf32, #layout.tag<"A8a">>
  func.return %r : tensor<4xf32, #layout.tag<"A8a">>
}
"""


@pytest.mark.parametrize(
    ("text", "options", "line"),
    [
        (VALUE_FORM, (), "{path}:3:23: layout.reorder on tensors has no buffers yet: bufferize it first"),
        (
            f"{of_type('memref<2xf32>')}\n// -----\n{VALUE_FORM}",
            ("--split-input-file",),
            "{path}:5:23: layout.reorder on tensors has no buffers yet: bufferize it first",
        ),
        (
            VALUE_FORM.replace('"A8a">>\n  func', '"A8a">> loc("other.mlir":7:5)\n  func'),
            (),
            "other.mlir:7:5: layout.reorder on tensors has no buffers yet: bufferize it first",
        ),
    ],
    ids=["value form", "second part", "own location"],
)
def test_a_reorder_that_cannot_be_lowered_is_shown(
    tmp_path: Path, text: str, options: tuple[str, ...], line: str
) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(text)
    with pytest.raises(SystemExit) as caught:
        main([str(path), "-p", "resolve-layouts,plan-reorders,lower-reorders", "-t", "c", *options])
    assert str(caught.value) == f"layoutc-opt: error: {line.format(path=path)}"


def test_what_was_there_stays_unless_all_goes_well(tmp_path: Path) -> None:
    """No input that cannot be read, no pass that is unknown and nothing without C leaves anything."""
    good, bad, out = (tmp_path / f"{name}.mlir" for name in ("good", "bad", "out"))
    good.write_text(of_type("tensor<2xf32>"))
    bad.write_text(of_type("memref<2xq32>"))
    out.write_text("mine")
    for arguments in ([bad], [good, "-p", "nonsense"], [good, "-t", "c"]):
        with pytest.raises(SystemExit):
            main([*map(str, arguments), "-o", str(out)])
        assert out.read_text() == "mine"
    with pytest.raises(SystemExit, match=r"^layoutc-opt: error: .*/folder/out: no such file or directory$"):
        main([str(good), "-o", str(tmp_path / "folder" / "out")])
    if Path("/dev/full").exists():
        with pytest.raises(SystemExit, match=r"^layoutc-opt: error: /dev/full: no space left on device$"):
            main([str(good), "-o", "/dev/full"])
    main([str(good), "-o", str(out)])
    main([str(good), "-o", str(good)])
    assert good.read_text() == out.read_text() and "func.func @f" in good.read_text()
    assert set(tmp_path.iterdir()) == {good, bad, out}


@pytest.mark.parametrize("target", ["c", "c-header"])
def test_a_module_within_a_module_has_no_c(tmp_path: Path, target: str) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(f"builtin.module {{ builtin.module {{ {of_type('memref<2xf32>')} }} }}")
    with pytest.raises(SystemExit, match=r"^layoutc-opt: error: no C spelling for 'builtin.module' within a module$"):
        main([str(path), "-t", target])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"^layoutc-opt: error: .*/absent\.mlir: no such file or directory$"):
        main([str(tmp_path / "absent.mlir")])
