"""Small random encoders of other families, built without a network."""

from __future__ import annotations

from pathlib import Path

import pytest

CORPUS = [
    "The bank said on Monday that it will buy a small firm in Berlin .",
    "Tim Cook met Angela Merkel , naïve café",
] * 4


def build_tiny_roberta(folder: Path, *, add_prefix_space: bool = False) -> Path:
    """A random RoBERTa with a byte-level vocabulary; positions start after the padding index."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.processors import RobertaProcessing
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained = ByteLevelBPETokenizer(add_prefix_space=add_prefix_space)
    trained.train_from_iterator(CORPUS, vocab_size=400, special_tokens=specials, show_progress=False)
    core = trained._tokenizer
    core.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=add_prefix_space)
    names = dict(zip(["bos_token", "pad_token", "eos_token", "unk_token", "mask_token"], specials, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=core, **names).save_pretrained(folder)
    config = RobertaConfig(
        vocab_size=core.get_vocab_size(),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=34,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        RobertaModel(config).save_pretrained(folder)
    return folder


def build_tiny_deberta(folder: Path) -> Path:
    """A random DeBERTa with a unigram vocabulary and relative positions only."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import DebertaV2Config, DebertaV2Model, PreTrainedTokenizerFast

    specials = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    core = Tokenizer(models.Unigram())
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.train_from_iterator(
        CORPUS,
        trainers.UnigramTrainer(vocab_size=120, special_tokens=specials, unk_token="[UNK]", show_progress=False),
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]"
    ).save_pretrained(folder)
    config = DebertaV2Config(
        vocab_size=core.get_vocab_size(),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        relative_attention=True,
        position_biased_input=False,
        pos_att_type=["p2c", "c2p"],
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        DebertaV2Model(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def encoder_of(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of random encoders by family."""
    root = tmp_path_factory.mktemp("families")
    return {
        "bert": tiny_encoder,
        "roberta": build_tiny_roberta(root / "roberta"),
        "roberta-prefix": build_tiny_roberta(root / "roberta-prefix", add_prefix_space=True),
        "deberta": build_tiny_deberta(root / "deberta"),
    }
