"""Applications that are built from producers and consumers: processes, and services that delay or retry records."""
