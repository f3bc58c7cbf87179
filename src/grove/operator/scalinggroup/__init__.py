"""PodCliqueScalingGroups: their PodCliques, copy by copy, and how they are updated and healed."""
