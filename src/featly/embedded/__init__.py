"""Methods that take importances from a trained learner."""
