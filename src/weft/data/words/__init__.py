"""Words as samples: stretches of text with their neighbours and with words that stand elsewhere, and counts of pairs."""
