"""examples/embedding.py: somebody else's compiler, with layoutc as a stage of it."""

from __future__ import annotations

import numpy as np
import pytest

from examples import embedding
from layoutc.runtime import find_compiler


def test_the_lowered_file_has_one_function_and_no_layouts() -> None:
    c_source = embedding.compile_to_c(embedding.SOURCE)
    assert c_source.count("void model(") == 1
    assert "layout." not in c_source


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_the_result_is_numpys() -> None:
    x = np.random.default_rng(0).standard_normal((2, 17, 5, 4)).astype(np.float32)
    expected = np.maximum(x * np.float32(2.0) + np.float32(-1.5), 0).transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(embedding.run(embedding.compile_to_c(embedding.SOURCE), x), expected)
