from __future__ import annotations

import numpy as np
import pytest

from nlpkit.metrics.calibration import calibration_error


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_bins", [1, 7, 15])
def test_bins_of_equal_width_equal_torchmetrics(seed: int, n_bins: int) -> None:
    torch = pytest.importorskip("torch")
    from torchmetrics.functional.classification import binary_calibration_error

    generator = np.random.default_rng(seed)
    confidence, right = generator.random(80), generator.random(80) < 0.6
    expected = binary_calibration_error(
        torch.tensor(confidence), torch.tensor(right.astype(int)), n_bins=n_bins, norm="l1"
    )
    assert calibration_error(confidence, right, n_bins=n_bins) == pytest.approx(float(expected), abs=1e-6)


def test_a_probability_that_is_kept_has_no_error() -> None:
    assert calibration_error([0.25] * 4 + [0.75] * 4, [1, 0, 0, 0, 1, 1, 1, 0]) == 0


def test_bins_of_equal_mass_hold_equally_many() -> None:
    confidence = [0.1, 0.2, 0.3, 0.4, 0.9, 1.0]
    right = [0, 0, 1, 0, 1, 1]
    by_hand = (2 * abs(0 - 0.15) + 2 * abs(0.5 - 0.35) + 2 * abs(1 - 0.95)) / 6
    assert calibration_error(confidence, right, n_bins=3, bins="mass") == pytest.approx(by_hand)
    assert calibration_error([0.0, 1.0], [0, 1], n_bins=9, bins="mass") == 0


def test_what_is_no_probability_is_refused() -> None:
    assert calibration_error([], []) is None
    for values in ([1.1], [-0.1], [float("nan")]):
        with pytest.raises(ValueError, match="probabilities from 0 to 1"):
            calibration_error(values, [1])
    with pytest.raises(ValueError, match="one length"):
        calibration_error([0.5], [1, 0])
