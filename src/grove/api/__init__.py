"""What users write and what is stored: types, defaults, rules, names, labels, hashes, schemas. No I/O, no clock."""
