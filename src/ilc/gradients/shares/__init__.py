"""What a vote per example from one backward pass is made of: layers watched, shares rebuilt, sums taken."""
