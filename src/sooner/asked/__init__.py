"""What users ask for, in the words that are the same for all engines, as plans of operators."""
