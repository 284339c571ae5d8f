"""What people look at: the command line, views and pictures. Readers of reports, never of operators."""
