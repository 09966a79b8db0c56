"""Orders and algorithms of n-way window joins: what the model says, and what they take."""
