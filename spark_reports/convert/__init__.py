"""The command `isrlab log convert`, which converts event logs from JSON Lines to Parquet and back, byte for byte."""
