"""Other replication models on the same kernel: MySQL, Elasticsearch, and a majority log, with a common workload and common counts."""
