"""Methods that ask a learner which columns help it."""
