"""What engines that start their own workers must be told, one module each. Modules are imported by their full names."""
