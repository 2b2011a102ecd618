"""Orders of events other than the agenda's: the choices that a simulation has next, and a search through all of them."""
