"""Positions in UTF-16 units and in bytes come back as code points, exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import ConfigError
from nlpkit.text.offsets import OFFSET_UNITS, Offsets, OffsetUnit, check_offset_unit

TEXTS = st.text("aé東😀\u0301\U0010ffff", max_size=12)


def units(text: str, unit: OffsetUnit) -> int:
    if unit == "codepoint":
        return len(text)
    return len(text.encode("utf-16-le")) // 2 if unit == "utf16" else len(text.encode())


@given(TEXTS, st.sampled_from(OFFSET_UNITS))
def test_every_position_is_the_code_point_there_or_lies_inside_one(text: str, unit: OffsetUnit) -> None:
    offsets = Offsets(text, unit)
    begins = {units(text[:k], unit): k for k in range(len(text) + 1)}
    assert len(offsets) == units(text, unit)
    assert [offsets.codepoint(position) for position in range(len(offsets) + 1)] == [
        begins.get(position) for position in range(len(offsets) + 1)
    ]
    for position in set(range(len(offsets))) - set(begins):
        char, low, high = offsets.around(position)
        assert low < position < high
        assert text[begins[low] : begins[high]] == char


def test_a_unit_of_another_name_is_a_settings_error() -> None:
    with pytest.raises(ConfigError, match=r"data.offset_unit: expected one of .*got 'utf-16'; did you mean utf16\?"):
        check_offset_unit("utf-16")
    with pytest.raises(ConfigError, match="got 16"):
        check_offset_unit(16)
