"""Other replication models on the same kernel: MySQL, Elasticsearch, and a majority log, with one workload and one set of counts."""
