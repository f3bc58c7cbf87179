"""What users write and what is stored: types, defaults, rules, names, labels, hashes and schemas. Pure: no I/O, no clock."""
