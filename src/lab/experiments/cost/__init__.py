"""What a step costs beside plain training, in time and memory."""

TITLE = "Cost"
