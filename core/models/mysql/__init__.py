"""MySQL and MariaDB replication: one source, replicas that receive its binary log, and manual promotion by an operator."""
