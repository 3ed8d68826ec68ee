"""What a trace is made of: loops, and rules for what is in them. It sits above traces and knows no machines."""
