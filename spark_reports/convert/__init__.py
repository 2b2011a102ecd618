"""`isrlab log convert`: converts event logs between JSON Lines and Parquet, byte for byte."""
