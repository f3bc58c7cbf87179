"""Who makes room for a gang that is more important: the least that suffices, proven to suffice before anything goes."""
