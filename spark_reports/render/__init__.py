"""Finished tables, shown: `terminal` for people, `as_json` for programs. Parquet is written where Spark has the tables (`report`)."""
