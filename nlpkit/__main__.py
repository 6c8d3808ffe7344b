"""``python -m nlpkit`` is the command ``nlpkit``."""

import sys

from nlpkit.cli.main import main

sys.exit(main())
