"""Finished tables, shown: `terminal` and `html` for people, `as_json` for programs. Parquet is written where Spark has the tables (`report`)."""
