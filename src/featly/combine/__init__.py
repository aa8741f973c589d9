"""Many rankings into one, many classes into problems of two, and back."""
