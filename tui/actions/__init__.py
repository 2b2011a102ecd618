"""Everything a person can do: which keys, when it is impossible, what is asked, what it would do now."""
