"""Controllers alone, in the process of the test, against the cluster that all other tests share: without operator."""
