"""The results of each cell, and estimates with confidence intervals."""
