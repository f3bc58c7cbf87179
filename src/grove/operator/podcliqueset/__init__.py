"""The PodCliqueSet controller: children of the set, gang termination of replicas, rollouts, the set's status."""
