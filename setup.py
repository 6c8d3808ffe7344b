"""Maps the top-level task folders into the ``nlpkit`` package; everything else is in ``pyproject.toml``."""

from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
TASKS = [name for name in ("ie", "intent", "sentence", "dialogue") if (ROOT / name / "__init__.py").exists()]

packages = ["nlpkit", *(f"nlpkit.{p}" for p in find_packages("nlpkit"))]
package_dir = {"nlpkit": "nlpkit"}
for task in TASKS:
    packages += [f"nlpkit.{task}", *(f"nlpkit.{task}.{p}" for p in find_packages(task))]
    package_dir[f"nlpkit.{task}"] = task

setup(packages=packages, package_dir=package_dir)
