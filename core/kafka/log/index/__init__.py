"""The indexes of a segment: the offset index, the time index, and the transaction index."""
