"""Controllers alone, in the test's own process, against the cluster that all other tests share: no operator runs there."""
