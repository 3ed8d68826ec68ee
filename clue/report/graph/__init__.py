"""The structure of programs as graphs: JSON documents, text for the terminal, PNG files, and Graphviz."""
