"""Words about numbers and about values that are called otherwise elsewhere."""

from __future__ import annotations

import pytest

from nlpkit.errors import ConfigError
from nlpkit.wording import counted, did_you_mean, plural


@pytest.mark.parametrize(
    ("n", "one", "said"),
    [
        (0, "record", "0 records"),
        (1, "record", "1 record"),
        (12_345, "record", "12,345 records"),
        (2, "entity", "2 entities"),
        (2, "key", "2 keys"),
        (2, "batch", "2 batches"),
        (2, "process", "2 processes"),
        (2, "epoch", "2 epochs"),
        (2, "branch", "2 branches"),
    ],
)
def test_a_number_and_its_noun(n: int, one: str, said: str) -> None:
    assert counted(n, one) == said


def test_other_words_than_the_noun_can_depend_on_the_number() -> None:
    assert [counted(n, "text is", "texts are") for n in (1, 2)] == ["1 text is", "2 texts are"]
    assert plural(1, "it", "them") == "it"


@pytest.mark.parametrize("word", ["cuda", "CUDA", "cuda:0", "gpu:1", "GPU", "gpus"])
def test_a_gpu_by_any_name(word: str) -> None:
    assert did_you_mean(word, ["auto", "cpu", "gpu"]) == "; did you mean gpu?"


@pytest.mark.parametrize("word", ["", ":", "zzz", 3, None, True, "-"])
def test_nothing_is_suggested_where_nothing_is_near(word: object) -> None:
    assert did_you_mean(word, ["auto", "cpu", "gpu"]) == ""


def test_python_gets_the_same_hint() -> None:
    from nlpkit.configs import from_dict
    from nlpkit.model import choose_device
    from nlpkit.training.config import TrainConfig

    with pytest.raises(ConfigError, match="did you mean gpu"):
        choose_device("cuda")
    with pytest.raises(ConfigError, match="did you mean gpu"):
        from_dict(TrainConfig, {"device": "cuda"})
