"""Who may see, keep and remove the files and the shared memory that runs lie in."""
