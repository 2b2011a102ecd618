"""The pages that replace the overview.

Each module contains pure functions that paint frozen state as lines, and a thin `Page` around these functions.
"""
