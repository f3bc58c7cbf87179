"""The waiter: holds a pod back, as its last init container, until the pods that it needs are ready."""
