"""Fixtures that all tests share; nothing here needs a network, and torch is loaded only for those who ask."""

from __future__ import annotations

import os
import string
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from nlpkit.threads import wait_passively

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
wait_passively()

COMMON_WORDS = (
    "the a an of in on at to for from by with and or not is are was were has have had be it its he she they his "
    "her their this that new company firm bank group chief executive director board city region unit plant market "
    "shares year week monday friday said says will bought sold hired named opened closed joined left moved "
    "acquired founded appointed works lives born killed met million billion dollars euros percent"
).split()


def build_tiny_encoder(folder: Path) -> Path:
    """Save a random two-layer BERT with a tokenizer that splits unknown words into letters.

    The weights are always the same. A word may have up to 1,000 letters before it becomes ``[UNK]``, so that
    words of several hundred pieces can be made.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = string.ascii_lowercase + string.digits
    pieces = [*specials, *letters, *string.punctuation, *(f"##{c}" for c in letters)]
    pieces += [w for w in dict.fromkeys(COMMON_WORDS) if w not in pieces]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}

    core = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=1000))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.decoder = decoders.WordPiece()
    core.post_processor = processors.BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    PreTrainedTokenizerFast(
        tokenizer_object=core,
        model_max_length=512,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)

    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=512,
        pad_token_id=vocabulary["[PAD]"],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random BERT: 2 layers, width 32, 512 positions, uncased. Do not write into it."""
    return build_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture(scope="session")
def sample_path() -> Callable[[str], Path]:
    """``sample_path("train")`` is the bundled sample's file of that split."""
    from nlpkit.ie.sample import sample_path

    return sample_path


class Page(HTMLParser):
    """A parsed HTML page: every element with its attributes and its whole text, and the parse itself as a check."""

    VOID = frozenset("meta br wbr hr img input link path rect circle line".split())

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.source = text
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[tuple[str, dict[str, str], list[str]]] = []
        self.feed(text)
        self.close()
        assert not self._open, f"not closed: {[tag for tag, *_ in self._open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = (tag, {name: value or "" for name, value in attrs}, [])
        self.elements.append(element)
        if tag not in self.VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self._open, f"</{tag}> closes nothing"
            assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for _, _, texts in self._open:
            texts.append(data)

    def find(self, tag: str, css: str | None = None) -> list[tuple[dict[str, str], str]]:
        """(attributes, text) of every element of that name and class, in the order of the page."""
        return [
            (attributes, "".join(texts))
            for name, attributes, texts in self.elements
            if name == tag and (css is None or css in attributes.get("class", "").split())
        ]

    def texts(self, tag: str, css: str | None = None) -> list[str]:
        return [text for _, text in self.find(tag, css)]


@pytest.fixture
def read_page() -> Callable[[str], Page]:
    """Parses a page, and fails when an element is left open or closed twice."""
    return Page
