"""What the import-linter's contracts do not say of who imports whom."""
