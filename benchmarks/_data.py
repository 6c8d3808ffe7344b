"""Where the public data sets of the benchmarks lie: ``$NLPKIT_SHARED`` or ``../shared`` beside the repository."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

DATA = Path(os.environ.get("NLPKIT_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data" / "ie"


def add_data_option(parser: argparse.ArgumentParser, default: Path = DATA) -> None:
    """``--data``, by default the shared folder."""
    parser.add_argument(
        "--data", type=Path, default=default, help=f"folder of the data (default: {default.name} of the shared data)"
    )


def require(folder: Path) -> None:
    """End with a JSON object that says why, if the data is not there."""
    if not folder.is_dir():
        print(json.dumps({"skipped": f"no data in {folder.name}; name the folder with --data"}))
        sys.exit(0)
