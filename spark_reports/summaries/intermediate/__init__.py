"""DataFrames that several summaries share."""
