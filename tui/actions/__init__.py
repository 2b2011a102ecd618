"""The actions of the playground, with their keys, conditions, questions, and effects."""
