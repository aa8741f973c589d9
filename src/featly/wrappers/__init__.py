"""Methods that choose columns by the predictions of a learner."""
