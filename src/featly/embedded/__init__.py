"""Methods whose importances come out of a learner that was trained."""
