"""The documentation: pages, and what makes a site of them."""
