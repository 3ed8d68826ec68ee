"""What a buyer asks beside the order of options."""
