"""What ``ilc.diagnose`` says of a training batch in which some labels are wrong."""

TITLE = "Wrong labels"
