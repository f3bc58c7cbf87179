"""May this pod run on this node: one module for each rule of Kubernetes."""
