"""State machines that apply policies to runs."""
