"""The lab with what is a user's own: algorithms beside those of a figure, and arrivals that they race over."""
