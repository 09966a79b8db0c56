"""Orders of n-way window joins: what the model says, and what windrow's trees take."""
