"""What people do with a system: a cluster is assembled from its spec, acted upon, viewed, held to account, and taken back in time."""
