"""Opening models up: pictures and pages of what they learned and how they got there."""
