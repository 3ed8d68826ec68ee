"""What MkDocs does not do by itself: links across the repository, reference pages, formulas, figures."""
