"""xgrammar's integrations."""
