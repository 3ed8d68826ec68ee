"""Tests of imports, beyond the contracts of import-linter, and of versions."""
