"""Tables of any library, and knowledge about their columns."""
