"""The actions of the playground: their keys, conditions, questions, and effects."""
