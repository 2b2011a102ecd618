"""The message audit: what happened to each record, by tier and by the record's timestamp."""
