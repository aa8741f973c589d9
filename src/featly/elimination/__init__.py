"""Methods that drop the worst columns round by round."""
