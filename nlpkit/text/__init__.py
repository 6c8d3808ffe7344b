"""Words, code points and windows over long text."""

from nlpkit.text.align import align_span, char_span
from nlpkit.text.sentences import sentence_starts
from nlpkit.text.windows import owner, plan_sentence_windows, plan_windows
from nlpkit.text.words import split_words

__all__ = [
    "align_span",
    "char_span",
    "owner",
    "plan_sentence_windows",
    "plan_windows",
    "sentence_starts",
    "split_words",
]
