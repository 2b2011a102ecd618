"""How commands read their arguments: the parser, the options that several commands share, and the sources of clusters."""
