from __future__ import annotations

import numpy as np
import pytest

from nlpkit.metrics.significance import paired_bootstrap, spread


def test_spread_is_that_of_a_sample() -> None:
    import statistics

    scores = [0.61, 0.64, 0.66]
    found = spread(scores)
    assert found is not None
    assert (found.mean, found.n) == (pytest.approx(statistics.mean(scores)), 3)
    assert found.deviation == pytest.approx(statistics.stdev(scores))
    assert spread([0.5]) == (0.5, None, 1)
    assert spread([]) is None


def test_the_interval_is_that_of_scipy() -> None:
    from scipy.stats import bootstrap

    generator = np.random.default_rng(0)
    first, second = generator.random((2, 300)) < [[0.7], [0.6]]
    found = paired_bootstrap(300, lambda k: first[k].mean(), lambda k: second[k].mean(), n_resamples=4000)
    expected = bootstrap(
        (first.astype(float) - second,), np.mean, method="percentile", n_resamples=4000, rng=generator
    ).confidence_interval
    assert found.difference == pytest.approx(first.mean() - second.mean())
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.01)


def test_chance_is_found_significant_about_as_often_as_p_says() -> None:
    generator = np.random.default_rng(3)
    found = []
    for seed in range(200):
        first, second = generator.random((2, 100)) < 0.5
        found.append(
            paired_bootstrap(
                100, lambda k, x=first: x[k].mean(), lambda k, x=second: x[k].mean(), n_resamples=200, seed=seed
            ).p
        )
    assert 0.01 < np.mean(np.array(found) < 0.05) < 0.12


def test_equal_systems_do_not_differ() -> None:
    answers = np.array([1, 0, 1])
    found = paired_bootstrap(3, lambda k: answers[k].mean(), lambda k: answers[k].mean(), n_resamples=50)
    assert found == (0.0, 0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="at least one item"):
        paired_bootstrap(0, lambda k: 0.0, lambda k: 0.0)


def test_the_seed_decides() -> None:
    values = np.random.default_rng(1).random((2, 40))
    runs = [paired_bootstrap(40, *(lambda k, x=x: x[k].mean() for x in values), seed=seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
