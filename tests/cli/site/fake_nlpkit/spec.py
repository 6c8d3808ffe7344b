"""What another package announces: strings only."""

from nlpkit.registry import ModelSpec

SPEC = ModelSpec(
    name="fake",
    task="test",
    summary="Counts words; for tests",
    config="fake_nlpkit.config:FakeConfig",
    api="fake_nlpkit.api:Fake",
    parser="fake_nlpkit.records:parse",
    writer="fake_nlpkit.records:formats",
    label_keys=("labels",),
    common_options=("model.size",),
)
NOT_A_SPEC = {"name": "fake-wrong"}
