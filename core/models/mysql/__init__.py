"""MySQL and MariaDB replication: one source, replicas that receive its binary log, and promotion by hand."""
