"""The page with the search for what can go wrong from the present moment."""
