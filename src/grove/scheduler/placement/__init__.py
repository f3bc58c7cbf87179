"""Where a gang goes: bounds that prove that it cannot, closed forms, search."""
