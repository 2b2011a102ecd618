"""The message audit: what became of each record, by tier and by the record's timestamp."""
