"""Exploration of event orders that differ from the agenda's: the choices of what can happen next, and a search through all of them."""
