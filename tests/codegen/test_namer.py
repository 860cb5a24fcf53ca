"""Names are unique, legal, and never hide what the code needs."""

from __future__ import annotations

import keyword

from hypothesis import given
from hypothesis import strategies as st

from srcdiff.codegen.namer import RESERVED, Namer

SOME = st.sampled_from(["h", "h_2", "np", "sum", "class", "x1", "1x", "a-b", "", "match"])


@given(st.lists(SOME | st.text(max_size=5)))
def test_names_are_unique_and_legal(wanted: list[str]) -> None:
    namer = Namer()
    names = [namer.take(each) for each in wanted]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() and not keyword.iskeyword(name) and name not in RESERVED for name in names)


def test_names_are_kept_or_numbered() -> None:
    namer = Namer()
    assert [namer.take(name) for name in ("h", "h", "h", "h_2", "sum", "np", "2d")] == [
        "h", "h_2", "h_3", "h_2_2", "sum_2", "np_2", "x2d",
    ]  # fmt: skip
