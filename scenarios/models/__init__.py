"""Scripts for other replication models: the systems under test, requests and faults on a timeline, and the expected counts."""
