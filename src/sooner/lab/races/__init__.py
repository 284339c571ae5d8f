"""What races in experiments: an algorithm over arrivals on a machine, as the papers set them up."""
