"""What people see: the command line; later plots, a report, a page."""
