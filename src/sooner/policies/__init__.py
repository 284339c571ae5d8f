"""What leaves memory, and which disk work comes next. Policies choose; operators do."""
