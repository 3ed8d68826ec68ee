"""What all subjects of the report are made with: values of documents, tables, figures, scales, letters."""
