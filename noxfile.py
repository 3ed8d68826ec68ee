"""What contributors run, each in an environment of its own: ``nox -s quick`` while editing, ``nox`` before a commit.

``nox --list`` shows the sessions. ``nox -s quick -- tests/units`` hands further arguments to what a session runs.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.needs_version = ">=2024.3"
# A Python that is not there is left out, and said.
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["lint", "quick"]
nox.options.reuse_existing_virtualenvs = True

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")


@nox.session
def quick(session: nox.Session) -> None:
    """The tests that take neither processes, nor a compiler, nor long."""
    session.install("-e", ".[mpi,test]")
    session.run("pytest", "--quick", *session.posargs)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """All tests, on each Python that is there."""
    session.install(".[mpi,test]")
    session.run("pytest", *session.posargs, env={"PYTEST_ADDOPTS": "--hypothesis-profile=reproducible"})


@nox.session
def lint(session: nox.Session) -> None:
    """Form, names, types, layers."""
    session.install("-e", ".[mpi,test,lint]")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session
def docs(session: nox.Session) -> None:
    """The site, every link of it checked."""
    if not Path("docs/mkdocs.yml").exists():
        session.skip("docs/ has no mkdocs.yml")
    session.install("-e", ".[mpi,docs]")
    session.run(
        "mkdocs", "build", "--strict", "-f", "docs/mkdocs.yml", *session.posargs, env={"NO_MKDOCS_2_WARNING": "1"}
    )
