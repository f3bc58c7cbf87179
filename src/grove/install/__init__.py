"""What is put into a cluster so that Grove can run there."""
